// The text of a finished document as a reader sees it, with the place of each character in the source: entities are decoded,
// white space is collapsed, and a text that spans inline elements is one text. The document is not parsed into a tree: the
// tokenizer gives the positions, so an edit can keep all other bytes.
//
// A *unit* is one UTF-16 code unit of this text. Units with the same source (an entity, a letter with its accents, a template
// expression) belong together. A *segment* is a text that no block boundary divides: a paragraph, a subject, an address.

import { decodeHTML, Tokenizer } from '#libraries/html';

import { RAW_TEXT, VOID } from './conditional.mjs';
import { attribute } from './document.mjs';
import { tagName, templatesIn } from './template.mjs';
import { FILLER, isHidden, WIDTHLESS } from './text.mjs';

/** Divides the segments: half a surrogate pair, which no text has. */
const DIVIDER = '\ud800';
const NO_SOURCE = -1;

/** After this text a hidden element belongs to the layout (see previewText in text.mjs). */
const PREVIEW_AFTER_CHARS = 120;
/** Marks of one letter that are composed with it; further ones only belong to it. */
const CLUSTER_UNITS = 16;

const INLINE = new Set(['a', 'abbr', 'acronym', 'b', 'bdi', 'bdo', 'big', 'cite', 'code', 'del', 'dfn', 'em', 'font', 'i', 'ins', 'kbd',
  'mark', 'nobr', 'q', 's', 'samp', 'small', 'span', 'strike', 'strong', 'sub', 'sup', 'time', 'tt', 'u', 'var']);
const ATTRIBUTES = [['href', 'link'], ['alt', 'alt']];
/** With the addresses of images, for outlines. */
export const ATTRIBUTES_AND_SOURCES = [...ATTRIBUTES, ['src', 'source']];
const WITHOUT_EFFECT = new Set(['wbr', 'basefont']);
const OTHER_DISPLAY = /(?:^|;)\s*display\s*:\s*(?!inline|contents)/i;

