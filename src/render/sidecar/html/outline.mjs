// Outlines of prepared HTML: its texts, links and images with ids and places, and edits by these ids. Every byte outside of the places
// that an edit names stays the same. Style sheets, comments, conditional comments and `{% comment %}` are not in the outline.
//
//   t1 …  a text that no block boundary divides        l1 …  the address of a link
//   s1 …  the address of an image                      a1 …  the alternative text of an image
//
// Ids depend on the HTML alone: they hold for the HTML of which the outline was made.

import { Tokenizer } from '#libraries/html';

import { invalidRequest } from '../errors.mjs';
import { attribute } from './document.mjs';
import { prepareHtml } from './prepare.mjs';
import { applyMatches, readNewText } from './replace_text.mjs';
import { ATTRIBUTES_AND_SOURCES, expressionsOf, lastAtOrBefore, readDocument, ReaderText } from './reader_text.mjs';
import { RAW_TEXT } from './conditional.mjs';

const LETTERS = { text: 't', preview: 't', title: 't', link: 'l', 'unsubscribe link': 'l', source: 's', alt: 'a' };
const BUTTON_STYLE = /(?:^|;)\s*(?:background(?:-color)?\s*:|padding(?:-\w+)?\s*:|display\s*:\s*inline-block)/i;
const BUTTON_CLASS = /(?:^|\s|-)(?:btn|button|cta)(?:$|\s|-)/i;

/** The segments that can be named, by id: {id, segment, text, start, end}; `start` and `end` are in the source. */
function spansOf({ reader }) {
  const counts = {};
  return reader.segments.flatMap((segment) => {
    const letter = LETTERS[segment.place];
    if (letter === undefined) return [];
    counts[letter] = (counts[letter] ?? 0) + 1;
    const text = reader.text.slice(segment.start, segment.end);
    return [{ id: `${letter}${counts[letter]}`, segment, text, start: segment.runs[0].start, end: segment.runs.at(-1).end }];
  });
}

/** The links and images of a source with the places of their attributes and texts. */
class Tags {
  links = [];
  images = [];
  #open = null;

  constructor(source) {
    this.tokenizer = new Tokenizer({ sourceCodeLocationInfo: true }, this);
    this.tokenizer.write(source, true);
  }

