// Shapes of VML as Word draws them: rectangles, rounded and not, and ovals become boxes with the size, the fill and the outline of the
// shape. They keep their names, which a browser does not know. What is absolute, turned or a gradient is not drawn.

import { parseCssLeniently as parseLeniently } from '#libraries/html';

import { attribute, isElement, newElement } from '../../html/document.mjs';
import { readColour, writeColour } from './colours.mjs';

const SHAPES = new Set(['v:rect', 'v:roundrect', 'v:oval']);
const OFFICE = /^[ovw]:/;
const LENGTH = /^(\d{1,5}(?:\.\d{1,4})?|\.\d{1,4})(px|pt|in|cm|mm|%)?$/;
const PX = { px: 1, pt: 4 / 3, in: 96, cm: 96 / 2.54, mm: 96 / 25.4 };
const ANCHORS = { middle: 'center', 'middle-center': 'center', bottom: 'flex-end', 'bottom-center': 'flex-end' };
/** Left, top, right and bottom of a text box that does not say. */
const INSET = ['7.2pt', '3.6pt', '7.2pt', '3.6pt'];
const OUTLINE = { colour: '#000000', weight: '0.75pt' };
const CORNER = 0.2; // of the shorter side

export const isShape = (element) => SHAPES.has(element.tagName);
const isOff = (value) => /^(?:f|false|0)$/i.test(value?.trim() ?? '');

const stylesOf = (element) => new Map(parseLeniently(attribute(element, 'style') ?? '').nodes
  .filter(({ type }) => type === 'decl').map(({ prop, value }) => [prop.toLowerCase(), value.trim().toLowerCase()]));

/** A length of VML in CSS, or null. A number alone is in pixels. */
function lengthOf(text) {
  const found = LENGTH.exec(text?.trim().toLowerCase() ?? '');
  return found && `${found[1]}${found[2] ?? 'px'}`;
}

function pixelsOf(length) {
  const found = LENGTH.exec(length ?? '');
  return found && PX[found[2]] ? Number.parseFloat(found[1]) * PX[found[2]] : Infinity;
}

/** The element of Office with this name in a shape. Elements without an end tag hold what follows them, so it may be deep. */
function partOf(shape, name) {
  const open = [shape];
  while (open.length > 0) {
    for (const child of open.pop().childNodes) {
      if (!isElement(child) || !OFFICE.test(child.tagName) || isShape(child)) continue;
      if (child.tagName === name) return child;
      open.push(child);
    }
  }
  return null;
}

/** A share such as 10%, 0.1 or 6554f, which is of 65,536. */
function shareOf(text) {
  const found = /^(\d{0,6}(?:\.\d{1,6})?)([%f]?)$/.exec(text?.trim() ?? '');
  const number = Number.parseFloat(found?.[1]);
  if (!Number.isFinite(number)) return null;
  return Math.min(0.5, number / { '': 1, '%': 100, f: 65536 }[found[2]]);
}

class Shape {
  /** @param {(property: string, value: string) => string} invert */
  constructor(element, invert) {
    this.element = element;
    this.invert = invert;
    this.styles = stylesOf(element);
    this.fill = partOf(element, 'v:fill');
    this.stroke = partOf(element, 'v:stroke');
    this.textBox = partOf(element, 'v:textbox');
  }

