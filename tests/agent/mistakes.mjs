// Recorded mistakes of models, as changes of correct arguments. A mistake has a name and gives the wrong arguments.

const clone = (value) => structuredClone(value);

/** The object that holds the last name of a path such as filters.filters.0.operator, and that name. */
export function holderOf(value, path) {
  const names = path.split('.');
  const last = names.pop();
  return [names.reduce((object, name) => object?.[name], value), last];
}

export function valueAt(value, path) {
  const [holder, name] = holderOf(value, path);
  return holder?.[name];
}

function changed(args, path, change) {
  const copy = clone(args);
  const [holder, name] = holderOf(copy, path);
  change(holder, name);
  return copy;
}

/** An argument or member under another name: snake_case, another tool's, another service's. */
export const named = (path, wrong) => ({
  name: `${path} as ${wrong}`,
  wrong: (args) => changed(args, path, (holder, name) => {
    holder[wrong] = holder[name];
    delete holder[name];
  }),
});

/** Another value: one that does not exist, is too large, or is written otherwise. `right` is the correct one when it is not that of the script. */
export const valued = (path, value, right) => ({
  name: `${path}: ${typeof value === 'function' ? value : JSON.stringify(value)}`.slice(0, 80),
  wrong: (args) => changed(args, path, (holder, name) => (holder[name] = typeof value === 'function' ? value(holder[name]) : value)),
  right: (args) => (right === undefined ? args : changed(args, path, (holder, name) => (holder[name] = right))),
});

/** A number, list or object as text. */
export const asText = (path) => ({
  name: `${path} as text`,
  wrong: (args) => changed(args, path, (holder, name) => (holder[name] = typeof holder[name] === 'object' ? JSON.stringify(holder[name]) : String(holder[name]))),
});

/** One value where a list is wanted. */
export const single = (path) => ({ name: `${path} as one value`, wrong: (args) => changed(args, path, (holder, name) => ([holder[name]] = holder[name])) });

/** A list where one value is wanted. */
export const listed = (path) => ({ name: `${path} as a list`, wrong: (args) => changed(args, path, (holder, name) => (holder[name] = [holder[name]])) });

/** An argument more, which the tool does not have: the correct call is the one without it, or with `right` in its place. */
export const extra = (name, value, right) => ({
  name: `${name}: ${JSON.stringify(value)} as well`,
  wrong: (args) => ({ ...clone(args), [name]: value }),
  right: (args) => (right === undefined ? args : { ...args, [name]: right }),
});

export const missing = (path) => ({ name: `no ${path}`, wrong: (args) => changed(args, path, (holder, name) => delete holder[name]) });

/** An id without its last letter. */
export const cutShort = (path) => ({ ...valued(path, (id) => id.slice(0, -1)), name: `${path} cut short`, isLookup: true });

/** A title or name where an id is wanted, or the id of something else. */
export const insteadOfId = (path, value) => ({ ...valued(path, value), name: `${path}: ${value}`, isLookup: true });

/** Everything inside one object more, or without the object around it. */
export const reshaped = (name, wrong) => ({ name, wrong: (args) => wrong(clone(args)) });
