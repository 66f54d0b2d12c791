// Values for declared parameters: one that the declaration accepts, and those that it refuses, each with the name of the
// parameter that the refusal must give. What is expected follows from the declaration alone.

const MIXED_TYPES = [5, true, 'text', {}, []];
const LONG_QUERY = 8000; // more than this and libmicrohttpd refuses the request line itself
const LONG_BODY = 900_000; // more than this and the body is refused before the parameter

export const isFree = (schema) => schema.free === true;
const isId = (schema) => schema.format?.startsWith('id:') === true;
export const kindOf = (schema) => (isId(schema) ? schema.format.slice(3) : undefined);

/** A value that passes the declaration. `idOf` gives an id of a kind. */
export function sample(schema, name, idOf) {
  if (isId(schema)) return idOf(kindOf(schema));
  if (schema.enum) return schema.enum[0];
  switch (schema.type) {
    case 'boolean': return true;
    case 'integer':
    case 'number': return schema.default ?? schema.minimum;
    case 'array': return isFree(schema) ? [] : Array.from({ length: Math.max(schema.minItems ?? 0, 1) }, () => sample(schema.items, name, idOf));
    case 'object': return isFree(schema) ? {} : requiredOf(schema, idOf);
    default: return sampleText(schema, name);
  }
}

function sampleText(schema, name) {
  if (schema.format === 'date-time') return '2026-11-21T09:30:00Z';
  if (schema.format === 'email' || /^emails?$|^to$|recipient/i.test(name)) return 'matrix@example.com';
  return 'matrix'.padEnd(schema.minLength ?? 0, 'x').slice(0, schema.maxLength);
}

/** The members that an object cannot do without. */
export function requiredOf(schema, idOf) {
  const members = Object.entries(schema.properties ?? {}).filter(([name]) => schema.required?.includes(name));
  return Object.fromEntries(members.map(([name, member]) => [name, sample(member, name, idOf)]));
}

// ---- What a body's parameter refuses: [what, value, param] ----

export function badValues(schema, name) {
  const found = [...wrongTypes(schema, name), ...outOfBounds(schema, name)];
  if (schema.nullable !== true && schema.anyToo !== true) found.push(['null', null, name]);
  return found;
}

function accepts(schema, value) {
  const isList = Array.isArray(value);
  switch (schema.type) {
    case 'boolean': return typeof value === 'boolean';
    case 'integer':
    case 'number': return typeof value === 'number';
    case 'array': return isList || (schema.single === true && typeof value === 'string');
    case 'object': return schema.anyToo === true || (isList ? schema.listToo === true : typeof value === 'object');
    default: return typeof value === 'string' || (schema.format === 'tokens' && isList);
  }
}

function wrongTypes(schema, name) {
  const found = MIXED_TYPES.filter((value) => !accepts(schema, value)).map((value) => [`wrong type ${JSON.stringify(value)}`, value, name]);
  if (schema.type === 'boolean') found.push(['a text that says true', 'true', name]);
  if (schema.type === 'integer') found.push(['a fraction', 1.5, name], ['a number as text', '5', name]);
  if (schema.type === 'array' && !isFree(schema)) {
    const [good, bad] = schema.items.type === 'object' ? [{}, 5] : ['text', 5];
    found.push(['an item of a wrong type', [bad], `${name}.0`]);
    if ((schema.maxItems ?? 2) > 1 && schema.items.required === undefined) {
      found.push(['a second item of a wrong type', [schema.items.type === 'object' ? good : sampleText(schema.items, name), bad], `${name}.1`]);
    }
  }
  return found;
}

function outOfBounds(schema, name) {
  const found = [];
  if (schema.enum) found.push(['not in the enum', 'nonsense', name], ['an enum in other letters', schema.enum[0].toUpperCase() + 'X', name]);
  else if (schema.format === 'date-time') for (const text of badTimes) found.push([`no time ${text}`, text, name]);
  else if (schema.type === 'string' && !isId(schema)) found.push(...wrongLengths(schema, name));
  else if (schema.type === 'integer' || schema.type === 'number') found.push(...wrongNumbers(schema, name));
  else if (schema.type === 'array') found.push(...wrongCounts(schema, name));
  else if (isFree(schema) && !schema.anyToo && schema.maxProperties < 1000) {
    const many = Object.fromEntries(Array.from({ length: schema.maxProperties + 1 }, (_, i) => [`k${i}`, i]));
    found.push(['too many members', many, name]);
  }
  return found;
}

const badTimes = ['yesterday', '', '2026-13-01T00:00:00Z', '2026-02-30T00:00:00Z', '2026-11-21T09:30:00', '2026-11-21', '1795253400'];

function wrongLengths({ minLength = 0, maxLength }, name) {
  const found = [];
  if (maxLength < LONG_BODY) found.push(['too long', 'x'.repeat(maxLength + 1), name]);
  if (minLength > 0) found.push(['too short', 'x'.repeat(minLength - 1), name]);
  return found;
}

function wrongNumbers({ minimum, maximum }, name) {
  const found = [['a huge number', 1e300, name]];
  if (minimum !== undefined) found.push(['below the minimum', minimum - 1, name]);
  if (maximum !== undefined) found.push(['above the maximum', maximum + 1, name]);
  return found;
}

function wrongCounts(schema, name) {
  const found = [];
  const item = isFree(schema) ? {} : schema.items.type === 'object' ? {} : sampleText(schema.items, name);
  if (schema.minItems > 0) found.push(['too few items', [], name]);
  if (schema.maxItems < 5000) found.push(['too many items', Array(schema.maxItems + 1).fill(item), name]);
  if (!isFree(schema) && schema.items.type === 'string' && !schema.items.enum) {
    found.push(['an empty item', [''], `${name}.0`]);
    if (schema.items.maxLength < LONG_BODY) found.push(['an item too long', ['x'.repeat(schema.items.maxLength + 1)], `${name}.0`]);
  }
  return found;
}

// ---- What a query's or a path's parameter refuses: text, whatever is meant ----

export function badQueryValues(schema, name) {
  const found = outOfBounds(schema, name).filter(([, value]) => typeof value !== 'object').map(([what, value]) => [what, String(value), name]);
  if (schema.type === 'integer' || schema.type === 'number') found.push(['no number', 'ten', name], ['no number at all', '', name]);
  if (schema.type === 'integer') found.push(['a fraction', '1.5', name]);
  if (schema.type === 'boolean') found.push(['neither true nor false', 'perhaps', name], ['true in other letters', 'TRUE', name]);
  if (schema.format === 'tokens') found.push(['an unknown token beside a known one', `${schema.enum[0]},nonsense`, name]);
  return found.filter(([, value]) => value.length < LONG_QUERY);
}

// ---- Objects within ----

/** Every object that a body holds, as {schema, param, wrap}: `wrap(object)` is the value of the outermost parameter. */
export function objectsWithin(schema, name, idOf, wrap = (value) => value, param = name) {
  const isList = schema.type === 'array';
  const object = isList ? schema.items : schema;
  if (isFree(schema) || object?.properties === undefined) return [];
  const here = isList ? { schema: object, param: `${param}.0`, wrap: (value) => wrap([value]) } : { schema: object, param, wrap };
  const inner = Object.entries(object.properties).flatMap(([member, within]) => {
    const set = (value) => here.wrap({ ...requiredOf(object, idOf), [member]: value });
    return objectsWithin(within, member, idOf, set, `${here.param}.${member}`);
  });
  return [here, ...inner];
}
