// Bodies of different transports are compared without what must differ: ids, times, cursors, request ids, and the suggestion of an
// error, which names routes, tools or commands.
const ID = /\b[a-z]{3}_[0-9a-hjkmnp-tv-z]{13}\b/g; // also inside a text, such as a path
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

function plain(value, seen, key) {
  if (Array.isArray(value)) return value.map((item) => plain(item, seen, key));
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.keys(value).sort().map((name) => [name, plain(value[name], seen, name)]));
  }
  if (typeof value !== 'string') return value;
  if (TIME.test(value)) return '<time>';
  if (key === 'suggestion' || key === 'cursor' || key === 'errorFileUrl' || key === 'confirmationToken') return `<${key}>`;
  const named = (id) => {
    if (!seen.has(id)) seen.set(id, `<${id.slice(0, 3)} ${seen.size + 1}>`);
    return seen.get(id);
  };
  // Every domain has selectors and keys of its own.
  return value.replace(ID, named).replace(/^ph\d+([re])\._domainkey\./, 'ph<number>$1._domainkey.').replace(/^(v=DKIM1; k=\w+; p=)[\w+/=]+$/, '$1<key>');
}

// The canonical text of a body; `seen` names the ids of one run in the order they appear.
export const canonical = (body, seen) => JSON.stringify(plain(body, seen, ''));

// Whether `actual` is what `expected` says; `expected` may hold {"$any":true}, {"$type":…}, {"$length":n}, {"$contains":…},
// {"$absent":true}; objects match as subsets, arrays item by item. Gives the first difference as text, or null.
export function difference(expected, actual, path = '') {
  if (expected !== null && typeof expected === 'object' && !Array.isArray(expected)) {
    const rule = Object.keys(expected)[0];
    if (rule === '$any') return actual === undefined ? `${path}: missing` : null;
    if (rule === '$absent') return actual === undefined ? null : `${path}: should be absent`;
    if (rule === '$type') return typeOf(actual) === expected.$type ? null : `${path}: ${typeOf(actual)} instead of ${expected.$type}`;
    if (rule === '$length') return actual?.length === expected.$length ? null : `${path}: length ${actual?.length} instead of ${expected.$length}`;
    if (rule === '$contains') return contains(actual, expected.$contains) ? null : `${path}: ${JSON.stringify(actual)?.slice(0, 300)} does not contain ${JSON.stringify(expected.$contains)}`;
    if (actual === null || typeof actual !== 'object') return `${path}: ${JSON.stringify(actual)} instead of an object`;
    for (const [name, value] of Object.entries(expected)) {
      const found = difference(value, actual[name], `${path}/${name}`);
      if (found) return found;
    }
    return null;
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return `${path}: ${JSON.stringify(actual)?.slice(0, 300)} instead of ${expected.length} items`;
    for (let i = 0; i < expected.length; i++) {
      const found = difference(expected[i], actual[i], `${path}/${i}`);
      if (found) return found;
    }
    return null;
  }
  return Object.is(expected, actual) ? null : `${path}: ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`;
}

function contains(actual, wanted) {
  if (typeof actual === 'string') return actual.includes(wanted);
  return Array.isArray(actual) && actual.some((item) => difference(wanted, item) === null);
}

function typeOf(value) {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}

export const pointer = (body, path) => path.split('/').slice(1).reduce((node, step) => node?.[step], body);
