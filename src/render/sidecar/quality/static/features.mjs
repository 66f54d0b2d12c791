// Finds the features of HTML, CSS and images that a mail uses, by the slugs of caniemail.com. What only Outlook reads, in conditional comments, does not
// count. Cost is linear: equal style attributes are read once.

import { parseCssLeniently as parseLeniently } from '#libraries/html';

import { attribute } from '../../html/document.mjs';
import { clientSupport } from '../client_support.mjs';

const CSS = 'css-';
/** Features of CSS that are no properties, and properties whose feature is one of their values. */
const NOT_PROPERTIES = /^css-(?:at-|pseudo-|selector-|unit-|function-|display-|comments$|important$|nesting$|variables$|modern-color$|rgba?$|intrinsic-size$|sytem-ui$|inert-|(?:linear|radial|conic)-gradient$|flex-(?:direction|wrap)$)/;
/** Features whose properties are their keywords. */
const BY_KEYWORDS = new Set(['css-block-inline-size', 'css-border', 'css-border-inline-block', 'css-border-inline-block-individual', 'css-border-inline-block-longhand',
  'css-border-radius-logical', 'css-column-layout-properties', 'css-grid-template', 'css-inset', 'css-margin', 'css-margin-block-start-end', 'css-margin-inline-block', 'css-margin-inline-start-end', 'css-overflow']);
