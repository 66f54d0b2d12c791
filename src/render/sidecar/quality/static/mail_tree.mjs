// The tree of a mail for the checks: one walk collects links, images, headings and texts with what they inherit. Cost is linear in the HTML. A mail
// over the limits, which only a composed mail can be, has no tree.

import { attribute, CARRIER_MARK, findChild, isComment, isElement, isText, parseDocument } from '../../html/document.mjs';
import { RequestError } from '../../errors.mjs';
import { ProtectedFragments } from '../../html/protected_fragments.mjs';
import { maskTemplates } from '../../html/template.mjs';
import { FILLER, WIDTHLESS } from '../../html/text.mjs';
import { hides, Styles, textSize } from './style.mjs';

const HEADING = /^h([1-6])$/;
/** Elements whose text is on lines of its own. */
const BLOCK = /^(?:p|div|td|th|tr|table|li|ul|ol|h[1-6]|blockquote|section|article|header|footer|center|br|hr|address|pre|figure|figcaption)$/;
const NO_TEXT = new Set(['style', 'script', 'title', 'template', 'noscript']);
const ROOT = { size: 16, isHidden: false, align: { value: '', element: null }, isRtl: false, link: null, heading: null };
/** Characters of the text of one link or heading that are kept. */
const NAME_CHARS = 400;
/** Visible characters before which hidden text is a preheader, as in html/text.mjs. */
const PREHEADER_WITHIN_CHARS = 120;

export const fold = (text) => text.replaceAll('\u00a0', ' ').replace(WIDTHLESS, '').replace(/\s+/g, ' ').trim();

/** Text that a reader sees: without the padding of preheaders. */
const seen = (text) => text.replace(FILLER, ' ').replace(WIDTHLESS, '').replace(/\s/g, ' ');

/**
 * Reads HTML. The result has `problem`, a sentence, when the HTML is over the limits.
 * @returns {{problem: string|null, html?: object, body?: object, styles?: Styles, fragments?: ProtectedFragments}}
 */
export function readTree(source) {
  const fragments = new ProtectedFragments(source);
  try {
    const { document } = parseDocument(maskTemplates(source.toWellFormed(), fragments, null), fragments);
    return new MailTree(document, fragments);
  } catch (error) {
    if (error instanceof RequestError) return { problem: error.message };
    throw error;
  }
}

/** The alignment that an element sets: {value, element}, or null. The attribute of an image or a table does not align text. */
function alignOf(element, values) {
  const ofAttribute = ['img', 'table'].includes(element.tagName) ? null : attribute(element, 'align');
  const value = values.get('text-align') ?? ofAttribute?.toLowerCase() ?? null;
  return value === null ? null : { value, element };
}

class MailTree {
  problem = null;
  styles = new Styles();
  /** {element, href: null without one, name: its text, alternative texts and labels, text: what is shown, isHidden} */
  links = [];
  /** {element, src, alt: null without one, isHidden, link} */
  images = [];
  /** {element, level, text} */
  headings = [];
  /** Pieces of text in their order: {value, element, size, align: {value, element that sets it}, isRtl, link}; those that are hidden are in
   *  hiddenTexts as {value, charsBefore: visible characters before}. */
  texts = [];
  hiddenTexts = [];
  elements = [];
  /** Elements that show nothing. */
  hidden = new Set();
  /** Characters of visible text so far. */
  #chars = 0;
  #anchors;
  #marked;
  #visible;
  /** {element, css} */
  sheets = [];

  constructor(document, fragments) {
    this.document = document;
    this.fragments = fragments;
    this.html = findChild(document, 'html');
    this.body = findChild(this.html, 'body') ?? this.html;
    this.#children(document, ROOT);
  }

  /** The names that an address #name can lead to. */
  get anchors() {
    this.#anchors ??= new Set(this.elements.flatMap(({ attrs }) => attrs.filter(({ name }) => name === 'id' || name === 'name').map(({ value }) => value)));
    return this.#anchors;
  }

  /** The text with its merge tags. */
  expand(text) {
    return this.fragments.expand(text);
  }

  /** What a reader sees, in lines, with the tokens of merge tags. */
  get markedText() {
    this.#marked ??= this.texts.map(({ value, isNewLine }) => (isNewLine ? `\n${value}` : value)).join('').split('\n').map((line) => line.replace(/[ \t\r\f]+/g, ' ').trim())
      .filter((line) => line !== '').join('\n');
    return this.#marked;
  }

