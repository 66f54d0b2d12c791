// Declarations of style attributes, and sizes of text in pixels. Each is linear in its text.

const PX_PER = { px: 1, pt: 4 / 3, pc: 16, in: 96, cm: 96 / 2.54, mm: 9.6 / 2.54, rem: 16 };
const KEYWORDS = { 'xx-small': 9, 'x-small': 10, small: 13, medium: 16, large: 18, 'x-large': 24, 'xx-large': 32 };
/** Of <font size>, from 1 on. */
const FONT_SIZES = [10, 13, 16, 18, 24, 32, 48];
const IMPORTANT = '!important';
const SIZE = /^(\d{0,6}(?:\.\d{1,6})?)(px|pt|pc|in|cm|mm|rem|em|%)$/;

/** The declarations of a style attribute in their order: [name, value] in lower case. Semicolons in quotes and parentheses do not end one. */
export function declarationsOf(style) {
  const declarations = [];
  let start = 0;
  let quote = '';
  let parens = 0;
  for (let i = 0; i <= style.length; i++) {
    const char = style[i];
    const isEnd = i === style.length || (char === ';' && quote === '' && parens === 0);
    if (isEnd) {
      addDeclaration(style.slice(start, i), declarations);
      start = i + 1;
    } else if (quote !== '') quote = char === quote ? '' : quote;
    else if (char === '"' || char === "'") quote = char;
    else if (char === '(') parens++;
    else if (char === ')') parens = Math.max(0, parens - 1);
  }
  return declarations;
}

function addDeclaration(text, declarations) {
  const colon = text.indexOf(':');
  if (colon < 0) return;
  const name = text.slice(0, colon).trim().toLowerCase();
  if (name !== '') declarations.push([name, text.slice(colon + 1).trim().toLowerCase()]);
}

const withoutImportant = (value) => (value.endsWith(IMPORTANT) ? value.slice(0, -IMPORTANT.length).trimEnd() : value);

/** Reads style attributes and keeps those that it has read: emails repeat them. */
export class Styles {
  #read = new Map();

  /** {declarations, values: Map of the last value by name, without !important} */
  of(style) {
    let read = this.#read.get(style);
    if (read === undefined) {
      const declarations = declarationsOf(style);
      read = { declarations, values: new Map(declarations.map(([name, value]) => [name, withoutImportant(value)])) };
      this.#read.set(style, read);
    }
    return read;
  }
}

function sizeOf(value, inherited) {
  if (Object.hasOwn(KEYWORDS, value)) return KEYWORDS[value];
  if (value === '0') return 0;
  const [, number, unit] = SIZE.exec(value) ?? [];
  if (unit === undefined || number === '') return inherited;
  if (unit === 'em') return Number(number) * inherited;
  return unit === '%' ? (Number(number) / 100) * inherited : Number(number) * PX_PER[unit];
}

/** The size of the text of an element in pixels. `values` are those of its style; `inherited` is the size around it. */
export function textSize(element, values, inherited) {
  const font = values.get('font');
  const inFont = font?.split(/[\s/]+/).find((part) => SIZE.test(part) || Object.hasOwn(KEYWORDS, part));
  const size = values.get('font-size') ?? inFont;
  if (size !== undefined) return sizeOf(size, inherited);
  if (element.tagName === 'small') return inherited * (13 / 16);
  const ofFont = element.tagName === 'font' ? /^[1-7]$/.exec(element.attrs.find(({ name }) => name === 'size')?.value.trim() ?? '') : null;
  return ofFont ? FONT_SIZES[Number(ofFont[0]) - 1] : inherited;
}

/** True when the element shows nothing. */
export function hides(values) {
  return values.get('display') === 'none' || values.get('visibility') === 'hidden' || /^0(?:px|%|em)?$/.test(values.get('max-height') ?? '')
    || /^0(?:\.0+)?$/.test(values.get('opacity') ?? '');
}
