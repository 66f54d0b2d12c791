// Measures what a page looks like. `measure` runs inside the browser, in a world of its own, whose objects scripts of the page cannot
// change. It looks at points of a grid: at each, the element on top gives the colour that is painted there. Lengths are CSS pixels.

/** The window in which a page is measured. */
export const VIEW = { width: 1280, height: 3200 };
/** Points of the grid are this far apart. */
const STEP = 20;

/* eslint-disable no-undef -- window, document and the DOM are those of the page */
export function measure(step) {
  const ELEMENTS_MAX = 4000;
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 1;
  const context = canvas.getContext('2d', { willReadFrequently: true });
  const known = new Map();
  /** [red, green, blue, alpha] of any CSS colour. */
  const rgba = (css) => {
    if (!known.has(css)) {
      context.clearRect(0, 0, 1, 1);
      context.fillStyle = '#000';
      context.fillStyle = css;
      context.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
      known.set(css, [r, g, b, a / 255]);
    }
    return known.get(css);
  };
  const over = (top, ground) => top.slice(0, 3).map((value, i) => Math.round(value * top[3] + ground[i] * (1 - top[3])));
  const hex = (colour) => `#${colour.slice(0, 3).map((value) => value.toString(16).padStart(2, '0')).join('')}`;
  const grounds = new Map();
  /** The colour behind an element, mixed over the colours behind its parents. */
  const groundOf = (element) => {
    if (element === null) return [255, 255, 255];
    if (!grounds.has(element)) {
      const own = rgba(getComputedStyle(element).backgroundColor);
      grounds.set(element, own[3] === 1 ? own.slice(0, 3) : over(own, groundOf(element.parentElement)));
    }
    return grounds.get(element);
  };
  const add = (map, key, value) => map.set(key, (map.get(key) ?? 0) + value);
  const areas = new Map();
  const height = Math.min(innerHeight, document.documentElement.scrollHeight);
  for (let y = step / 2; y < height; y += step) {
    for (let x = step / 2; x < innerWidth; x += step) {
      const element = document.elementFromPoint(x, y);
      if (element !== null && !/^(img|video|canvas|svg|picture|iframe)$/i.test(element.tagName)) add(areas, hex(groundOf(element)), 1);
    }
  }
  const texts = new Map();
  const links = new Map();
  const headingFonts = new Map();
  const bodyFonts = new Map();
  const sizes = new Map();
  let headingSize = 0;
  const buttons = [];
  const px = (value) => Number.parseFloat(value) || 0;
  const elements = [...document.body.querySelectorAll('*')].slice(0, ELEMENTS_MAX);
  for (const element of elements) {
    const style = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    if (box.width === 0 || box.height === 0 || style.visibility === 'hidden' || box.top > height) continue;
    const chars = [...element.childNodes].reduce((sum, node) => sum + (node.nodeType === 3 ? node.data.trim().length : 0), 0);
    const ground = groundOf(element);
    if (chars > 0) {
      const ink = hex(over(rgba(style.color), ground));
      const isHeading = /^h[1-3]$/i.test(element.tagName);
      const inLink = element.closest('a') !== null;
      add(inLink ? links : texts, `${ink} ${hex(ground)}`, chars);
      add(isHeading ? headingFonts : bodyFonts, style.fontFamily, chars);
      if (!isHeading) add(sizes, String(Math.round(px(style.fontSize))), chars);
      if (/^h1$/i.test(element.tagName)) headingSize = Math.max(headingSize, px(style.fontSize));
    }
    const padding = px(style.paddingLeft) + px(style.paddingRight);
    const own = rgba(style.backgroundColor);
    const isFilled = own[3] > 0.5 && hex(ground) !== hex(groundOf(element.parentElement));
    const border = px(style.borderTopWidth) > 0 && style.borderTopStyle !== 'none' ? hex(over(rgba(style.borderTopColor), ground)) : null;
    const isControl = element.matches('button, [role=button], input[type=submit], a');
    const isForm = element.matches('input, select, textarea') && !element.matches('input[type=submit]');
    const isSized = box.width >= 40 && box.width <= 480 && box.height >= 20 && box.height <= 100;
    const says = element.textContent.trim().length > 0 || element.matches('input[type=submit]');
    if (isControl && !isForm && isSized && says && padding >= 12 && (isFilled || border !== null) && buttons.length < 100) {
      buttons.push({ ground: isFilled ? hex(ground) : null, border, ink: hex(over(rgba(style.color), ground)), radius: px(style.borderTopLeftRadius),
        height: Math.round(box.height), area: Math.round(box.width * box.height) });
    }
  }
  const most = (map) => [...map].sort((a, b) => b[1] - a[1]).slice(0, 24);
  return { areas: most(areas), texts: most(texts), links: most(links), headingFonts: most(headingFonts).slice(0, 3), bodyFonts: most(bodyFonts).slice(0, 3),
    sizes: most(sizes).slice(0, 3), headingSize, buttons, page: hex(groundOf(document.body)) };
}
/* eslint-enable no-undef */

export const MEASURE = `(${measure.toString()})(${STEP})`;