const MORE_PROPERTIES = {
  'css-gap': ['gap', 'column-gap', 'row-gap'], 'css-left-right-top-bottom': ['left', 'right', 'top', 'bottom'], 'css-scroll-snap': ['scroll-snap-type', 'scroll-snap-align'],
  'css-padding': ['padding', 'padding-left', 'padding-right', 'padding-top', 'padding-bottom'], 'css-padding-inline-block': ['padding-inline', 'padding-block'],
  'css-padding-block-start-end': ['padding-block-start', 'padding-block-end'], 'css-padding-inline-start-end': ['padding-inline-start', 'padding-inline-end'],
  'css-animation': ['animation', 'animation-name', 'animation-duration'], 'css-transition': ['transition', 'transition-property', 'transition-duration'], 'css-mask-image': ['mask-image', 'mask'],
};
const BY_VALUE = {
  display: [[/^(?:inline-)?flex\b/, 'css-display-flex'], [/^(?:inline-)?grid\b/, 'css-display-grid'], [/^none\b/, 'css-display-none']],
  'flex-direction': [[/^column/, 'css-flex-direction']],
  'flex-wrap': [[/^wrap/, 'css-flex-wrap']],
  'font-family': [[/\b(?:system-ui|ui-(?:serif|sans-serif|rounded|monospace))\b/, 'css-sytem-ui']],
};
/** One pass finds functions, units and words of a value. A word and a number are each tried at their beginning only, so that the pass is linear. */
const IN_VALUE = /(?<![a-z-])([a-z-]+)\(|(?<![\w#.-])[+-]?(?:\d+(?:\.\d*)?|\.\d+)(ch|cm|em|ex|in|mm|pc|%|pt|px|rem|vh|vmax|vmin|vw)(?![\w-])|\b(initial|fit-content|min-content|max-content)\b|(!important)/g;
const FUNCTIONS = {
  calc: 'css-unit-calc', clamp: 'css-function-clamp', min: 'css-function-min', max: 'css-function-max', 'light-dark': 'css-function-light-dark', var: 'css-variables', rgb: 'css-rgb', rgba: 'css-rgba',
  lch: 'css-modern-color', oklch: 'css-modern-color', lab: 'css-modern-color', oklab: 'css-modern-color', 'linear-gradient': 'css-linear-gradient', 'radial-gradient': 'css-radial-gradient',
  'conic-gradient': 'css-conic-gradient',
};
const MEDIA = [[/prefers-color-scheme/, 'css-at-media-prefers-color-scheme'], [/prefers-reduced-motion/, 'css-at-media-prefers-reduced-motion'], [/\b(?:any-)?hover\b/, 'css-at-media-hover'],
  [/orientation/, 'css-at-media-orientation'], [/device-pixel-ratio/, 'css-at-media-device-pixel-ratio']];
const SELECTORS = [[/[\w\])*]\s*\+\s*[\w.#[:*]/, 'css-selector-adjacent-sibling'], [/[\w\])*]\s*~\s*[\w.#[:*]/, 'css-selector-general-sibling'], [/>/, 'css-selector-child'], [/\[/, 'css-selector-attribute'],
  [/[\w\])*]\s+[\w.#[:*]/, 'css-selector-descendant'], [/#[a-z_]/i, 'css-selector-id'], [/\.[a-z_]/i, 'css-selector-class'], [/(?:^|[\s>+~])\*/, 'css-selector-universal'],
  [/(?:^|[\s>+~])[a-z]/i, 'css-selector-type'], [/[\w\])][.#[]/, 'css-selector-chaining']];
const ELEMENTS = {
  'html-h1-h6': ['h1', 'h2', 'h3', 'h4', 'h5', 'h6'], 'html-lists': ['ul', 'ol', 'dl'], 'html-image-maps': ['map', 'area'], 'html-object': ['object', 'embed'],
  'html-semantics': ['article', 'aside', 'details', 'figcaption', 'figure', 'footer', 'header', 'main', 'mark', 'nav', 'section', 'summary', 'time'],
};
const ELEMENT_SLUGS = new Set(['abbr', 'acronym', 'address', 'audio', 'base', 'bdi', 'blockquote', 'code', 'del', 'dfn', 'dialog', 'div', 'form', 'hr', 'link', 'marquee', 'meter', 'p', 'picture', 'pre', 'progress',
  'rp', 'rt', 'ruby', 'select', 'small', 'span', 'strike', 'strong', 'style', 'svg', 'table', 'textarea', 'video', 'wbr']);
const ATTRIBUTES = {
  align: 'html-align', 'aria-describedby': 'html-aria-describedby', 'aria-hidden': 'html-aria-hidden', 'aria-label': 'html-aria-label', 'aria-labelledby': 'html-aria-labelledby', 'aria-live': 'html-aria-live',
  background: 'html-background', cellpadding: 'html-cellpadding', cellspacing: 'html-cellspacing', dir: 'html-dir', height: 'html-height', hidden: 'html-hidden', lang: 'html-lang', loading: 'html-loading-attribute',
  popover: 'html-popover', required: 'html-required', role: 'html-role', srcset: 'html-srcset', target: 'html-target', valign: 'html-valign', width: 'html-width',
};
const ENDINGS = { apng: 'apng', avif: 'avif', bmp: 'bmp', gif: 'gif', hdr: 'hdr', heic: 'heif', heif: 'heif', ico: 'ico', jpg: 'jpg', jpeg: 'jpg', mp4: 'mp4', png: 'png', svg: 'svg', tif: 'tiff', tiff: 'tiff', webp: 'webp' };

/** A property with such a value is switched off. */
const IS_OFF = /^(?:0(?:px|%)?|none|normal|auto|visible|static|inherit|initial|unset)(?: ?!important)?$/;

let properties = null;

function propertiesOf({ slug, keywords }) {
  if (MORE_PROPERTIES[slug]) return MORE_PROPERTIES[slug];
  return BY_KEYWORDS.has(slug) ? [slug.slice(CSS.length), ...keywords] : [slug.slice(CSS.length)];
}

/** Property → slugs. */
function propertyTable() {
  if (properties !== null) return properties;
  properties = new Map();
  for (const feature of clientSupport().values()) {
    if (!feature.slug.startsWith(CSS) || NOT_PROPERTIES.test(feature.slug)) continue;
    for (const name of propertiesOf(feature)) properties.set(name, [...(properties.get(name) ?? []), feature.slug]);
  }
  return properties;
}

/** The features that a mail uses: slug → the first use, {element, source}. */
class Features {
  found = new Map();
  #styles = new Set();

  constructor({ anchors }) {
    this.anchors = anchors;
  }

  add(slug, element, source) {
    if (slug !== undefined && !this.found.has(slug)) this.found.set(slug, { element, source });
  }

  declaration(name, value, element) {
    const source = `${name}: ${value}`;
    if (name.startsWith('--')) this.add('css-variables', element, source);
    for (const slug of IS_OFF.test(value) ? [] : propertyTable().get(name) ?? []) this.add(slug, element, source);
    for (const [pattern, slug] of Object.hasOwn(BY_VALUE, name) ? BY_VALUE[name] : []) if (pattern.test(value)) this.add(slug, element, source);
    for (const [, func, unit, word, important] of value.matchAll(IN_VALUE)) {
      if (func !== undefined) this.add(Object.hasOwn(FUNCTIONS, func) ? FUNCTIONS[func] : undefined, element, source);
      else if (unit !== undefined) this.add(unit === '%' ? 'css-unit-percent' : `css-unit-${unit}`, element, source);
      else if (important !== undefined) this.add('css-important', element, source);
      else this.add(word === 'initial' ? 'css-unit-initial' : 'css-intrinsic-size', element, source);
    }
  }

  style(element, styles) {
    const style = attribute(element, 'style');
    if (style === null || this.#styles.has(style)) return;
    this.#styles.add(style);
    for (const [name, value] of styles.of(style).declarations) this.declaration(name, value, element);
  }

  sheet({ element, css }) {
    parseLeniently(css).walk((node) => {
      if (node.type === 'decl') this.declaration(node.prop.toLowerCase(), `${node.value.toLowerCase()}${node.important ? ' !important' : ''}`, element);
      else if (node.type === 'atrule') this.#atRule(node.name.toLowerCase(), node.params.toLowerCase(), element);
      else if (node.type === 'rule' && !/keyframes$/.test(node.parent?.name ?? '')) this.#selector(node.selector, element);
    });
  }

  #atRule(name, params, element) {
    const source = `@${name} ${params}`;
    this.add(`css-at-${name.replace(/^-\w+-/, '')}`, element, source);
    if (name === 'media') for (const [pattern, slug] of MEDIA) if (pattern.test(params)) this.add(slug, element, source);
  }

  #selector(selector, element) {
    if (selector.length > 1000) return;
    if (selector.includes(',')) this.add('css-selector-grouping', element, selector);
    for (const [pattern, slug] of SELECTORS) if (pattern.test(selector)) this.add(slug, element, selector);
    for (const [, colons, name] of selector.toLowerCase().matchAll(/(::?)([a-z-]+)/g)) {
      const isElement = colons === '::' || ['before', 'after', 'first-letter', 'first-line'].includes(name);
      this.add(`css-pseudo-${isElement ? 'element' : 'class'}-${name}`, element, selector);
    }
  }

  element(element) {
    const { tagName } = element;
    if (ELEMENT_SLUGS.has(tagName)) this.add(`html-${tagName}`, element);
    for (const [slug, names] of Object.entries(ELEMENTS)) if (names.includes(tagName)) this.add(slug, element);
    for (const { name } of element.attrs) if (Object.hasOwn(ATTRIBUTES, name)) this.add(ATTRIBUTES[name], element);
    if (tagName === 'input' || tagName === 'button') this.add(`html-${tagName}-${(attribute(element, 'type') ?? (tagName === 'input' ? 'text' : 'submit')).toLowerCase()}`, element);
    if (tagName === 'a') this.#link(attribute(element, 'href') ?? '', element);
    if (tagName === 'meta' && attribute(element, 'name')?.toLowerCase() === 'color-scheme') this.add('html-meta-color-scheme', element);
  }

  #link(href, element) {
    if (/^#./.test(href) && this.anchors.has(href.slice(1))) this.add('html-anchor-links', element);
    if (/^mailto:/i.test(href)) this.add('html-mailto-links', element);
  }

  image({ element, src }) {
    const ending = /\.([a-z0-9]{2,4})(?:[?#]|$)/i.exec(src.slice(-200).replace(/^https?:\/\/[^/]*/i, ''))?.[1].toLowerCase();
    if (/^data:/i.test(src)) this.add('image-base64', element, src);
    else if (ending !== undefined && Object.hasOwn(ENDINGS, ending)) this.add(`image-${ENDINGS[ending]}`, element, src);
  }
}

/** The features of a mail that the data has, in the order of the data: [{feature, element, source}]; `source` may be absent. */
export function featuresOf(tree) {
  const features = new Features(tree);
  for (const element of tree.elements) {
    if (tree.hidden.has(element)) continue;
    features.element(element);
    features.style(element, tree.styles);
  }
  for (const sheet of tree.sheets) features.sheet(sheet);
  for (const image of tree.images) features.image(image);
  return [...clientSupport().values()].filter(({ slug }) => features.found.has(slug)).map((feature) => ({ feature, ...features.found.get(feature.slug) }));
}
