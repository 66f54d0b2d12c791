// Inversion of the colours of a mail: values of CSS, colours in attributes, and the page itself.

import { invertColour } from '../inversion.mjs';
import { readColour, replaceColours, writeColour } from './colours.mjs';

const GROUND = /^(?:background|box-shadow)/;
const COLOURED = /color|^background|^border|^outline|shadow|^fill$|^stroke$|^column-rule|^text-decoration/;
const ATTRIBUTES = new Map([['bgcolor', 'background'], ['color', 'text'], ['text', 'text'], ['link', 'text'], ['vlink', 'text'], ['alink', 'text']]);
const UA = { ground: { r: 255, g: 255, b: 255 }, ink: { r: 0, g: 0, b: 0 }, link: { r: 0, g: 0, b: 238 } };

/** The inversion of a client, or null: none. */
export const inversionOf = (kind) => (kind === 'partial' || kind === 'full' ? new Inversion(kind) : null);

class Inversion {
  #known = new Map();

  constructor(kind) {
    this.kind = kind;
  }

  #colour(colour, role) {
    const mode = this.kind === 'full' ? 'full' : role;
    const key = `${mode} ${colour.r} ${colour.g} ${colour.b}`;
    if (!this.#known.has(key)) this.#known.set(key, invertColour(colour, mode));
    const { r, g, b } = this.#known.get(key);
    return r === colour.r && g === colour.g && b === colour.b ? colour : { r, g, b, alpha: colour.alpha };
  }

  /** A value of CSS. */
  value(property, value) {
    const name = property.toLowerCase();
    if (!COLOURED.test(name)) return value;
    const role = GROUND.test(name) ? 'background' : 'text';
    return replaceColours(value, (colour) => this.#colour(colour, role));
  }

  /** An attribute of an element. */
  attribute(name, value) {
    const role = ATTRIBUTES.get(name);
    const colour = role === undefined ? null : readColour(/^[0-9a-f]{6}$/i.test(value.trim()) ? `#${value.trim()}` : value);
    if (!colour) return value;
    const changed = this.#colour(colour, role);
    return changed === colour ? value : writeColour(changed);
  }

  /** The style sheet of the page. Its rules have no specificity, so that those of the mail outrank it. */
  get page() {
    const [ground, ink, link] = [this.#colour(UA.ground, 'background'), this.#colour(UA.ink, 'text'), this.#colour(UA.link, 'text')].map((colour) => writeColour(colour));
    return `:where(html){background-color:${ground};color:${ink}}:where(a[href]){color:${link}}`;
  }
}
