// Exact edits of a finished document and its subject: `replaceText` finds texts as a reader sees them (reader_text.mjs) and
// replaces them in the source. Everything else stays the same, byte for byte. All replacements are applied, or none.
//
// A text that spans elements is replaced in the element in which it begins; its other parts are removed and the elements stay.
// Words that `find` and `with` have in common at their beginnings and ends stay where they are.

import { escapeAttribute, escapeText } from '#libraries/html';

import { invalidRequest, quote } from '../errors.mjs';
import { LIMITS } from '../limits.mjs';
import { nearestText } from './nearest_text.mjs';
import { prepareHtml } from './prepare.mjs';
import { escapeExpressionInText, KIND, ProtectedFragments } from './protected_fragments.mjs';
import { expressionsOf, foldText, lastAtOrBefore, readDocument, ReaderText } from './reader_text.mjs';
import { Report } from './report.mjs';
import { findText } from './search.mjs';
import { maskTemplates, templatesIn } from './template.mjs';
import { cleanUrl } from './url.mjs';

const SUBJECT_CHARS = 250;
const SAMPLES = 4;
const EXCERPT_UNITS = 16;

const DELIMITER = /\{\{|\{%|\}\}|%\}/;
const CONTROL = /[\u0000-\u0008\u000b\u000e-\u001f\u007f]/g;
const UNSUBSCRIBE = /unsubscribe/i;
const MARKUP = /<\/?[a-z][^>]*>|&[a-z]+;|&#\d+;/i;
/** A text that belongs to an address: without white space, and with one of the characters that structure addresses. */
const ADDRESS = /^(?=.*[/:?#=&@.%])\S+$/;
const PICTOGRAPHIC = /^\p{Extended_Pictographic}/u;
const MODIFIER = /^\p{Emoji_Modifier}/u;
const JOINER = '\u200d';

/**
 * @param {{content: string, subject: string|null, replacements: {find: string, with: string, all: boolean}[]}} request
 * @returns the result of a `replaceText` request (see README.md)
 * @throws {import('../errors.mjs').RequestError} INVALID_REQUEST names the replacement in `param`
 */
export function replaceText({ content, subject, replacements }) {
  const document = readDocument(content);
  const before = { ...document, html: content, subject: readSubject(subject) };
  const asked = replacements.map((replacement, index) => readReplacement(replacement, index));
  const matches = asked.flatMap((replacement) => matchesOf(replacement, before));
  const { html, edits } = applyMatches(before, matches, 'replacements');
  return describe(html, checkSubject(subject, edits.subject), asked, matches);
}

/**
 * Applies matches to a document that was read: {replacement: {index, param, find, text}, of: {name, reader, source}, start, end, segment}.
 * @param {{html: string, subject: ReaderText}} before what readDocument gives, with `html` and `subject`
 * @param {string} param the member of the request that has the edits, for errors
 * @returns {{html: string, edits: {html: object[], subject: object[]}}}
 */
export function applyMatches(before, matches, param) {
  refuseOverlaps(matches, param);
  checkSize(before.html, matches, param);
  const edits = { html: [], subject: [] };
  for (const match of matches) edits[match.of.name].push(...editsOf(match));
  const html = apply(before.html, edits.html);
  const after = readDocument(html);
  checkLinks(matches, edits.html, before.html);
  checkExpressions(before, edits.html, after, param);
  checkUnsubscribe(before, after, param);
  return { html, edits };
}

function describe(html, subject, asked, matches) {
  const prepared = prepareHtml({ content: html });
  const { text, title, previewText, links, report } = prepared;
  const replaced = asked.map(({ index, outlook }) => {
    const own = matches.filter((match) => match.replacement.index === index);
    return { count: own.length, places: countPlaces(own), ...(outlook > 0 ? { outlook } : {}) };
  });
  return { html, subject, text, title, previewText, links, report: { ...report, htmlBytes: Buffer.byteLength(html) }, replaced };
}

function checkSize(content, matches, param) {
  const added = matches.reduce((sum, { replacement }) => sum + replacement.text.length, 0);
  if (content.length + added > LIMITS.htmlChars) throw invalidRequest(param, 'The design would become too large.');
}

function countPlaces(matches) {
  const places = {};
  for (const { segment } of matches) places[segment.place] = (places[segment.place] ?? 0) + 1;
  return places;
}

function readSubject(subject) {
  const reader = new ReaderText();
  if (subject !== null) {
    reader.begin('subject');
    reader.addRun(subject, 0, subject.length, expressionsOf(subject).filter(({ value }) => value !== null), false);
    reader.end();
  }
  return reader;
}

/** A new text without characters that no text has. @throws when a merge tag of it is not complete */
export function readNewText(text, param) {
  const written = text.toWellFormed().replace(/\r\n?/g, '\n').replace(CONTROL, '');
  const rest = [...templatesIn(written)].reduceRight((left, { start, end }) => `${left.slice(0, start)} ${left.slice(end)}`, written);
  if (DELIMITER.test(rest)) throw invalidRequest(`${param}.with`, 'The text with has a merge tag that is not complete: {{ … }} or {% … %}.');
  return written;
}

function readReplacement({ find, with: text, all }, index) {
  const param = `replacements.${index}`;
  const folded = foldText(find.toWellFormed());
  if (folded.trim() === '') throw invalidRequest(`${param}.find`, 'The text find must have a character that a reader sees.');
  if (find === text) throw invalidRequest(`${param}.with`, 'The texts find and with are the same.');
  return { index, param, find: folded, text: readNewText(text, param), all, outlook: 0 };
}

/* ---- Finding ---- */

/** The matches of one replacement in subject and document, or an error that says what there is. */
function matchesOf(replacement, before) {
  const found = [
    ...findAll(replacement, { name: 'subject', reader: before.subject, source: null }),
    ...findAll(replacement, { name: 'html', reader: before.reader, source: before.html }),
  ];
  const editable = chooseLinks(found.filter(({ segment }) => segment.isEditable), replacement.find);
  replacement.outlook = found.filter(({ segment }) => segment.place === 'Outlook').length;
  if (editable.length === 0) throw notFound(replacement, before, found);
  if (editable.length > 1 && !replacement.all) throw ambiguous(replacement, editable);
  return editable;
}

/** A word counts in addresses only when it is nowhere else, so that a change of words breaks no links. */
function chooseLinks(matches, find) {
  const texts = matches.filter(({ segment }) => segment.place !== 'link');
  return texts.length === 0 || ADDRESS.test(find) ? matches : texts;
}

function findAll(replacement, of) {
  const { reader } = of;
  const { find } = replacement;
  return findText(reader.text, find, (start) => isWhole(reader, start, start + find.length))
    .map((start) => ({ replacement, of, start, end: start + find.length, segment: reader.segmentAt(start) }));
}

/** True when no merge tag, letter with accents, or joined emoji is cut. */
function isWhole(reader, start, end) {
  return !isInside(reader, start) && !isInside(reader, end) && !joins(reader.text, start) && !joins(reader.text, end);
}

function isInside({ from }, unit) {
  return unit > 0 && from[unit] >= 0 && from[unit - 1] === from[unit];
}

function joins(text, unit) {
  const next = text.slice(unit, unit + 3);
  const before = text.slice(Math.max(0, unit - 1), unit);
  const isJoined = (before === JOINER && PICTOGRAPHIC.test(next)) || (next[0] === JOINER && PICTOGRAPHIC.test(next.slice(1)));
  return isJoined || (MODIFIER.test(next) && unit > 0);
}

function notFound({ param, find, outlook }, before, found) {
  const name = `${param}.find`;
  const what = `The text “${quote(clip(find, 60))}”`;
  if (found.some(({ segment }) => segment.place === 'unsubscribe link')) {
    return invalidRequest(name, `${what} is only in the unsubscribe link, which cannot be changed.`);
  }
  if (outlook > 0) return invalidRequest(name, `${what} is only in a part for Outlook (a conditional comment), which cannot be changed.`);
  if ([before.subject, before.reader].some(({ text }) => findText(text, find, undefined, 1).length > 0)) {
    return invalidRequest(name, `${what} is there only as a part of a merge tag or of a character. Give the whole of it.`);
  }
  const nearest = nearestText(find, [before.subject, before.reader]);
  if (nearest?.crosses) return invalidRequest(name, `${what} spans several paragraphs or cells. Give one replacement for each of them.`);
  const hint = nearest ? ` The nearest is “${quote(nearest.text)}” (${nearest.place}).` : '';
  const form = MARKUP.test(find) ? ' Give the text as a reader sees it, without markup.' : '';
  return invalidRequest(name, `Found 0 times. ${what} is not in the design.${hint}${form}`);
}

function ambiguous({ param }, matches) {
  const samples = matches.slice(0, SAMPLES).map((match) => `${match.segment.place} “${quote(excerpt(match))}”`);
  const more = matches.length > SAMPLES ? ' …' : '';
  return invalidRequest(`${param}.find`, `Found ${matches.length} times. Set all to true to replace every one, or give a longer text. `
    + `It is in ${samples.join(', ')}${more}.`);
}

function excerpt({ of, start, end, segment }) {
  const from = Math.max(segment.start, start - EXCERPT_UNITS);
  const to = Math.min(segment.end, Math.min(end, start + 2 * EXCERPT_UNITS) + EXCERPT_UNITS);
  const text = of.reader.text.slice(from, to).toWellFormed().replaceAll('\ufffd', '');
  return `${from > segment.start ? '…' : ''}${text}${to < segment.end ? '…' : ''}`;
}

const clip = (text, chars) => (text.length > chars ? `${text.slice(0, chars - 1)}…` : text);

function refuseOverlaps(matches, param) {
  const sorted = matches.toSorted((a, b) => a.of.name.localeCompare(b.of.name) || a.start - b.start);
  sorted.forEach((match, i) => {
    const previous = sorted[i - 1];
    if (previous === undefined || previous.of.name !== match.of.name || previous.end <= match.start) return;
    const [first, second] = [previous, match].map(({ replacement }) => replacement.index).sort((a, b) => a - b);
    throw invalidRequest(`${param}.${second}.find`, `This text and that of ${param}.${first} overlap at “${quote(excerpt(match))}”. Join them.`);
  });
}

/* ---- Editing ---- */

/** The changes of the source for one match: {start, end, text, match}. Only the first has text. */
function editsOf(match) {
  const { reader } = match.of;
  const { start, end, text } = changedPart(match);
  let [first, last] = [start, end - 1];
  while (first < end && reader.from[first] < 0) first++;
  while (last >= first && reader.from[last] < 0) last--;
  const written = writtenFor(match, text);
  if (first > last) return [insertion(match, start, written, text)];
  return partsOf(match.segment.runs, reader.from[first], reader.to[last])
    .map((part, i) => ({ ...part, text: i === 0 ? written : '', inserted: i === 0 ? text : '', match }));
}

/** The part of a match that differs from the new text: whole words, and no part of a merge tag. */
function changedPart({ of, replacement, start, end }) {
  const { find, text } = replacement;
  let head = 0;
  while (head < find.length && head < text.length && find[head] === text[head]) head++;
  while (head > 0 && !(isWordEdge(find, head) && isWordEdge(text, head) && !isInside(of.reader, start + head))) head--;
  let tail = 0;
  const most = Math.min(find.length, text.length) - head;
  while (tail < most && find.at(-1 - tail) === text.at(-1 - tail)) tail++;
  while (tail > 0 && !(isWordEdge(find, find.length - tail) && isWordEdge(text, text.length - tail) && !isInside(of.reader, end - tail))) tail--;
  return { start: start + head, end: end - tail, text: text.slice(head, text.length - tail) };
}

function isWordEdge(text, at) {
  return at === 0 || at === text.length || text[at - 1] === ' ' || text[at] === ' ';
}

function insertion(match, unit, written, text) {
  const { from, to } = match.of.reader;
  const isAfter = unit > match.start && to[unit - 1] >= 0;
  const at = isAfter ? to[unit - 1] : from[unit];
  return { start: at, end: at, text: written, inserted: text, match };
}

/** The parts of start … end that are text, one for each element. */
function partsOf(runs, start, end) {
  const parts = [];
  for (let i = Math.max(0, lastAtOrBefore(runs, start, (run) => run.start)); i < runs.length && runs[i].start < end; i++) {
    const part = { start: Math.max(start, runs[i].start), end: Math.min(end, runs[i].end) };
    if (part.start < part.end) parts.push(part);
  }
  return parts;
}

/** The new text as its place needs it. */
function writtenFor({ segment, replacement }, text) {
  switch (segment.place) {
    case 'subject':
      if (text.includes('\n')) throw invalidRequest(`${replacement.param}.with`, 'A subject cannot have a line break.');
      return text.replaceAll('\t', ' ');
    case 'link':
    case 'source':
      if (/\s/.test(withoutExpressions(text))) throw invalidRequest(`${replacement.param}.with`, 'An address cannot have white space.');
      return escapeAttribute(text);
    case 'alt':
      return escapeAttribute(text);
    case 'title':
      return escapeText(text);
    default:
      return mapExpressions(text, escapeExpressionInText, escapeText);
  }
}

const withoutExpressions = (text) => mapExpressions(text, () => '', (other) => other);

function mapExpressions(text, ofExpression, ofText) {
  let mapped = '';
  let at = 0;
  for (const { start, end } of templatesIn(text)) {
    mapped += ofText(text.slice(at, start)) + ofExpression(text.slice(start, end));
    at = end;
  }
  return mapped + ofText(text.slice(at));
}

function apply(source, edits) {
  edits.sort((a, b) => a.start - b.start || a.end - b.end);
  let written = '';
  let at = 0;
  for (const { start, end, text } of edits) {
    written += source.slice(at, start) + text;
    at = end;
  }
  return written + source.slice(at);
}

/* ---- Checks of the result ---- */

/** Every changed address has an allowed scheme. */
function checkLinks(matches, edits, source) {
  for (const { segment, replacement } of new Map(matches.filter(({ segment: { place } }) => place === 'link' || place === 'source')
    .map((match) => [match.segment, match])).values()) {
    const [{ start, end }] = segment.runs;
    const own = edits.slice(lastAtOrBefore(edits, start - 1, (edit) => edit.start) + 1, lastAtOrBefore(edits, end, (edit) => edit.start) + 1);
    const written = apply(source.slice(start, end), own.map((edit) => ({ ...edit, start: edit.start - start, end: edit.end - start })));
    if (!isAllowedAddress(written, segment.place === 'source' ? 'image' : 'link')) {
      throw invalidRequest(`${replacement.param}.with`, segment.place === 'source' ? 'The address of an image needs http: or https:.'
        : 'The address of a link would not be allowed. It needs http:, https:, mailto:, tel:, sms: or webcal:.');
    }
  }
}

function isAllowedAddress(written, use) {
  const reader = new ReaderText();
  reader.begin('link');
  reader.addRun(written, 0, written.length, []);
  reader.end();
  const address = reader.text.slice(0, -1);
  const fragments = new ProtectedFragments(written);
  const report = new Report();
  const masked = maskTemplates(address, fragments, report);
  const isAbsolute = !/^[/\\]{2}/.test(masked) && cleanUrl(masked, use, { fragments, report, baseUrl: null }) !== null;
  return isAbsolute && report.toResult(0).warnings.length === 0;
}

/** The merge tags of the result are those of the design and of the new texts, and no others. */
function checkExpressions(before, edits, after, param) {
  const values = (list) => list.filter(({ value }) => value !== null).map(({ value }) => value);
  const expected = [];
  let next = 0;
  const { expressions } = before;
  for (const { start, end, inserted } of edits) {
    for (; next < expressions.length && expressions[next].start < start; next++) expected.push(expressions[next]);
    while (next < expressions.length && expressions[next].end <= end) next++;
    expected.push(...insertedExpressions(inserted));
  }
  expected.push(...expressions.slice(next));
  const isKept = before.markup === after.markup && values(expected).join('\n') === values(after.expressions).join('\n');
  if (!isKept) throw invalidRequest(param, 'A new text and the text beside it would together become a merge tag or markup.');
}

/** The expressions of a new text. It is plain text, so they are not decoded. */
function insertedExpressions(text) {
  return expressionsOf(text).map(({ start, end, value }) => ({ value: value && text.slice(start, end).replaceAll('\u00a0', ' ') }));
}

function checkUnsubscribe(before, after, param) {
  const count = ({ expressions }) => expressions.filter(({ value, kind }) => kind === KIND.output && UNSUBSCRIBE.test(value ?? '')).length;
  const isShown = before.unsubscribeLinks.every((shows, i) => !shows || after.unsubscribeLinks[i]);
  if (isShown && count(after) >= count(before)) return;
  throw invalidRequest(param, 'The unsubscribe link must keep its address and a text.');
}

function checkSubject(subject, edits) {
  if (subject === null) return null;
  const written = apply(subject, edits);
  if (edits.length === 0) return written;
  const { param } = edits[0].match.replacement;
  if (written.trim() === '') throw invalidRequest(`${param}.with`, 'The subject must not become empty.');
  if ([...written].length > SUBJECT_CHARS) throw invalidRequest(`${param}.with`, `The subject would have more than ${SUBJECT_CHARS} characters.`);
  return written;
}
