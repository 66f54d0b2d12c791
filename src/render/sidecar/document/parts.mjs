// Parts of blocks as MJML: sections, columns, headings, texts, buttons, pictures. A part takes its colours from the tone of its block.
// Light colours are written inline; the classes let the style sheet change them in dark mode (style.mjs).

import { loneColumn } from './compact.mjs';
import { attribute, inline, paragraphs, plain } from './inline.mjs';

const BLOCK_TONE = 'plain';
const CARD_PADDING = 24;
const BAND_FACTOR = 1.8; // the space of a block with a ground of its own, in spaces of a block

export class Parts {
  /**
   * @param {object} look the colours, fonts and sizes of the email (README.md)
   * @param {{type: string, tone?: string, align?: string}} block
   * @param {string} usualAlign the alignment of the block's variant: start, center or end
   * @param {{lang: string, dir: string, timeZone: string}} locale
   */
  constructor(look, block, usualAlign, locale) {
    this.look = look;
    this.locale = locale;
    this.tone = block.tone ?? BLOCK_TONE;
    this.colours = look.light.tones[this.tone];
    this.align = block.align ?? usualAlign;
    this.linkStyle = `color:${this.colours.link};text-decoration:underline`;
  }

  /** left, center or right, by the direction of the text. */
  side(align = this.align) {
    if (align === 'center') return 'center';
    return (align === 'start') === (this.locale.dir === 'ltr') ? 'left' : 'right';
  }

  // ---- Layout ----

