// Reads a web page: its title and description, its main text, the products and events that it declares, and its pictures. Scripts do
// not run. README.md of this folder describes the result.

import { attribute, findChild, isElement, isText, walk } from '../html/document.mjs';
import { importFailed } from '../errors.mjs';
import { readDeclared } from './declared.mjs';
import { isBinary } from './decode.mjs';
import { jsonLdOf, openPage, webAddress } from './open_page.mjs';

const TEXT_CHARS = 40_000;
const LINE_CHARS = 500;
const PICTURES = 12;
const SMALL_PIXELS = 120;

const BLOCKS = new Set(['p', 'li', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'blockquote', 'td', 'th', 'div', 'section', 'article', 'main',
  'figcaption', 'dd', 'dt', 'pre', 'br', 'tr', 'ul', 'ol', 'table', 'address']);
const SKIPPED = new Set(['script', 'style', 'noscript', 'template', 'svg', 'nav', 'header', 'footer', 'aside', 'form', 'button', 'select',
  'iframe', 'dialog', 'object', 'canvas', 'video', 'audio']);

const fold = (text) => text.replace(/\s+/g, ' ').trim();
const clip = (text) => (text === null ? null : [...fold(text)].slice(0, LINE_CHARS).join('') || null);

function isHidden(element) {
  return attribute(element, 'hidden') !== null || attribute(element, 'aria-hidden') === 'true'
    || /display\s*:\s*none/i.test(attribute(element, 'style') ?? '');
}

function readHead(document) {
  const scripts = [];
  let title = null;
  let canonical = null;
  walk(document, (node) => {
    if (!isElement(node)) return;
    if (node.tagName === 'title' && title === null && node.parentNode?.tagName === 'head') title = textOf(node);
    if (node.tagName === 'link' && attribute(node, 'rel') === 'canonical') canonical ??= attribute(node, 'href');
    const script = jsonLdOf(node);
    if (script !== null) scripts.push(script);
  });
  return { scripts, title, canonical };
}

function textOf(node) {
  let text = '';
  walk(node, (inner) => {
    if (isText(inner)) text += inner.value;
    return true;
  });
  return text;
}

/** The element with the main text: main, else the only article, else the body. */
function mainOf(document) {
  const found = { main: [], article: [] };
  walk(document, (node) => {
    if (isElement(node)) found[node.tagName]?.push(node);
    return true;
  });
  if (found.main.length > 0) return found.main[0];
  const html = findChild(document, 'html');
  return found.article.length === 1 ? found.article[0] : findChild(html, 'body') ?? html;
}

/** The paragraphs of an element, with empty lines between them. */
function mainText(root) {
  const lines = [];
  let line = '';
  let size = 0;
  const end = () => {
    const text = fold(line);
    if (text) lines.push(text);
    size += text.length;
    line = '';
  };
  const visit = (node) => {
    if (isText(node)) line += node.value;
    if (!isElement(node)) return;
    if (size > TEXT_CHARS || SKIPPED.has(node.tagName) || isHidden(node)) return;
    const isBlock = BLOCKS.has(node.tagName);
    if (isBlock) end();
    node.childNodes.forEach(visit);
    if (isBlock) end();
  };
  root.childNodes.forEach(visit);
  end();
  return lines.join('\n\n').slice(0, TEXT_CHARS).toWellFormed();
}

/** An address that tracks or decorates is no picture of the page's content. */
function isLarge(element) {
  return ['width', 'height'].every((name) => !(Number(attribute(element, name) ?? SMALL_PIXELS) < SMALL_PIXELS));
}

function readPictures(root, meta, base) {
  const pictures = new Map();
  const add = (source, alt) => {
    const src = source ? webAddress(source, base) : null;
    if (src !== null && pictures.size < PICTURES && !pictures.has(src)) pictures.set(src, { src, alt: clip(alt ?? '') ?? '' });
  };
  add(meta.get('og:image:secure_url') ?? meta.get('og:image') ?? meta.get('twitter:image'), meta.get('og:image:alt'));
  walk(root, (node) => {
    if (isElement(node) && SKIPPED.has(node.tagName)) return false;
    if (isElement(node) && node.tagName === 'img' && isLarge(node)) {
      add(attribute(node, 'src') ?? attribute(node, 'data-src'), attribute(node, 'alt'));
    }
    return true;
  });
  return [...pictures.values()];
}

function firstHeading(root) {
  let heading = null;
  walk(root, (node) => {
    if (heading === null && isElement(node) && node.tagName === 'h1') heading = textOf(node);
    return heading === null;
  });
  return heading;
}

/** @param {{content: string, baseUrl: string}} request the bytes in base64, and the address of the page */
export function readPage({ content, baseUrl }) {
  const bytes = Buffer.from(content, 'base64');
  if (isBinary(bytes)) throw importFailed('The page is not a text.');
  const { document, base, meta } = openPage(bytes, { url: baseUrl });
  const head = readHead(document);
  const root = mainOf(document);
  const page = {
    title: clip(meta.get('og:title') || firstHeading(root) || head.title || null),
    description: clip(meta.get('og:description') || meta.get('description') || null),
    siteName: clip(meta.get('og:site_name') ?? null),
    language: attribute(findChild(document, 'html'), 'lang') || null,
    canonical: head.canonical === null ? null : webAddress(head.canonical, base),
    text: mainText(root),
    ...readDeclared(head.scripts, base),
    pictures: readPictures(root, meta, base),
  };
  if (page.title === null && page.text === '') throw importFailed('The page has no text.');
  return page;
}
