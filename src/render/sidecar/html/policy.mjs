// Sanitizer policy: the allow-lists of elements and attributes, and cleanAttribute, which checks one attribute. The tree
// filter, the filter for conditional comments and the configuration of sanitize-html use it.

import { cleanStyleAttribute } from './css.mjs';
import { cleanUrl } from './url.mjs';

const words = (text) => text.trim().split(/\s+/);

export const ELEMENTS = new Set(words(`
  html head body title meta
  table caption colgroup col thead tbody tfoot tr th td
  div span p br hr wbr center font basefont
  h1 h2 h3 h4 h5 h6 hgroup header footer main section article aside nav address figure figcaption
  ul ol li dl dt dd dir menu
  a img map area
  b strong i em u s strike del ins small big sub sup tt code kbd samp var pre blockquote q cite abbr acronym dfn
  mark time bdi bdo nobr ruby rt rp
`));

/** Elements that are removed with their content. Other elements that are not allowed lose only their tags. */
export const DROPPED_WITH_CONTENT = new Set(words(`
  script noscript template iframe frame frameset noframes object embed applet param svg math canvas
  style link base input button select option optgroup textarea datalist output progress meter keygen
  audio source track noembed xmp listing plaintext
`));

export const ATTRIBUTES = new Set(words(`
  style class id title lang dir role name hidden
  align valign bgcolor background width height cellpadding cellspacing border bordercolor nowrap rules frame
  colspan rowspan scope headers abbr axis summary char charoff span
  color face size hspace vspace clear noshade compact start type value reversed datetime
  href target rel src alt usemap shape coords
  text link vlink alink topmargin leftmargin rightmargin bottommargin marginwidth marginheight
  xml:lang
`));
export const ATTRIBUTE_PREFIXES = ['aria-', 'data-'];

const XML_NAMESPACES = new Set([
  'http://www.w3.org/1999/xhtml', 'urn:schemas-microsoft-com:vml', 'urn:schemas-microsoft-com:office:office',
  'urn:schemas-microsoft-com:office:word',
]);
const META_NAMES = new Set(words(`
  viewport color-scheme supported-color-schemes format-detection x-apple-disable-message-reformatting
  author description robots
`));
const URL_ATTRIBUTES = new Map([
  ['href', { use: 'link', on: new Set(['a', 'area']) }],
  ['src', { use: 'image', on: new Set(['img']) }],
  ['background', { use: 'image', on: new Set(words('body table thead tbody tfoot tr td th')) }],
]);
const INTEGER_ATTRIBUTES = new Set(['colspan', 'rowspan', 'span']);

/** True for an attribute name that is allowed on at least one element. */
export function isKnownAttribute(name) {
  return ATTRIBUTES.has(name) || ATTRIBUTE_PREFIXES.some((prefix) => name.startsWith(prefix) && /^[a-z0-9-]{1,60}$/.test(name));
}

/**
 * Checks one attribute of an allowed element.
 * @returns {string|null} the value to keep, or null to remove the attribute; most removals are counted in the report
 */
export function cleanAttribute(tagName, name, value, context) {
  if (name.startsWith('on')) return refuse('event handler', context);
  if (context.fragments.hasTemplate(name)) return refuseTemplateInTag(context);
  if (name === 'xmlns' || name.startsWith('xmlns:')) return cleanNamespace(tagName, name, value);
  if (!isKnownAttribute(name)) return refuse(`attribute ${name}`, context);
  if (name === 'style') return cleanStyleAttribute(value, context);
  const url = URL_ATTRIBUTES.get(name);
  if (url) return url.on.has(tagName) ? cleanUrl(value, url.use, context) : refuse(`attribute ${name}`, context);
  if (name === 'usemap') return value.startsWith('#') ? value : refuse('attribute usemap', context);
  // Layout engines allocate memory by these numbers (HTML Standard §4.9.11 limits colspan to 1000).
  if (INTEGER_ATTRIBUTES.has(name)) return /^\s*\d{1,3}\s*$/.test(value) ? value.trim() : refuse(`attribute ${name}`, context);
  return value;
}

/** The attributes of a <meta> to keep, or null to remove the element. `finish` in prepare.mjs adds the charset. */
export function cleanMeta(attrs, context) {
  const value = (name) => attrs.find((attr) => attr.name === name)?.value ?? null;
  const equiv = value('http-equiv')?.trim().toLowerCase() ?? null;
  const content = value('content') ?? '';
  if (equiv === 'x-ua-compatible') return [{ name: 'http-equiv', value: 'X-UA-Compatible' }, { name: 'content', value: content }];
  if (value('charset') !== null || equiv === 'content-type') return null;
  const name = value('name')?.trim().toLowerCase();
  if (equiv === null && META_NAMES.has(name)) return [{ name: 'name', value: name }, { name: 'content', value: content }];
  context.report.removed(equiv === 'refresh' ? 'meta refresh' : 'meta');
  return null;
}

function cleanNamespace(tagName, name, value) {
  return tagName === 'html' && /^xmlns(:[vow])?$/.test(name) && XML_NAMESPACES.has(value) ? value : null;
}

function refuse(what, { report }) {
  report.removed(what);
  return null;
}

function refuseTemplateInTag({ report }) {
  report.warn('TEMPLATE_IN_TAG', 'A template expression inside a tag but outside an attribute value was removed.');
  report.removed('template in a tag');
  return null;
}