  /** Sections and columns of MJML run from left to right unless they say otherwise. */
  get #direction() {
    return this.locale.dir === 'rtl' ? ' direction="rtl"' : '';
  }

  get gutter() {
    return this.look.space.gutter;
  }

  /** Space above and below a block: more when it has a ground of its own. */
  get blockSpace() {
    return this.tone === BLOCK_TONE ? this.look.space.block : Math.round(this.look.space.block * BAND_FACTOR);
  }

  /** On a phone, sides are narrower; columns with a gap between begin before the text. */
  #sidesClass(sides) {
    if (sides === 0) return '';
    return sides < this.gutter ? ' near' : ' gutter';
  }

  section(contents, { top = this.blockSpace, bottom = this.blockSpace, sides = this.gutter, classes = '' } = {}) {
    const css = `t-${this.tone}${this.#sidesClass(sides)}${classes && ` ${classes}`}`;
    return `<mj-section css-class="${css}"${this.#direction} background-color="${this.colours.ground}" padding="${top}px ${sides}px ${bottom}px">${contents}</mj-section>`;
  }

  /** A section in the colours of bands. Its text is drawn by `flipped`. */
  band(contents, { top, bottom }) {
    return `<mj-section css-class="t-${this.tone} gutter flip"${this.#direction} background-color="${this.colours.band}" padding="${top}px ${this.gutter}px ${bottom}px">`
      + `<mj-column${this.#direction}>${loneColumn(contents)}</mj-column></mj-section>`;
  }

  /** The same parts in the colours of text on bands. */
  get flipped() {
    const { band, onBand } = this.colours;
    const other = new Parts(this.look, { tone: this.tone, align: this.align }, this.align, this.locale);
    other.colours = { ...this.colours, ground: band, card: band, ink: onBand, muted: onBand, link: onBand, button: onBand, onButton: band };
    other.linkStyle = `color:${onBand};text-decoration:underline`;
    return other;
  }

  /** One column of the whole width. */
  single(contents, options) {
    return this.section(`<mj-column${this.#direction}>${loneColumn(contents)}</mj-column>`, options);
  }

  column(contents, { width, padding = '0', align = 'top', card = false, border } = {}) {
    const size = width === undefined ? '' : ` width="${width}%"`;
    const ground = card
      ? ` css-class="card${border === undefined ? '' : ' rim'}" inner-background-color="${this.colours.card}" inner-border-radius="${this.look.radius}px"`
        + (border === undefined ? '' : ` inner-border="${border}"`) : '';
    return `<mj-column${size}${this.#direction} padding="${padding}" vertical-align="${align}"${ground}>${contents}</mj-column>`;
  }

  /** A column with a ground of its own and space around its contents. */
  card(contents, options = {}) {
    return this.column(`${this.space(CARD_PADDING)}${contents}${this.space(CARD_PADDING)}`, { ...options, card: true });
  }

  space(height) {
    return `<mj-spacer height="${height}px" />`;
  }

  // ---- Text ----

  /** Finished HTML in a text element. `kind` is ink or muted. */
  html(html, { size = this.look.type.body, kind = 'ink', top = 0, bottom = 0, sides = 0, align = this.align, height = 1.6, font, weight } = {}) {
    const family = font === undefined ? '' : ` font-family="${attribute(font)}"`;
    const bold = weight === undefined ? '' : ` font-weight="${weight}"`;
    return `<mj-text css-class="${kind}" align="${this.side(align)}" color="${this.colours[kind]}" font-size="${size}px" line-height="${height}"`
      + `${family}${bold} padding="${top}px ${sides}px ${bottom}px">${html}</mj-text>`;
  }

  heading(text, level, options = {}) {
    const size = options.size ?? this.look.type[`h${level}`];
    return this.html(`<h${level}>${plain(text)}</h${level}>`, {
      height: level === 1 ? 1.12 : 1.25, font: this.look.headingFont, weight: this.look.headingWeight, ...options, size,
    });
  }

  eyebrow(text, options = {}) {
    const words = `<span class="mark" style="color:${this.colours.link};text-transform:uppercase;letter-spacing:1.5px">${plain(text)}</span>`;
    return this.html(words, { size: this.look.type.small - 1, weight: 700, bottom: 14, height: 1.4, ...options });
  }

  /** Inline Markdown of several paragraphs. */
  prose(text, options = {}) {
    return this.html(this.paragraphs(text), options);
  }

  paragraphs(text) {
    return paragraphs(text).map((part) => `<p>${inline(part, this.linkStyle)}</p>`).join('');
  }

  small(text, options = {}) {
    return this.prose(text, { size: this.look.type.small, kind: 'muted', height: 1.5, ...options });
  }

  inline(text) {
    return inline(text, this.linkStyle);
  }

  link(label, href, style = '') {
    return `<a class="link" href="${attribute(href)}" style="${this.linkStyle}${style && `;${style}`}">${plain(label)}</a>`;
  }

  // ---- Buttons and pictures ----

  button({ label, href }, { top = 20, bottom = 0, sides = 0, isWide = false, align = this.align } = {}) {
    const { buttonStyle, radius } = this.look;
    const { button, onButton, ground, link } = this.colours;
    const isOutline = buttonStyle === 'outline';
    const colours = isOutline ? `background-color="${ground}" color="${link}" border="2px solid ${button}"`
      : `background-color="${button}" color="${onButton}"`;
    const corner = buttonStyle === 'pill' ? 28 : radius;
    return `<mj-button css-class="${isOutline ? 'outline' : 'button'}" href="${attribute(href)}" align="${this.side(align)}" ${colours} border-radius="${corner}px"`
      + ` font-size="16px" font-weight="700" line-height="1.25" inner-padding="15px 30px" padding="${top}px ${sides}px ${bottom}px"${isWide ? ' width="100%"' : ''}>${plain(label)}</mj-button>`;
  }

  /** A link with an arrow in place of a button. */
  quietButton({ label, href }, options = {}) {
    const arrow = this.locale.dir === 'ltr' ? '→' : '←';
    return this.html(`<strong>${this.link(label, href)}</strong> <span aria-hidden="true">${arrow}</span>`, { top: 14, ...options });
  }

  picture({ src, alt = '', href }, { width, radius = 0, top = 0, bottom = 0, sides = 0, align = 'center' } = {}) {
    const size = width === undefined ? '' : ` width="${width}px"`;
    const link = href === undefined ? '' : ` href="${attribute(href)}"`;
    return `<mj-image src="${attribute(src)}" alt="${attribute(alt)}"${link}${size} align="${this.side(align)}" border-radius="${radius}px"`
      + ` padding="${top}px ${sides}px ${bottom}px" />`;
  }

  rule({ width = '100%', top = 0, bottom = 0, weight = 1, style = 'solid', accent = false } = {}) {
    return `<mj-divider css-class="${accent ? 'stroke' : 'rule'}" border-color="${accent ? this.colours.button : this.colours.line}" border-width="${weight}px" border-style="${style}" width="${width}"`
      + ` align="${this.side()}" padding="${top}px 0 ${bottom}px" />`;
  }

  /** A table for layout inside of a text element. */
  layout(rows, style = '') {
    return `<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"${style && ` style="${style}"`}>${rows}</table>`;
  }
}

/** Splits a list into rows of at most `size` entries. */
export const rowsOf = (items, size) => Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
