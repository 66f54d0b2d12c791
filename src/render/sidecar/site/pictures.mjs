// Pictures of a page: those that show something, with the words about them, and the candidates for the logo.

import { serializeOuter } from '#libraries/html';

import { attribute, isElement, walk } from '../html/document.mjs';
import { parseUrl } from './links.mjs';
import { line, textOf } from './texts.mjs';

const PICTURES_OF_PAGE = 40;
const LOGOS_OF_PAGE = 8;
const SMALLEST_PIXELS = 120;
const WIDEST_PIXELS = 1600;
const SVG_CHARS = 60_000;
const SVGS_OF_PAGE = 2;

/** The widest source of a srcset that is not wider than WIDEST_PIXELS; null without widths. */
function bestOf(srcset) {
  const sources = (srcset ?? '').split(/,\s+/).map((part) => part.trim().split(/\s+/))
    .map(([url, size]) => ({ url, width: /^\d+w$/.test(size ?? '') ? Number.parseInt(size, 10) : 0 }))
    .filter(({ width }) => width > 0 && width <= WIDEST_PIXELS);
  return sources.sort((a, b) => b.width - a.width)[0]?.url ?? null;
}

function sourceOf(image, base) {
  const address = bestOf(attribute(image, 'srcset')) ?? attribute(image, 'src') ?? attribute(image, 'data-src') ?? bestOf(attribute(image, 'data-srcset'));
  const url = address === null || /^data:/i.test(address) ? null : parseUrl(address, base);
  return url !== null && ['http:', 'https:'].includes(url.protocol) ? url.href : null;
}

const isSmall = (image) => ['width', 'height'].some((name) => {
  const value = attribute(image, name);
  return value !== null && /^\d+(px)?$/.test(value) && Number.parseInt(value, 10) < SMALLEST_PIXELS;
});

const namesOf = (element) => ['class', 'id', 'alt', 'src', 'aria-label', 'title'].map((name) => attribute(element, name) ?? '').join(' ').toLowerCase();
/** Logos of others: of payment, delivery, partners, applications. */
const FOREIGN = /paypal|visa|mastercard|klarna|amex|app-?store|google-?play|partner|client|customer|trust|badge|flag|avatar|payment/;

/** Visits the elements below `root` with the elements around them. */
function walkWithin(root, visit) {
  const around = [];
  const go = (node) => {
    for (const child of node.childNodes ?? []) {
      if (!isElement(child)) continue;
      visit(child, around);
      around.push(child);
      go(child);
      around.pop();
    }
  };
  go(root);
}

/** {url, alt, caption, heading} for each picture that is not an ornament, each address once. */
export function picturesOf(document, base) {
  const found = new Map();
  let heading = null;
  walkWithin(document, (element, around) => {
    if (/^h[1-4]$/.test(element.tagName)) heading = line(textOf(element), 200);
    if (element.tagName !== 'img' || isSmall(element) || found.size >= PICTURES_OF_PAGE) return;
    const url = sourceOf(element, base);
    if (url === null || /\.svg($|\?)/i.test(url) || /logo|icon|sprite|pixel/.test(namesOf(element)) || found.has(url)) return;
    const figure = around.findLast(({ tagName }) => tagName === 'figure');
    const isOrnament = attribute(element, 'alt') === '' && figure === undefined;
    found.set(url, { url, alt: line(attribute(element, 'alt'), 300), caption: figure === undefined ? null : captionOf(figure), heading, isOrnament });
  });
  return [...found.values()];
}

function captionOf(figure) {
  let caption = null;
  walk(figure, (node) => { if (isElement(node) && node.tagName === 'figcaption') caption ??= line(textOf(node), 300); });
  return caption;
}

/** How likely an element is the logo: by its words, the header around it, a link to the start page. */
function logoScore(element, around, base) {
  const words = namesOf(element);
  const outside = around.map(namesOf).join(' ');
  if (FOREIGN.test(words)) return 0;
  const inHeader = around.some((one) => one.tagName === 'header' || /(^|[ _-])(header|masthead|navbar|topbar)/.test(namesOf(one)));
  const link = around.findLast(({ tagName }) => tagName === 'a');
  const goesHome = link !== undefined && parseUrl(attribute(link, 'href'), base)?.pathname === '/';
  const isNamed = /logo|brand|wordmark/.test(words) || /logo|brand/.test(around.slice(-2).map(namesOf).join(' '));
  const inFooter = around.some(({ tagName }) => tagName === 'footer' || tagName === 'main') || /footer|client|partner/.test(outside);
  return (isNamed ? 4 : 0) + (inHeader ? 3 : 0) + (goesHome ? 3 : 0) - (inFooter ? 3 : 0);
}

/** Candidates for the logo, the best first: {url} or {svg}, with alt and score. */
export function logosOf(document, base) {
  const found = [];
  walkWithin(document, (element, around) => {
    if (element.tagName !== 'img' && element.tagName !== 'svg') return;
    const score = logoScore(element, around, base);
    if (score < 4) return;
    const alt = line(attribute(element, 'alt') ?? attribute(element, 'aria-label'), 120);
    if (element.tagName === 'img') {
      const url = sourceOf(element, base);
      if (url !== null) found.push({ url, alt, score });
    } else {
      const svg = serializeOuter(element);
      if (svg.length <= SVG_CHARS && !svg.includes('<use') && found.filter((one) => one.svg).length < SVGS_OF_PAGE) found.push({ svg, alt, score });
    }
  });
  return [...found.sort((a, b) => b.score - a.score), ...iconsOf(document, base)].slice(0, LOGOS_OF_PAGE);
}

/** Icons of the website, which stand in for a logo: drawn ones first, then the largest. */
function iconsOf(document, base) {
  const icons = [];
  walk(document, (node) => {
    if (!isElement(node) || node.tagName !== 'link') return;
    const rel = (attribute(node, 'rel') ?? '').toLowerCase();
    const url = parseUrl(attribute(node, 'href'), base);
    if (url === null || !['http:', 'https:'].includes(url.protocol) || !/icon/.test(rel) || /mask-icon/.test(rel)) return;
    const size = Number.parseInt(attribute(node, 'sizes') ?? '0', 10) || 0;
    const score = /svg/.test(attribute(node, 'type') ?? url.pathname) ? 3 : rel.includes('apple') ? 2 : 1 + Math.min(size, 512) / 1000;
    icons.push({ url: url.href, alt: null, score });
  });
  return icons.sort((a, b) => b.score - a.score);
}
