// Mends a refused call from its reply alone, as a careful reader would: by the name, value or tool that message, suggestion and details
// give. It has no list of right answers. What it may add of its own is `meant`: the values that the caller wanted to give, in the place
// that the reply names.

import { holderOf, valueAt } from './mistakes.mjs';

const UNKNOWN_NAME = /not (?:a )?known|does not accept|unknown|no argument|not an argument|not accepted/i;
const NUMBERS = /between (-?[\d.,]+) and (-?[\d.,]+)/;
const AT_MOST = /at most (\d+)/;

/** {args} of the mended call, or {lookup: {tool, args}} where the reply names the tool that has the right id; null when it says neither. */
export function mend(args, error, meant, otherTools) {
  const text = [error.message, error.suggestion].filter(Boolean).join(' ');
  const isName = UNKNOWN_NAME.test(error.message) && error.param !== undefined;
  const candidates = isName ? nameMends(args, error, text) : valueMends(args, error, text, meant);
  for (const mended of candidates) if (mended !== null) return { args: mended };
  const lookup = lookupIn(text, args, otherTools);
  if (lookup !== null) return { lookup };
  return isName ? { args: edited(args, pathOf(args, error.param), () => undefined) } : null;
}

// ---- What the reply says ----

const quoted = (text) => text.replace(/^["'`“]|["'`”]$/g, '');
/** The one word that a suggestion tells to use. */
const usedWord = (text) => quoted(/\b[Uu]se ([A-Za-z_$][\w.$-]*|"[^"]+")(?=[,;:)]|\.(?: |$)|$)/.exec(text)?.[1] ?? /did you mean ([\w.-]+)\?/i.exec(text)?.[1] ?? '') || null;
/** The list of accepted names or values. */
const listed = (error, text) => error.details?.accepted ?? /(?:one of|accepts|accepted|are|of these)[^:]{0,40}: ([\w.<>-]+(?:, (?:or |and )?[\w.<>-]+)*)/i.exec(text)?.[1].split(/, (?:or |and )?/).map((word) => word.replace(/\.$/, '')) ?? [];

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

/** The name of a list that is written most like `wrong`; undefined when none is alike. */
function nearest(wrong, names) {
  const alike = (name) => (plain(name) === plain(wrong) ? 0 : plain(name).includes(plain(wrong)) || plain(wrong).includes(plain(name)) ? 1 : distance(plain(name), plain(wrong)));
  const [best] = names.map((name) => [alike(name), name]).sort(([a], [b]) => a - b);
  return best !== undefined && best[0] <= Math.max(1, Math.floor(plain(wrong).length / 3)) ? best[1] : undefined;
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

function* nameMends(args, error, text) {
  const path = pathOf(args, error.param);
  const wrong = path.split('.').pop();
  if (/Leave out/.test(text)) yield edited(args, path, () => undefined);
  const into = /(?:into|under|in) (\w+)[^:]{0,30}: \{/.exec(text)?.[1];
  const right = usedWord(text) ?? nearest(wrong, listed(error, text));
  if (right !== undefined && right !== null && right !== wrong) yield renamed(args, path, right);
  if (into !== undefined) yield movedInto(args, path, into);
}

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
  if (error.param === undefined) return;
  const path = pathOf(args, error.param);
  const value = valueAt(args, path);
  if (value === undefined) yield /required|missing|needs/i.test(text) && meant !== undefined ? edited(args, error.param, () => valueAt(meant, error.param)) : null;
  const shown = /\bSend [\w.]+ as (.+?)\.(?: |$)/.exec(text)?.[1];
  if (shown !== undefined && parsed(shown) !== undefined) yield edited(args, path, () => parsed(shown));
  const word = usedWord(text);
  if (word !== null && typeof value === 'string') yield edited(args, path, () => word);
  if (typeof value === 'string' && listed(error, text).length > 0) {
    const right = nearest(value, listed(error, text));
    if (right !== undefined) yield edited(args, path, () => right);
  }
  yield* converted(args, path, value, text);
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
  if (/number|integer/i.test(text) && typeof value === 'string' && Number.isFinite(Number(value))) yield edited(args, path, () => Number(value));
  if (/boolean|true or false/i.test(text)) {
    if (/^(true|yes|1)$/i.test(String(value))) yield edited(args, path, () => true);
    if (/^(false|no|0)$/i.test(String(value))) yield edited(args, path, () => false);
  }
  if (/list|array/i.test(text) && typeof value === 'string') yield edited(args, path, () => parsed(value) ?? value.split(/, */));
  if (/list|array/i.test(text) && value !== null && typeof value === 'object' && !Array.isArray(value)) yield edited(args, path, () => [value]);
  if (/object/i.test(text) && typeof parsed(value) === 'object') yield edited(args, path, () => parsed(value));
  if (/must be (?:a )?text|texts|addresses/i.test(text) && Array.isArray(value) && value.every((item) => typeof item === 'object')) yield edited(args, path, (list) => list.map((item) => Object.values(item)[0]));
  if (/must be (?:a )?text/i.test(text) && value !== null && typeof value === 'object') yield edited(args, path, () => Object.values(value)[0]);
  if (/zone|ISO 8601|RFC 3339/i.test(text) && typeof value === 'string') yield edited(args, path, () => withZone(value));
}

/** A time as ISO 8601 with a zone; what is missing is the beginning of the day, and UTC. */
function withZone(text) {
  const [day, time] = text.trim().split(/[T ]/);
  return `${day}T${time ?? '00:00:00'}${/Z|[+-]\d\d:?\d\d$/.test(time ?? '') ? '' : 'Z'}`;
}

// ---- Ids ----

/** The call that the reply names for finding an id: a tool of this connection, with a topic, view or include beside it. */
function lookupIn(text, args, otherTools) {
  const tool = otherTools.find((name) => new RegExp(`\\b${name}\\b`).test(text));
  if (tool === undefined) return null;
  const found = { ...Object.fromEntries([...text.matchAll(/\b(topic|view) "?(\w+)"?/g)].map(([, name, value]) => [name, value])) };
  const include = /include "?(\w+)"?/.exec(text)?.[1];
  if (include !== undefined) Object.assign(found, { include: [include], emailId: args.emailId });
  return { tool, args: found };
}
