// Checks of merge tags: values that have no default, and those that are empty for contacts of the brand. The template is read in the order of its tags; a
// tag inside of a condition on its own path always has a value.

import { templatesIn, tagName } from '../../html/template.mjs';
import { KIND } from '../../html/protected_fragments.mjs';
import { named } from './report.mjs';

export const IDS = ['mergeTagDefault', 'mergeTagEmpty'];

const PATH = /^[a-z_][\w-]*(?:\.[\w-]+|\[[^\]]{1,80}\])*/i;
const PATHS = /[a-z_][\w-]*(?:\.[\w-]+|\[[^\]]{1,80}\])*/gi;
/** Paths that always have a value. */
const ALWAYS = /^(?:contact\.email|email|unsubscribeUrl|brand(?:\.|$)|forloop(?:\.|$))/;
const BLOCKS = new Set(['if', 'unless', 'for', 'case', 'capture', 'comment', 'raw']);

const inner = (expression) => expression.slice(2, -2).replace(/^-|-$/g, '').trim();
const rootOf = (path) => /^[\w-]+/.exec(path)[0];

/** Follows the blocks of a template. */
class Scope {
  #blocks = [];
  #assigned = new Set();

  get isText() {
    return this.#blocks.some(({ name }) => name === 'comment' || name === 'raw');
  }

  tag(expression) {
    const name = tagName(expression);
    const rest = inner(expression).slice(name.length).trim();
    if (name.startsWith('end')) this.#blocks.pop();
    else if (this.isText) return;
    else if (name === 'assign' || name === 'capture') this.#assigned.add(PATH.exec(rest)?.[0]);
    if (BLOCKS.has(name)) this.#blocks.push({ name, item: name === 'for' ? PATH.exec(rest)?.[0] : null, paths: new Set(name === 'if' || name === 'unless' ? rest.match(PATHS) : []) });
    else if (name === 'elsif') for (const path of rest.match(PATHS) ?? []) this.#blocks.at(-1)?.paths.add(path);
  }

  hasValue(path) {
    const root = rootOf(path);
    return ALWAYS.test(path) || this.#assigned.has(root) || this.#blocks.some(({ item, paths }) => item === root || paths.has(path));
  }
}

/** The placeholders of a text that may show nothing: path → expression, the first of each. */
function bareTags(text, found) {
  const scope = new Scope();
  let count = 0;
  for (const { kind, value } of templatesIn(text)) {
    if (kind === KIND.tag) scope.tag(value);
    if (kind !== KIND.output || scope.isText) continue;
    count++;
    const path = PATH.exec(inner(value))?.[0];
    const hasDefault = /\|\s*default\s*:/.test(value);
    if (path && !['true', 'false', 'nil', 'empty', 'blank'].includes(path) && !hasDefault && !scope.hasValue(path) && !found.has(path)) found.set(path, value);
  }
  return count;
}

/** The path of a contact's field without its root. */
const fieldOf = (path) => path.replace(/^contact\./, '').replace(/^customFields\./, '');

function addEmpty(path, expression, { contacts, empty }, report) {
  const severity = empty >= contacts ? 'error' : undefined;
  report.add('mergeTagEmpty', { key: path, source: expression, severity, message: `${named(path)} is empty for ${empty} of ${contacts} contacts, and its merge tag has no default.` });
}

export function check({ design, subject, previewText, emptyTags }, report) {
  const found = new Map();
  const count = [subject ?? '', previewText ?? '', design].map((text) => bareTags(text, found)).reduce((sum, one) => sum + one, 0);
  if (count === 0) {
    for (const id of IDS) report.skip(id, 'The mail has no merge tags.');
    return;
  }
  if (emptyTags === null) report.skip('mergeTagEmpty', 'The values of the contacts were not counted.');
  const counts = new Map((emptyTags ?? []).map((entry) => [fieldOf(entry.path), entry]));
  for (const [path, expression] of found) {
    const entry = counts.get(fieldOf(path));
    if (entry && entry.empty > 0) addEmpty(path, expression, entry, report);
    else if (!entry) {
      const severity = rootOf(path) === 'payload' ? 'info' : undefined;
      report.add('mergeTagDefault', { key: path, source: expression, severity, message: `The merge tag ${named(expression)} has no default for contacts without a value.` });
    }
  }
}