  /** What a reader sees, in lines, without merge tags. */
  get visibleText() {
    this.#visible ??= this.markedText.replace(this.fragments.templateTokens, ' ');
    return this.#visible;
  }

  /** The hidden text before the content, which inboxes show after the subject; '' without one. */
  get preheader() {
    const pieces = this.hiddenTexts.filter(({ charsBefore }) => charsBefore <= PREHEADER_WITHIN_CHARS);
    return fold(this.expand(pieces.map(({ value }) => value).join(' ')));
  }

  #children(parent, context) {
    for (const node of parent.childNodes ?? []) {
      if (isElement(node)) this.#element(node, context);
      else if (isText(node)) this.#text(node.value, node, context);
      else if (isComment(node) && node.data.startsWith(CARRIER_MARK)) this.#text(node.data.slice(1), node, context);
    }
  }

  #element(element, outer) {
    const { tagName } = element;
    this.elements.push(element);
    if (tagName === 'style') this.sheets.push({ element, css: element.childNodes.map(({ value }) => value ?? '').join('') });
    if (NO_TEXT.has(tagName)) return;
    const context = this.#contextOf(element, outer);
    if (context.isHidden) this.hidden.add(element);
    if (BLOCK.test(tagName)) this.isNewLine = true;
    if (tagName === 'img') this.#image(element, context);
    this.#children(element, context);
    if (context.link?.element === element) context.link.textAfter = this.texts.length;
    if (BLOCK.test(tagName)) this.isNewLine = true;
  }

  #contextOf(element, outer) {
    const { values } = this.styles.of(attribute(element, 'style') ?? '');
    const dir = (attribute(element, 'dir') ?? values.get('direction') ?? '').toLowerCase();
    const size = textSize(element, values, outer.size);
    const context = {
      size,
      isHidden: outer.isHidden || attribute(element, 'hidden') !== null || hides(values),
      align: alignOf(element, values) ?? outer.align,
      isRtl: dir === '' ? outer.isRtl : dir === 'rtl' || dir === 'auto',
      link: outer.link,
      heading: outer.heading,
    };
    if (element.tagName === 'a' || element.tagName === 'area') context.link = this.#link(element, context);
    const level = HEADING.exec(element.tagName)?.[1];
    if (level !== undefined && !context.isHidden) {
      context.heading = { element, level: Number(level), text: '' };
      this.headings.push(context.heading);
    }
    return context;
  }

  #link(element, { isHidden }) {
    const label = attribute(element, 'aria-label') ?? attribute(element, 'title') ?? attribute(element, 'alt') ?? '';
    const href = attribute(element, 'href');
    const link = { element, href: href === null ? null : this.expand(href).trim(), name: label, text: '', isHidden, textBefore: this.texts.length, textAfter: this.texts.length };
    this.links.push(link);
    return link;
  }

  #image(element, { isHidden, link, heading }) {
    const alt = attribute(element, 'alt');
    const label = alt ?? attribute(element, 'aria-label') ?? '';
    this.images.push({ element, src: this.expand(attribute(element, 'src') ?? '').trim(), alt: alt === null ? null : fold(this.expand(alt)), isHidden, link });
    if (link !== null) {
      if (link.name.length < NAME_CHARS) link.name += ` ${label.slice(0, NAME_CHARS)}`;
    }
    if (heading !== null && heading.text.length < NAME_CHARS) heading.text += label.slice(0, NAME_CHARS);
  }

  #text(raw, node, context) {
    const value = seen(raw);
    const { link, heading } = context;
    const piece = { value, element: node.parentNode, size: context.size, align: context.align, isRtl: context.isRtl, link, isNewLine: this.isNewLine === true };
    if (context.isHidden || context.size === 0) {
      this.hiddenTexts.push({ value, charsBefore: this.#chars });
      return;
    }
    this.texts.push(piece);
    this.#chars += value.trim().length;
    this.isNewLine = false;
    if (heading === null && link === null) return;
    const part = (piece.isNewLine ? ' ' : '') + this.expand(value).slice(0, NAME_CHARS);
    if (heading !== null && heading.text.length < NAME_CHARS) heading.text += part;
    if (link === null || link.text.length >= NAME_CHARS) return;
    link.text += part;
    link.name += part;
  }
}