/** Characters, and character references. */
const PIECE_OF_HTML = /&(?:#[xX][0-9a-fA-F]{1,6}|#[0-9]{1,7}|[a-zA-Z][a-zA-Z0-9]{1,31});?|[^]/gu;
const PIECE_OF_TEXT = /[^]/gu;
const SPACE = /^[\s\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+$/;
const WIDTHLESS_ONLY = new RegExp(`^(?:${WIDTHLESS.source})+$`);
const MARK = /^\p{M}/u;
const UNSUBSCRIBE = /unsubscribe/i;
const CONDITION = /^\[if[\s(]/i;

/** Collects units and segments. */
export class ReaderText {
  /** The units, each with the start and the end of its source. */
  units = [];
  from = [];
  to = [];
  /** {place, isEditable, start, end, runs: [{start, end}]} in units; `runs` are the parts of the source between its tags. */
  segments = [];
  #open = null;
  #clusterStart = 0;

  get text() {
    this.joined ??= this.units.join('');
    return this.joined;
  }

  begin(place, isEditable = true) {
    this.end();
    this.#open = { place, isEditable, start: this.units.length, end: 0, runs: [] };
  }

  /** Ends the open segment. One without text is dropped. */
  end() {
    const segment = this.#open;
    this.#open = null;
    if (segment === null) return null;
    while (this.units.length > segment.start && this.units.at(-1) === ' ') this.#pop();
    if (this.units.length === segment.start) return null;
    segment.end = this.units.length;
    this.segments.push(segment);
    this.#push(DIVIDER, NO_SOURCE, NO_SOURCE);
    return segment;
  }

  get isOpen() {
    return this.#open !== null;
  }

  /** Adds a part of the source. `expressions` are those of the source that begin in it; `decodes` is false for plain text. */
  addRun(source, start, end, expressions, decodes = true) {
    this.#open.runs.push({ start, end });
    let at = start;
    for (const expression of expressions) {
      this.#addText(source, at, expression.start, decodes);
      this.#addSource(expression.value, expression.start, expression.end);
      at = expression.end;
    }
    this.#addText(source, at, end, decodes);
  }

  /** A line break, which separates words and has no text of its own. */
  addBreak() {
    if (this.#open !== null && this.#endsWord()) this.#push(' ', NO_SOURCE, NO_SOURCE);
  }

  segmentAt(unit) {
    return this.segments[lastAtOrBefore(this.segments, unit, ({ start }) => start)];
  }

  #endsWord() {
    return this.units.length > this.#open.start && this.units.at(-1) !== ' ';
  }

  #addText(source, start, end, decodes) {
    for (const { 0: piece, index } of source.slice(start, end).matchAll(decodes ? PIECE_OF_HTML : PIECE_OF_TEXT)) {
      const from = start + index;
      this.#addPiece(piece.length > 1 && piece[0] === '&' ? decodeHTML(piece) : piece, from, from + piece.length);
    }
  }

  #addPiece(piece, from, to) {
    if (SPACE.test(piece)) this.#addSpace(from, to);
    else if (WIDTHLESS_ONLY.test(piece)) return;
    else if (MARK.test(piece) && this.#open.start < this.units.length && this.to.at(-1) === from) this.#addMark(piece, to);
    else this.#addSource(piece, from, to);
  }

  /** White space is one unit for all of it that is in one run; the rest has no unit. */
  #addSpace(from, to) {
    if (this.#endsWord()) this.#push(' ', from, to);
    else if (this.units.length > this.#open.start && this.to.at(-1) === from) this.to[this.to.length - 1] = to;
  }

  /** Composes a mark with its letter (NFC), so that both ways of writing it are found. */
  #addMark(mark, to) {
    const from = this.from.at(-1);
    const count = this.units.length - this.#clusterStart;
    const letters = count <= CLUSTER_UNITS ? this.units.slice(this.#clusterStart) : [' '];
    if (letters.at(-1) === ' ') {
      for (const unit of units(mark)) this.#push(unit, from, to);
      return;
    }
    letters.forEach(() => this.#pop());
    this.#addSource((letters.join('') + mark).normalize('NFC'), from, to);
  }

  /** Text that has one source as a whole. */
  #addSource(text, from, to) {
    this.#clusterStart = this.units.length;
    for (const unit of units(text)) {
      if (!SPACE.test(unit)) this.#push(unit, from, to);
      else if (this.#endsWord()) this.#push(' ', from, to);
    }
  }

  #push(unit, from, to) {
    this.units.push(unit);
    this.from.push(from);
    this.to.push(to);
  }

  #pop() {
    this.units.pop();
    this.from.pop();
    this.to.pop();
  }
}

const units = (text) => text.split('');

/** The index of the last item whose key is at most `value`, or -1; the items are sorted by key. */
export function lastAtOrBefore(items, value, key) {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (key(items[middle]) <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** A plain text, such as a subject, in the form in which texts are compared. */
export function foldText(text) {
  const folded = new ReaderText();
  folded.begin('text');
  // A space at the beginning or the end of a text to find counts, so the text is folded between two letters.
  folded.addRun(`x${text}x`, 0, text.length + 2, [], false);
  folded.end();
  return folded.units.slice(1, -2).join('');
}

/** The expressions of a source with their places; all that `{% comment %}` hides is one expression without a value. */
export function expressionsOf(source) {
  const found = [];
  let comment = null;
  for (const expression of templatesIn(source)) {
    const name = tagName(expression.value);
    if (comment === null && name === 'comment') comment = expression;
    else if (comment === null) found.push(expression);
    else if (name === 'endcomment') {
      found.push({ start: comment.start, end: expression.end, value: null });
      comment = null;
    }
  }
  return found;
}

/**
 * Reads a finished document.
 * @returns {{reader: ReaderText, expressions: object[], markup: number, unsubscribeLinks: boolean[]}} `markup` counts tags
 *   and comments; `unsubscribeLinks` says of each such link whether it shows something
 */
export function readDocument(html, { reader = new ReaderText(), attributes = ATTRIBUTES } = {}) {
  const expressions = expressionsOf(html);
  const scanner = new Scanner(html, 0, html.length, expressions, reader, true, attributes);
  scanner.run();
  return { reader, expressions, markup: scanner.markup, unsubscribeLinks: scanner.unsubscribeLinks };
}

/** Reads the markup of a document, or of a conditional comment, whose text is not editable. */
class Scanner {
  markup = 0;
  unsubscribeLinks = [];
  /** The end of the last tag or comment. */
  #at;
  /** The open elements: {name, breaks, hides, isProtected}. */
  #stack = [];
  /** The number of open elements by name, so that an end tag without a start tag searches nothing. */
  #openNames = new Map();
  /** The indexes in `unsubscribeLinks` of the open ones. */
  #openLinks = [];
  #hiddenElements = 0;
  /** The element whose content is no text, or null. */
  #raw = null;
  #isInBody = false;
  #hasPreview = false;
  #visibleChars = 0;
  /** Attributes with text, which become segments after the text: {place, start, end}. */
  #attributeTexts = [];

  constructor(source, start, end, expressions, reader, isEditable, attributes) {
    Object.assign(this, { source, start, end, expressions, reader, isEditable, attributes });
    this.#at = start;
    this.tokenizer = new Tokenizer({ sourceCodeLocationInfo: true }, this);
  }

  run() {
    this.tokenizer.write(this.source.slice(this.start, this.end), true);
    this.#flush(this.end, this.end);
    this.#boundary();
    for (const { place, isEditable, start, end } of this.#attributeTexts) {
      this.reader.begin(place, isEditable);
      this.reader.addRun(this.source, start, end, this.#expressionsIn(start, end));
      this.reader.end();
    }
  }

  onStartTag(token) {
    const name = token.tagName;
    this.#markup(token);
    if (RAW_TEXT.has(name)) {
      this.tokenizer.state = RAW_TEXT.get(name);
      this.#boundary();
      this.#raw = name;
    }
    this.#isInBody ||= name === 'body';
    this.#attributes(token);
    if (name === 'br') this.reader.addBreak();
    else if (VOID.has(name) && !WITHOUT_EFFECT.has(name)) this.#boundary();
    if (name === 'img') this.#showsSomething();
    if (!VOID.has(name) && !token.selfClosing && this.#raw === null) this.#open(token);
  }

  onEndTag(token) {
    this.#markup(token);
    if (this.#raw === token.tagName) {
      this.#boundary();
      this.#raw = null;
      return;
    }
    if (!this.#openNames.get(token.tagName)) return;
    while (this.#close() !== token.tagName);
  }

  onComment(token) {
    this.#markup(token);
    this.#boundary();
    const [start, end] = this.#place(token.location);
    if (!CONDITION.test(token.data) || !this.source.startsWith('<!--', start)) return;
    const condition = this.source.slice(start, end).indexOf(']>');
    if (condition < 0) return;
    new Scanner(this.source, start + condition + ']>'.length, end - '-->'.length, this.expressions, this.reader, false, this.attributes).run();
  }

  onDoctype(token) {
    this.#markup(token);
    this.#boundary();
  }

  onCharacter() {}

  onWhitespaceCharacter() {}

  onNullCharacter() {}

  onEof() {}

  #place({ startOffset, endOffset }) {
    return [this.start + startOffset, this.start + endOffset];
  }

  #markup({ location }) {
    this.markup++;
    const [start, end] = this.#place(location);
    this.#flush(start, end);
  }

  /** Adds the text before a tag, and remembers the end of the tag. */
  #flush(start, end) {
    const begin = this.#at;
    this.#at = end;
    if (begin >= start || (this.#raw !== null && this.#raw !== 'title')) return;
    for (const run of this.#visibleParts(begin, start)) this.#text(run);
  }

  #text({ start, end, isDivided }) {
    if (isDivided) this.#boundary();
    if (start >= end) return;
    if (!this.reader.isOpen) this.reader.begin(this.#textPlace(), this.isEditable);
    this.reader.addRun(this.source, start, end, this.#expressionsIn(start, end));
    const shown = this.source.slice(start, end).trim();
    if (shown === '') return;
    this.#showsSomething();
    if (this.#isInBody && this.#hiddenElements === 0) this.#visibleChars += shown.length;
  }

  /** The parts of a text that no `{% comment %}` hides. */
  #visibleParts(start, end) {
    const parts = [];
    let at = start;
    let isDivided = false;
    for (const hidden of this.#overlapping(start, end).filter(({ value, end: last }) => value === null || last > end)) {
      parts.push({ start: at, end: Math.max(at, hidden.start), isDivided });
      at = Math.max(at, Math.min(end, hidden.end));
      isDivided = true;
    }
    return [...parts, { start: at, end, isDivided }];
  }

  #overlapping(start, end) {
    const first = Math.max(0, lastAtOrBefore(this.expressions, start, (expression) => expression.start));
    const found = [];
    for (let i = first; i < this.expressions.length && this.expressions[i].start < end; i++) {
      if (this.expressions[i].end > start) found.push(this.expressions[i]);
    }
    return found;
  }

  #expressionsIn(start, end) {
    return this.#overlapping(start, end).filter((expression) => expression.start >= start && expression.end <= end);
  }

  #textPlace() {
    if (!this.isEditable) return 'Outlook';
    if (this.#raw === 'title') return 'title';
    const isPreview = this.#isInBody && this.#hiddenElements > 0 && !this.#hasPreview && this.#visibleChars <= PREVIEW_AFTER_CHARS;
    return isPreview ? 'preview' : 'text';
  }

  #boundary() {
    const ended = this.reader.end();
    if (ended?.place !== 'preview') return;
    const { units: all } = this.reader;
    if (all.slice(ended.start, ended.end).join('').replace(FILLER, ' ').trim() !== '') this.#hasPreview = true;
  }

  #open(token) {
    const { tagName: name } = token;
    const hides = name !== 'title' && isHidden(token);
    const breaks = !INLINE.has(name) || hides || OTHER_DISPLAY.test(attribute(token, 'style') ?? '');
    if (breaks) this.#boundary();
    if (hides) this.#hiddenElements++;
    const isProtected = name === 'a' && this.isEditable && this.#leadsToUnsubscribe(token);
    if (isProtected) this.#openLinks.push(this.unsubscribeLinks.push(false) - 1);
    this.#countOpen(name, 1);
    this.#stack.push({ name, breaks, hides, isProtected });
  }

  /** Closes the innermost element; returns its name. */
  #close() {
    const { name, breaks, hides, isProtected } = this.#stack.pop();
    if (breaks) this.#boundary();
    if (hides) this.#hiddenElements--;
    if (isProtected) this.#openLinks.pop();
    this.#countOpen(name, -1);
    return name;
  }

  #countOpen(name, more) {
    this.#openNames.set(name, (this.#openNames.get(name) ?? 0) + more);
  }

  #showsSomething() {
    const link = this.#openLinks.at(-1);
    if (link !== undefined) this.unsubscribeLinks[link] = true;
  }

  #leadsToUnsubscribe({ location }) {
    const place = location.attrs?.href;
    return place !== undefined && this.#expressionsIn(...this.#place(place)).some(({ value }) => UNSUBSCRIBE.test(value ?? ''));
  }

  /** Notes address and alternative text. */
  #attributes(token) {
    for (const [name, place] of this.attributes) {
      const location = token.location.attrs?.[name];
      if (location === undefined) continue;
      const [start, end] = this.#place(location);
      const written = /="([^]*)"$/.exec(this.source.slice(start, end));
      const isHidden = this.#overlapping(start, end).some(({ value }) => value === null);
      if (written && !isHidden) this.#noteAttribute(token, place, end - 1 - written[1].length, end - 1);
    }
  }

  #noteAttribute(token, place, start, end) {
    const isProtected = place === 'link' && this.#leadsToUnsubscribe(token);
    const shown = isProtected ? 'unsubscribe link' : place;
    this.#attributeTexts.push({ place: this.isEditable ? shown : 'Outlook', isEditable: this.isEditable && !isProtected, start, end });
  }
}