  /** The first of the attributes that is a colour, or the other one. */
  #colour(property, texts, otherwise) {
    const found = texts.map((text) => readColour(text?.trim().split(/\s/)[0] ?? '')).find(Boolean);
    return this.invert(property, found ? writeColour(found) : otherwise);
  }

  #width() {
    const share = Number.parseFloat(this.styles.get('mso-width-percent'));
    return share > 0 && share <= 1000 ? `${share / 10}%` : lengthOf(this.styles.get('width'));
  }

  #size() {
    const [width, height] = [this.#width(), lengthOf(this.styles.get('height'))];
    const grows = this.textBox && stylesOf(this.textBox).get('mso-fit-shape-to-text') === 'true';
    return [width && ['width', width], height && [grows ? 'min-height' : 'height', height], ...this.#corners(width, height)];
  }

  #corners(width, height) {
    if (this.element.tagName === 'v:oval') return [['border-radius', '50%']];
    if (this.element.tagName !== 'v:roundrect') return [];
    const shorter = Math.min(pixelsOf(width), pixelsOf(height));
    if (!Number.isFinite(shorter)) return [];
    const share = shareOf(attribute(this.element, 'arcsize')) ?? CORNER;
    return [['border-radius', `${Math.round(shorter * share * 100) / 100}px`]];
  }

  #ground() {
    const own = (name) => attribute(this.element, name);
    if (isOff(own('filled')) || isOff(own('fill')) || (this.fill && isOff(attribute(this.fill, 'on')))) return [];
    const colours = [this.fill && attribute(this.fill, 'color'), own('fillcolor')];
    return [['background-color', this.#colour('background-color', colours, '#ffffff')], ...this.#picture()];
  }

  #picture() {
    const source = this.fill && attribute(this.fill, 'src');
    const type = (this.fill && attribute(this.fill, 'type')?.toLowerCase()) ?? 'solid';
    if (!source || (type !== 'tile' && type !== 'frame')) return [];
    const size = (attribute(this.fill, 'size') ?? '').split(',').map(lengthOf);
    const stretched = { atleast: 'cover', atmost: 'contain' }[attribute(this.fill, 'aspect')?.toLowerCase()] ?? '100% 100%';
    const address = source.trim().replace(/["\\\s<>]/g, encodeURIComponent);
    return [['background-image', `url("${address}")`], ['background-repeat', type === 'tile' ? 'repeat' : 'no-repeat'],
      ['background-size', size.length === 2 && size.every(Boolean) ? size.join(' ') : type === 'frame' ? stretched : 'auto']];
  }

  #outline() {
    const own = (name) => attribute(this.element, name);
    if (isOff(own('stroked')) || isOff(own('stroke')) || (this.stroke && isOff(attribute(this.stroke, 'on')))) return [['border', '0']];
    const colour = this.#colour('border-color', [this.stroke && attribute(this.stroke, 'color'), own('strokecolor')], OUTLINE.colour);
    const weight = lengthOf((this.stroke && attribute(this.stroke, 'weight')) ?? own('strokeweight')) ?? OUTLINE.weight;
    return [['border', `${weight} solid ${colour}`]];
  }

  #inset() {
    const given = ((this.textBox && attribute(this.textBox, 'inset')) ?? '').split(',').map(lengthOf);
    const [left, top, right, bottom] = INSET.map((otherwise, side) => given[side] ?? otherwise);
    return [['padding', `${top} ${right} ${bottom} ${left}`]];
  }

  /** The declarations of what Word draws. */
  declarations() {
    const anchor = ANCHORS[this.styles.get('v-text-anchor')] ?? 'flex-start';
    const box = [['display', 'inline-flex'], ['flex-direction', 'column'], ['justify-content', anchor], ['box-sizing', 'border-box'],
      ['overflow', 'hidden'], ['vertical-align', 'bottom'], ...this.#size(), ...this.#ground(), ...this.#outline(), ...this.#inset()];
    return box.filter(Boolean).map((pair) => pair.join(':')).join(';');
  }
}

/** The style of a shape, read before its parts are opened; `invert` changes the colours of CSS. */
export const styleOfShape = (element, invert) => new Shape(element, invert).declarations();

/** Makes the shape a box with one text box, which holds its content as lines. */
export function drawShape(element, style) {
  const text = newElement('v:textbox', [{ name: 'style', value: 'display:block' }], element);
  text.childNodes = element.childNodes;
  for (const child of text.childNodes) child.parentNode = text;
  element.attrs = [{ name: 'style', value: style }];
  element.childNodes = [text];
}
