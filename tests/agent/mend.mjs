// Mends a refused call from its reply alone, as a careful reader would: by the name, value, list or tool that message, suggestion and
// details give. It has no list of right answers. `meant` is what a reader knows besides: of several names or values that the reply
// lists, the one that fits, and the value of an argument that the reply asks for. Nothing is taken from it that the reply does not name.

import { holderOf, valueAt } from './mistakes.mjs';

const UNKNOWN_NAME = /not (?:a )?known|does not accept|unknown|no argument|not an argument|not accepted/i;
const NUMBERS = /between (-?[\d.,]+) and (-?[\d.,]+)/;
const AT_MOST = /at most (\d+)/;

/** {args} of the mended call, or {lookup: {tool, args}} where the reply names the tool that has the right id; null when it says neither. */
export function mend(args, { param, ...reply }, meant, called, tools) {
  // The fault of a row is named by its index in the one list of the call.
  const lists = Object.keys(args).filter((name) => Array.isArray(args[name]));
  const error = { ...reply, param: param ?? (reply.index !== undefined && lists.length === 1 ? `${lists[0]}.${reply.index}` : undefined) };
  const text = [error.message, error.suggestion].filter(Boolean).join(' ');
  if (!/_NOT_FOUND$/.test(error.code)) {
    const isName = UNKNOWN_NAME.test(error.message) && error.param !== undefined;
    const candidates = isName ? nameMends(args, error, text, meant) : valueMends(args, error, text, meant);
    for (const mended of candidates) if (mended !== null) return { args: mended };
  }
  const lookup = lookupIn(text, args, called, tools);
  return lookup === null ? null : { lookup };
}

// ---- What the reply says ----

const WORD = String.raw`[A-Za-z_$][\w$-]*(?:\.[\w$-]+)*`;
const LIST = `${WORD}(?:, (?:or |and )?${WORD})*(?: or ${WORD})?`;
/** The one word that a suggestion tells to use, and not one of several. */
function usedWord(text) {
  const word = new RegExp(String.raw`(?:\b[Uu]se|[Dd]id you mean) ["'\`]?(${WORD})["'\`]?(?=[;:)?]|, or (?!one of)|\.(?: |$)|$)`).exec(text)?.[1];
  return word ?? null;
}
/** The list of accepted names or values; a word before "or one of" belongs to it. */
function listed(error, text) {
  const [, first, rest] = new RegExp(`(?:[Uu]se (${WORD}), or )?(?:one of|accepts|accepted|are)[^:.]{0,40}: (${LIST})`).exec(text) ?? [];
  const used = rest ?? new RegExp(`\\b[Uu]se (${WORD}, ${LIST})`).exec(text)?.[1];
  const words = used?.split(/, (?:or |and )?| or /);
  return error.details?.accepted ?? (words && (first ? [first, ...words] : words)) ?? [...text.matchAll(/'([^']+)'/g)].map(([, word]) => word);
}

const plain = (text) => text.toLowerCase().replace(/[^a-z0-9]/g, '');

function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) next[j] = Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    row = next;
  }
  return row[b.length];
}

/** The word of a list that is written most like `wrong`; undefined when none is alike. */
function nearest(wrong, words) {
  const [best] = words.map((word) => [distance(plain(word), plain(wrong)), word]).sort(([a], [b]) => a - b);
  return best !== undefined && best[0] <= plain(wrong).length / 3 ? best[1] : undefined;
}

/** A param may leave out what is above the member at fault. */
function pathOf(args, param) {
  if (holderOf(args, param)[0]?.[param.split('.').pop()] !== undefined) return param;
  const paths = [...pathsOf(args)];
  return paths.find((path) => path.endsWith(`.${param}`)) ?? param;
}

function* pathsOf(value, path = []) {
  if (value === null || typeof value !== 'object') return;
  for (const [name, inner] of Object.entries(value)) {
    yield [...path, name].join('.');
    yield* pathsOf(inner, [...path, name]);
  }
}

/** The arguments with one value changed; undefined takes it away. */
function edited(args, path, change) {
  const copy = structuredClone(args);
  const [holder, name] = holderOf(copy, path);
  if (holder === undefined || holder === null || typeof holder !== 'object') return null;
  const value = change(holder[name]);
  if (value === undefined) delete holder[name];
  else holder[name] = value;
  return copy;
}

// ---- Names ----

