// Image addresses of a finished document: listImages finds them, replaceImages replaces them. The document holds template
// expressions verbatim, so it is not parsed into a tree again. The tokenizer gives the position of each attribute, and
// everything between the edited positions stays the same, byte for byte.
//
// An image address is in `src` (img, and Office elements such as v:fill), in `background`, or in url(…) of a style
// attribute or style sheet. All of these can also be inside a conditional comment. Addresses of fonts do not count.

import { escapeAttribute, Tokenizer, TokenizerMode } from '#libraries/html';

import { unescapeCss } from './css.mjs';
import { EMBEDDED_ADDRESS } from './embedded.mjs';
import { importFailed } from '../errors.mjs';
import { CLIP_WARNING_BYTES, LIMITS } from '../limits.mjs';

const OFFICE_ELEMENT = /^[vow]:/;
const ATTRIBUTE = /^[^\s=]+="([^]*)"$/;
const URL_FUNCTION = /url\(\s*(?:"([^"]*)"|'([^']*)'|([^()"'\s]*))\s*\)/gi;
const FONT_FACE = /@font-face\s*\{[^}]*\}/gi;

/** The image addresses of a document, each once, in document order. */
export function listImages(html) {
  const urls = new Set();
  const note = (url) => {
    if (url !== '') urls.add(url);
    return url;
  };
  rewriteAddresses(html, note);
  return [...urls];
}

/**
 * Replaces image addresses. `images` maps an address to its replacement, or to null to remove the image.
 * @param {{content: string, images: Record<string, string|null>}} request
 * @returns the result of a `replaceImages` request (see README.md)
 */
export function replaceImages({ content, images }) {
  const html = rewriteAddresses(content, (url) => (Object.hasOwn(images, url) ? images[url] : url)).replace(EMBEDDED_ADDRESS, 'data:,');
  if (html.length > LIMITS.htmlChars) throw importFailed('The content grows too large with its images.');
  const htmlBytes = Buffer.byteLength(html);
  const embeddedBytes = [...html.matchAll(/data:image\/[a-z]+;base64,[A-Za-z0-9+/=]+/g)].reduce((sum, [data]) => sum + data.length, 0);
  const isHeavy = htmlBytes > CLIP_WARNING_BYTES && embeddedBytes > 0;
  return {
    html,
    htmlBytes,
    warning: isHeavy ? `The HTML is ${Math.round(htmlBytes / 1024)} KB with its embedded images (${Math.round(embeddedBytes / 1024)} KB `
      + 'of base64), and Gmail hides what follows about 102 KB.' : null,
  };
}

/** Returns the document with `choose(url)` in place of each address. Null removes the attribute or element that has the address. */
function rewriteAddresses(html, choose) {
  const edits = [];
  new AddressFinder(html, 0, choose, edits).run();
  edits.sort((a, b) => a.start - b.start);
  let written = '';
  let at = 0;
  for (const { start, end, text } of edits) {
    written += html.slice(at, start) + text;
    at = end;
  }
  return written + html.slice(at);
}

class AddressFinder {
  /** Offset of the text of the open style sheet, or null. */
  #sheetStart = null;

  constructor(source, offset, choose, edits) {
    this.source = source;
    this.offset = offset;
    this.choose = choose;
    this.edits = edits;
    this.tokenizer = new Tokenizer({ sourceCodeLocationInfo: true }, this);
  }

  run() {
    this.tokenizer.write(this.source, true);
  }

  onStartTag(token) {
    const { tagName, location } = token;
    if (tagName === 'title') this.tokenizer.state = TokenizerMode.RCDATA;
    if (tagName === 'style') {
      this.tokenizer.state = TokenizerMode.RAWTEXT;
      this.#sheetStart = location.endOffset;
    }
    for (const { name, value } of token.attrs) {
      const place = location.attrs?.[name];
      if (!place) continue;
      if (name === 'style') this.#styleAttribute(value, place);
      else if (name === 'background') this.#attribute(value, place, place);
      else if (name === 'src' && tagName === 'img') this.#attribute(value, place, location);
      else if (name === 'src' && OFFICE_ELEMENT.test(tagName)) this.#attribute(value, place, place);
    }
  }

  onEndTag({ tagName, location }) {
    if (tagName !== 'style' || this.#sheetStart === null) return;
    const css = this.source.slice(this.#sheetStart, location.startOffset);
    const changed = this.#exchangeInCss(css);
    if (changed !== css) this.#edit(this.#sheetStart, location.startOffset, changed);
    this.#sheetStart = null;
  }

  /** A downlevel-hidden conditional comment contains markup. */
  onComment({ data, location }) {
    if (!/^\[if[\s(]/i.test(data)) return;
    const start = location.startOffset + '<!--'.length;
    const inner = this.source.slice(start, location.endOffset - '-->'.length);
    new AddressFinder(inner, this.offset + start, this.choose, this.edits).run();
  }

  onCharacter() {}

  onWhitespaceCharacter() {}

  onNullCharacter() {}

  onDoctype() {}

  onEof() {}

  /** `whole` is the range to remove together with the address: the attribute, or the element. */
  #attribute(value, place, whole) {
    const url = value.trim();
    const chosen = this.choose(url);
    if (chosen === null) this.#edit(whole.startOffset - (whole === place ? 1 : 0), whole.endOffset, ''); // with the space before the attribute
    else if (chosen !== url) this.#writeValue(place, chosen);
  }

  #styleAttribute(value, place) {
    const changed = this.#exchangeInCss(value);
    if (changed !== value) this.#writeValue(place, changed);
  }

  #writeValue(place, value) {
    const written = ATTRIBUTE.exec(this.source.slice(place.startOffset, place.endOffset));
    if (!written) throw new Error('an attribute is not written as the serializer writes it');
    const end = place.endOffset - 1; // before its quote
    this.#edit(end - written[1].length, end, escapeAttribute(value));
  }

  #exchangeInCss(css) {
    const fonts = [...css.matchAll(FONT_FACE)].map(({ index, 0: text }) => [index, index + text.length]);
    return css.replace(URL_FUNCTION, (whole, double, single, bare, index) => {
      const url = unescapeCss(double ?? single ?? bare ?? '').trim();
      if (fonts.some(([start, end]) => index >= start && index < end) || url.startsWith('#')) return whole;
      const chosen = this.choose(url);
      if (chosen === url) return whole;
      if (chosen === null) return 'none';
      const quote = double !== undefined ? '"' : '\'';
      return `url(${quote}${chosen}${quote})`;
    });
  }

  #edit(start, end, text) {
    this.edits.push({ start: this.offset + start, end: this.offset + end, text });
  }
}
