// Filter for conditional comments: Outlook's `<!--[if mso]> … <![endif]-->` and its variants. A parser reads the content
// as a comment, and the content is often half a structure (`</td></tr></table>`). So it is filtered tag by tag, not as a
// tree: only allowed elements and attributes are written, all text is escaped, and the output cannot end the comment.

import { escapeAttribute, Tokenizer, TokenizerMode } from '#libraries/html';

import { cleanStyleAttribute, cleanStyleSheet, styleSheetText } from './css.mjs';
import { importFailed } from '../errors.mjs';
import { LIMITS } from '../limits.mjs';
import { cleanAttribute, cleanMeta, DROPPED_WITH_CONTENT, ELEMENTS, isKnownAttribute } from './policy.mjs';
import { cleanUrl } from './url.mjs';

const CONDITION = '\\[if\\s*([\\w\\s.!&|()]{1,100})\\]';
const HIDDEN = new RegExp(`^${CONDITION}>([^]*)<!\\[endif\\]\\s*$`, 'i');
const REVEALING = new RegExp(`^${CONDITION}>\\s*(?:<!(?:--)?)?\\s*$`, 'i');
const REVEALING_BARE = new RegExp(`^${CONDITION}$`, 'i');
const CLOSING = /^\s*<!\[endif\]\s*$/i;
const CLOSING_BARE = /^\[endif\]$/i;

const LONGEST_MARK = 200;

const OFFICE_ELEMENT = /^(?:[vow]:[a-z]{1,40}|xml)$/;
const OFFICE_ATTRIBUTE = /^(?:[ow]:)?[a-z]{1,40}$/;
const OFFICE_URLS = new Map([['href', 'link'], ['o:href', 'link'], ['src', 'image'], ['o:src', 'image']]);
const OFFICE_NAMESPACE = /^urn:schemas-microsoft-com:(?:vml|office:office|office:word)$/;
/** MJML wraps Office settings in <noscript> inside a conditional comment. It has no effect there. */
const ALSO_IN_COMMENT = new Set(['noscript']);

export const RAW_TEXT = new Map([
  ['title', TokenizerMode.RCDATA], ['textarea', TokenizerMode.RCDATA],
  ['style', TokenizerMode.RAWTEXT], ['xmp', TokenizerMode.RAWTEXT], ['iframe', TokenizerMode.RAWTEXT],
  ['noembed', TokenizerMode.RAWTEXT], ['noframes', TokenizerMode.RAWTEXT],
  ['script', TokenizerMode.SCRIPT_DATA], ['plaintext', TokenizerMode.PLAINTEXT],
]);
export const VOID = new Set(['br', 'hr', 'img', 'meta', 'col', 'wbr', 'area', 'base', 'link', 'input', 'param', 'source',
  'track', 'embed', 'frame', 'basefont']);

/**
 * Recognises the text of a conditional comment.
 * @returns {null | {role: "block"|"open"|"close", start: string, inner?: string}} `start` is the markup to write for it;
 *   null for an ordinary comment
 */
export function readConditional(data) {
  const hidden = HIDDEN.exec(data);
  if (hidden) return { role: 'block', start: `<!--[if ${hidden[1].trim()}]>`, inner: hidden[2] };
  if (data.length > LONGEST_MARK) return null;
  const revealing = REVEALING.exec(data);
  if (revealing) return { role: 'open', start: `<!--[if ${revealing[1].trim()}]><!-->` };
  const bare = REVEALING_BARE.exec(data);
  if (bare) return { role: 'open', start: `<![if ${bare[1].trim()}]>` };
  if (CLOSING.test(data)) return { role: 'close', start: '<!--<![endif]-->' };
  if (CLOSING_BARE.test(data)) return { role: 'close', start: '<![endif]>' };
  return null;
}

/** Filters the content of a downlevel-hidden conditional comment: { html, links: [{href, text}], images: [{src, alt}] }. */
export function filterConditional(source, context) {
  return new FragmentFilter(source, context).run();
}

class FragmentFilter {
  #html = '';
  #links = [];
  #images = [];
  /** The open element whose content is dropped: { name, open }, `open` counts the open elements of that name. */
  #dropped = null;
  #style = null;
  #link = null;

  constructor(source, context) {
    this.source = source;
    this.context = context;
    this.fragments = context.fragments;
    this.tokenizer = new Tokenizer({ sourceCodeLocationInfo: true }, this);
  }