function* nameMends(args, error, text, meant) {
  const path = pathOf(args, error.param);
  const wrong = path.split('.').pop();
  if (/Leave out/.test(text)) yield edited(args, path, () => undefined);
  const word = usedWord(text);
  const [holder] = holderOf(args, path);
  // A name that is given already is not meant a second time.
  if (word !== null && holder[word] === undefined) yield renamed(args, path, word);
  // Another argument chooses what this one belongs to.
  const [, chooser, choices] = new RegExp(`[Uu]se (\\w+) (\\w+(?: or \\w+)*) for ${wrong}\\b`).exec(text) ?? [];
  const choice = choices?.split(' or ').find((one) => one === valueAt(meant, chooser));
  if (choice !== undefined) yield edited(args, chooser, () => choice);
  const into = /(?:into|under) (\w+)[^:]{0,30}: \{/.exec(text)?.[1];
  if (into !== undefined) yield movedInto(args, path, into);
  const names = listed(error, text);
  const fitting = names.filter((name) => valueAt(above(meant, path), name) !== undefined && holder[name] === undefined);
  if (fitting.length > 0) yield renamed(args, path, nearest(wrong, fitting) ?? fitting[0]);
  if (names.length > 0 || word !== null) yield edited(args, path, () => undefined);
}

/** The object of the meant call that holds the last name of a path. */
const above = (meant, path) => holderOf(meant, path)[0] ?? {};

function renamed(args, path, right) {
  const value = valueAt(args, path);
  const copy = edited(args, path, () => undefined);
  if (copy === null) return null;
  const [holder] = holderOf(copy, path);
  const names = right.split('.');
  const last = names.pop();
  const target = names.reduce((object, name) => (object[name] ??= {}), holder);
  target[last] = value;
  return copy;
}

function movedInto(args, path, into) {
  const value = valueAt(args, path);
  const copy = edited(args, path, () => undefined);
  const [holder, name] = holderOf(copy, path);
  holder[into] = { ...holder[into], [name]: value };
  return copy;
}

// ---- Values ----

function* valueMends(args, error, text, meant) {
  if (error.param === undefined) {
    const name = new RegExp(`^Name [^.;]* with (${WORD})`).exec(error.suggestion ?? '')?.[1];
    if (name !== undefined) yield withArgument(args, name, valueAt(meant, name));
    return;
  }
  const path = pathOf(args, error.param);
  const value = valueAt(args, path);
  if (value === undefined) yield /required|missing|needs|give /i.test(text) ? edited(args, error.param, () => valueAt(meant, error.param)) : null;
  const shown = /\bSend [\w.]+ as (.+?)\.(?: |$)/.exec(text)?.[1];
  if (shown !== undefined && parsed(shown) !== undefined) yield edited(args, path, () => parsed(shown));
  const words = listed(error, text);
  const right = usedWord(text) ?? chosen(value, words, valueAt(meant, path));
  if (right !== undefined) yield edited(args, path, (old) => (Array.isArray(old) ? old.map((item) => (words.includes(item) ? item : right)) : right));
  if (words.length > 0 && valueAt(meant, path) === undefined) yield edited(args, path, () => undefined);
  yield* converted(args, path, value, text);
}

/** The call with an argument that it lacks; one that has the same value is not sent a second time. */
const withArgument = (args, name, value) => ({ ...Object.fromEntries(Object.entries(args).filter(([, given]) => given !== value)), [name]: value });

/** The value of a list that a reader takes: the one that is meant, else the one that is written alike. */
function chosen(value, words, meant) {
  const wanted = [meant].flat().find((one) => words.includes(one));
  return wanted ?? (typeof value === 'string' ? nearest(value, words) : undefined);
}

const parsed = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

function* converted(args, path, value, text) {
  const [, least, most] = NUMBERS.exec(text) ?? [];
  if (least !== undefined && Number.isFinite(Number(value))) yield edited(args, path, () => Math.min(Math.max(Number(value), Number(least)), Number(most)));
  const bound = AT_MOST.exec(text)?.[1];
  if (bound !== undefined && typeof value === 'number') yield edited(args, path, () => Math.min(value, Number(bound)));
  // A number as text, perhaps with its unit.
  if (/number|integer/i.test(text) && typeof value === 'string' && Number.isFinite(Number.parseFloat(value))) yield edited(args, path, () => Number.parseFloat(value));
  if (/boolean|true or false/i.test(text)) {
    if (/^(true|yes|1)$/i.test(String(value))) yield edited(args, path, () => true);
    if (/^(false|no|0)$/i.test(String(value))) yield edited(args, path, () => false);
  }
  if (/must be a list|array/i.test(text) && typeof value === 'string') yield edited(args, path, () => parsed(value) ?? value.split(/, */));
  if (/must be a list|array/i.test(text) && value !== null && typeof value === 'object' && !Array.isArray(value)) yield edited(args, path, () => [value]);
  if (/object/i.test(text) && typeof parsed(value) === 'object') yield edited(args, path, () => parsed(value));
  const list = path.replace(/\.\d+$/, '');
  // What is wrong with one item of a list is wrong with all.
  if (/must be [^.]*\btext/i.test(text) && list !== path) yield edited(args, list, (items) => items.map((item) => (typeof item === 'object' ? Object.values(item)[0] : item)));
  if (/zone|ISO 8601|RFC 3339/i.test(text) && typeof value === 'string') yield edited(args, path, () => withZone(value));
}

/** A time as ISO 8601 with a zone; what is missing is the beginning of the day, and UTC. */
function withZone(text) {
  const [day, time] = text.trim().split(/[T ]/);
  return `${day}T${time ?? '00:00:00'}${/Z|[+-]\d\d:?\d\d$/.test(time ?? '') ? '' : 'Z'}`;
}

// ---- Ids ----

/** The call that the reply names for finding an id: a tool of this connection, with a topic, view or include beside it. The called
 * tool itself is meant where the reply names another view. */
function lookupIn(text, args, called, tools) {
  const named = tools.filter((name) => new RegExp(`\\b${name}\\b`).test(text));
  const view = /\bview "?(\w+)"?/.exec(text)?.[1];
  const tool = named.find((name) => name !== called) ?? (view !== undefined && view !== args.view ? named[0] : undefined);
  if (tool === undefined) return null;
  const found = { ...Object.fromEntries([...text.matchAll(/\b(topic|view) "?(\w+)"?/g)].map(([, name, value]) => [name, value])) };
  const include = /include "?(\w+)"?/.exec(text)?.[1];
  if (include !== undefined) Object.assign(found, { include: [include], emailId: args.emailId });
  return { tool, args: found };
}
