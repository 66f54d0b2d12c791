// An OpenAPI document made ready to check with: the operation behind a request, and validators of its schemas, each compiled
// when it is first needed and only once.
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

const ROOT = 'openapi.json';

const escaped = (step) => encodeURIComponent(String(step).replaceAll('~', '~0').replaceAll('/', '~1'));
const pointerOf = (steps) => `${ROOT}#/${steps.map(escaped).join('/')}`;

// Fixed words come before parameters, as the server reads a path.
function patternOf(path) {
  const words = path.split('/');
  return { path, words, fixed: words.map((word) => (word.startsWith('{') ? 1 : 0)).join('') };
}

export function documentOf(document) {
  const ajv = addFormats(new Ajv2020({ strict: false, allErrors: false, validateFormats: true }));
  ajv.addSchema(document, ROOT);
  const compiled = new Map();
  const patterns = Object.keys(document.paths).map(patternOf).sort((a, b) => (a.fixed < b.fixed ? -1 : 1));

  // The validator of the schema at this place of the document.
  function at(...steps) {
    const pointer = pointerOf(steps);
    if (!compiled.has(pointer)) compiled.set(pointer, ajv.compile({ $ref: pointer }));
    return compiled.get(pointer);
  }

  // Steps to a thing of the document, through a reference if it is one.
  function follow(steps) {
    const found = steps.reduce((node, step) => node?.[step], document);
    return found?.$ref ? follow(found.$ref.slice(2).split('/')) : { steps, object: found };
  }

  function response(path, method, status) {
    const { steps, object } = follow(['paths', path, method, 'responses', String(status)]);
    if (!object) return null;
    const headers = Object.entries(object.headers ?? {}).filter(([name]) => follow([...steps, 'headers', name]).object.required);
    return { object, required: headers.map(([name]) => name.toLowerCase()), validate: at(...steps, 'content', 'application/json', 'schema') };
  }

  // The path of the document that serves a request, or null: an unknown path or method.
  function routeOf(method, target) {
    const words = target.split('?')[0].split('/');
    const fits = (pattern) => pattern.words.length === words.length &&
      pattern.words.every((word, i) => word === words[i] || (word.startsWith('{') && words[i] !== ''));
    const found = patterns.find(fits);
    return found && document.paths[found.path][method.toLowerCase()] ? found.path : null;
  }

  return { document, at, response, routeOf, errorsText: (validate) => ajv.errorsText(validate.errors) };
}