  onStartTag(token) {
    const { tagName: name, location } = token;
    if (RAW_TEXT.has(name)) this.tokenizer.state = RAW_TEXT.get(name);
    if (name === 'a' && location.attrs?.href !== undefined) {
      this.#open = { place: location.attrs.href, from: location.endOffset, to: location.endOffset, isButton: looksLikeButton(token) };
      this.links.push(this.#open);
    } else if (name === 'img') this.images.push({ attrs: location.attrs ?? {}, link: this.#open });
  }

  onEndTag({ tagName: name, location }) {
    if (name !== 'a' || this.#open === null) return;
    this.#open.to = location.startOffset;
    this.#open = null;
  }

  onComment() {}

  onDoctype() {}

  onCharacter() {}

  onWhitespaceCharacter() {}

  onNullCharacter() {}

  onEof() {}
}

function looksLikeButton(token) {
  return BUTTON_STYLE.test(attribute(token, 'style') ?? '') || BUTTON_CLASS.test(attribute(token, 'class') ?? '');
}

/** Byte offsets of places in a text, which are asked for in any order. */
function byteOffsets(source, places) {
  const sorted = [...new Set(places)].sort((a, b) => a - b);
  const offsets = new Map();
  let bytes = 0;
  let at = 0;
  for (const place of sorted) {
    bytes += Buffer.byteLength(source.slice(at, place));
    at = place;
    offsets.set(place, bytes);
  }
  return (place) => offsets.get(place);
}

/**
 * @param {{content: string}} request prepared HTML
 * @returns {{texts: object[], links: object[], images: object[]}} see README.md
 */
export function outline({ content }) {
  const spans = spansOf(readDocument(content, { attributes: ATTRIBUTES_AND_SOURCES }));
  const { links, images } = new Tags(content);
  const texts = spans.filter(({ id }) => id[0] === 't').sort((a, b) => a.start - b.start);
  const attributes = new Map(spans.filter(({ id }) => id[0] !== 't').map((span) => [span.start, span]));
  const byte = byteOffsets(content, spans.flatMap(({ start, end }) => [start, end]));
  const placeOf = ({ start, end }) => ({ begin: byte(start), end: byte(end) });
  const spanIn = (place) => (place === undefined ? undefined : attributes.get(content.indexOf('"', place.startOffset) + 1));
  const linkOf = (link) => (link === null ? null : spanIn(link.place)?.id ?? null);

  return {
    texts: texts.map((span) => ({ id: span.id, place: span.segment.place, text: span.text, ...placeOf(span) })),
    links: links.map((link) => ({ link, span: spanIn(link.place) })).filter(({ span }) => span !== undefined).map(({ link, span }) => ({
      id: span.id, href: span.text, isButton: link.isButton, isProtected: !span.segment.isEditable, texts: textsWithin(texts, link), ...placeOf(span),
    })),
    images: images.map(({ attrs, link }) => ({ link, src: spanIn(attrs.src), alt: spanIn(attrs.alt) })).filter(({ src }) => src !== undefined)
      .map(({ link, src, alt }) => ({ id: src.id, src: src.text, altId: alt?.id ?? null, alt: alt?.text ?? null, link: linkOf(link), ...placeOf(src) })),
  };
}

/** The ids of the texts that are wholly in a link. */
function textsWithin(texts, { from, to }) {
  const ids = [];
  for (let i = Math.max(0, lastAtOrBefore(texts, from - 1, ({ start }) => start) + 1); i < texts.length && texts[i].start < to; i++) {
    if (texts[i].end <= to) ids.push(texts[i].id);
  }
  return ids;
}

/**
 * Gives spans of an outline new texts or addresses: all of them, or none.
 * @param {{content: string, edits: {id: string, with: string, drop: string[]}[]}} request `drop` has the merge tags that may go
 * @returns the result of a `spliceHtml` request (see README.md)
 * @throws {import('../errors.mjs').RequestError} INVALID_REQUEST names the edit in `param`
 */
export function spliceHtml({ content, edits }) {
  const document = readDocument(content, { attributes: ATTRIBUTES_AND_SOURCES });
  const spans = new Map(spansOf(document).map((span) => [span.id, span]));
  const of = { name: 'html', reader: document.reader, source: content };
  refuseTwice(edits);
  const matches = edits.map((edit, index) => matchOf(edit, index, spans, of));
  const { html } = applyMatches({ ...document, html: content, subject: new ReaderText() }, matches, 'edits');
  const { text, title, previewText, links, report } = prepareHtml({ content: html });
  return { html, text, title, previewText, links, report: { ...report, htmlBytes: Buffer.byteLength(html) } };
}

function refuseTwice(edits) {
  const named = new Set();
  edits.forEach(({ id }, index) => {
    if (named.has(id)) throw invalidRequest(`edits.${index}.id`, 'Another edit has this id.');
    named.add(id);
  });
}

function matchOf({ id, with: text, drop }, index, spans, of) {
  const param = `edits.${index}`;
  const span = spans.get(id);
  if (span === undefined) throw invalidRequest(`${param}.id`, 'The outline has no such id.');
  if (!span.segment.isEditable) throw invalidRequest(`${param}.id`, 'The address of the unsubscribe link cannot be changed.');
  const written = readNewText(text, param);
  checkKept(span.text, written, drop, param);
  const { segment } = span;
  return { replacement: { index, param, find: span.text, text: written }, of, start: segment.start, end: segment.end, segment };
}

/** Every merge tag of the old text is in the new one as often, unless the edit names it. */
function checkKept(before, after, drop, param) {
  const left = new Map();
  const values = (text) => expressionsOf(text).map(({ value }) => value).filter((value) => value !== null);
  for (const value of values(after)) left.set(value, (left.get(value) ?? 0) + 1);
  for (const value of values(before)) {
    left.set(value, (left.get(value) ?? 0) - 1);
    if (left.get(value) < 0 && !drop.includes(value)) throw invalidRequest(`${param}.with`, 'The new text must keep the merge tags of the old one.');
  }
}
