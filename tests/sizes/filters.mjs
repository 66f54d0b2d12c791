// Filters at a size: conditions (rows), values of each condition (fields), characters of a value (values), groups as deep as they
// may be. The bounds are those of src/engine/filters/filter.h, which docs/modules/contacts.md documents.

const CONDITIONS = 50;
const LIST = 200;
const DEPTH = 4;
const TEXT_CHARS = 2000;
const FILTERS_BYTES = 240 * 1024; // below what an audience may have

/** Operators with a list, and such with one text; each field takes all of them. */
const FIELDS = ['firstName', 'lastName', 'source', 'userId'];
const OF_LISTS = ['in', 'not_in', 'contains_any', 'not_contains_any'];
const OF_TEXTS = ['contains', 'not_contains', 'starts_with', 'equals', 'ends_with'];

function condition(values, number, listLength, chars) {
  const kind = values.distribution === 'alike' ? 0 : number;
  const field = FIELDS[kind % FIELDS.length];
  const text = (i) => values.text(chars, kind * LIST + i + 1);
  if (listLength <= 1) return { field, operator: OF_TEXTS[kind % OF_TEXTS.length], value: text(0) };
  return { field, operator: OF_LISTS[kind % OF_LISTS.length], value: Array.from({ length: listLength }, (_, i) => text(i)) };
}

/** Groups within groups; the conditions are in the innermost one. */
const nested = (conditions, depth) => (depth <= 1
  ? { logic: 'or', filters: conditions }
  : { logic: depth % 2 === 0 ? 'and' : 'or', filters: [nested(conditions, depth - 1)] });

export function filterOf(values) {
  const conditions = values.count('rows', CONDITIONS);
  const listLength = values.count('fields', LIST);
  const room = FILTERS_BYTES / (conditions * listLength) / (values.isWide ? 4 : 1) - 4;
  const chars = Math.max(1, Math.min(values.count('values', TEXT_CHARS, 4), Math.floor(room)));
  return nested(Array.from({ length: conditions }, (_, i) => condition(values, i, listLength, chars)), DEPTH);
}