  run() {
    this.tokenizer.write(this.source, true);
    this.#endStyle();
    return { html: this.#html, links: this.#links, images: this.#images };
  }

  onStartTag(token) {
    const name = token.tagName;
    if (RAW_TEXT.has(name)) this.tokenizer.state = RAW_TEXT.get(name);
    if (this.#dropped) {
      if (this.#dropped.name === name && !token.selfClosing) this.#dropped.open++;
      return;
    }
    if (++this.context.conditionalTags > LIMITS.elements) {
      throw importFailed(`The content has more than ${LIMITS.elements} elements in conditional comments.`);
    }
    if (name === 'style') this.#style = '';
    else if (isAllowed(name)) this.#writeStartTag(token);
    else this.#drop(token);
  }

  onEndTag(token) {
    const name = token.tagName;
    if (this.#dropped) {
      if (this.#dropped.name === name && --this.#dropped.open === 0) this.#dropped = null;
      return;
    }
    if (name === 'style') this.#endStyle();
    else if (isAllowed(name) && !VOID.has(name)) this.#html += `</${this.#nameAsWritten(token, 2)}>`;
    if (this.#link?.tagName === name) this.#link = null;
  }

  onCharacter({ chars }) {
    if (this.#dropped) return;
    if (this.#style !== null) {
      this.#style += chars;
      return;
    }
    if (this.#link) this.#link.entry.text += this.fragments.expand(chars);
    this.#html += this.fragments.expandInHtmlText(escapeAttribute(chars).replaceAll('&quot;', '"'));
  }

  onWhitespaceCharacter(token) {
    this.onCharacter(token);
  }

  onNullCharacter() {}

  onComment() {
    if (!this.#dropped) this.context.report.removed('comment');
  }

  onDoctype() {}

  onEof() {}

  #drop(token) {
    this.context.report.removed(token.tagName);
    const hasContent = !VOID.has(token.tagName) && !token.selfClosing;
    if (DROPPED_WITH_CONTENT.has(token.tagName) && hasContent) this.#dropped = { name: token.tagName, open: 1 };
  }

  #writeStartTag(token) {
    const attrs = this.#cleanAttributes(token);
    if (attrs === null) return;
    const written = attrs.map(({ name, value }) => ` ${name}="${escapeAttribute(this.fragments.expand(value))}"`).join('');
    const isOffice = OFFICE_ELEMENT.test(token.tagName);
    this.#html += `<${this.#nameAsWritten(token, 1)}${written}${isOffice && token.selfClosing ? '/' : ''}>`;
    this.#note(token, attrs);
  }

  #cleanAttributes(token) {
    if (token.tagName === 'meta') return cleanMeta(token.attrs, this.context);
    const isOffice = OFFICE_ELEMENT.test(token.tagName);
    const kept = [];
    for (const { name, value } of token.attrs) {
      const cleaned = isOffice ? cleanOfficeAttribute(name, value, this.context)
        : cleanAttribute(token.tagName, name, value, this.context);
      if (cleaned !== null) kept.push({ name, value: cleaned });
    }
    return kept;
  }

  #note(token, attrs) {
    const value = (name) => {
      const found = attrs.find((attr) => attr.name === name);
      return found ? this.fragments.expand(found.value) : null;
    };
    const href = value('href');
    if (href !== null) {
      const entry = { href, text: '' };
      this.#links.push(entry);
      this.#link = token.selfClosing ? null : { tagName: token.tagName, entry };
    }
    if (token.tagName === 'img' && value('src') !== null) this.#images.push({ src: value('src'), alt: value('alt') });
  }

  #endStyle() {
    if (this.#style === null) return;
    const root = cleanStyleSheet(this.#style, this.context);
    this.#style = null;
    const css = root && styleSheetText(root, this.fragments);
    if (css) this.#html += `<style>${css}</style>`;
  }

  /** The tag name in the case of the source: Office elements are case-sensitive XML, and the tokenizer lower-cases names. */
  #nameAsWritten(token, offset) {
    const start = token.location.startOffset + offset;
    const written = this.source.slice(start, start + token.tagName.length);
    return OFFICE_ELEMENT.test(token.tagName) && written.toLowerCase() === token.tagName ? written : token.tagName;
  }
}

function isAllowed(name) {
  return ELEMENTS.has(name) || OFFICE_ELEMENT.test(name) || ALSO_IN_COMMENT.has(name);
}

function cleanOfficeAttribute(name, value, context) {
  if (name === 'style') return cleanStyleAttribute(value, context);
  if (name === 'xmlns' || name.startsWith('xmlns:')) return OFFICE_NAMESPACE.test(value) ? value : null;
  const use = OFFICE_URLS.get(name);
  if (use) return cleanUrl(value, use, context);
  const known = OFFICE_ATTRIBUTE.test(name) || isKnownAttribute(name);
  if (name.startsWith('on') || !known || context.fragments.hasTemplate(name) || /script\s*:|expression\(/i.test(value)) {
    context.report.removed(name.startsWith('on') ? 'event handler' : 'attribute in a conditional comment');
    return null;
  }
  return value;
}

