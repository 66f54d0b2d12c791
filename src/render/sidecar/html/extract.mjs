// Extracts data from a finished document: the title, the links and images in document order, and the largest parts for
// the warning about the size.

import { serializeOuter } from '#libraries/html';

import { attribute, findChild, isComment, isElement, isText, walk } from './document.mjs';
import { textOf } from './text.mjs';
import { KIND } from './protected_fragments.mjs';

const TITLE_CHARS = 300;
const LINK_TEXT_CHARS = 200;
const HEADINGS = /^h[1-6]$/;

/** The <title>, else the first heading, else null. */
export function titleOf(html, fragments) {
  const title = findChild(findChild(html, 'head'), 'title');
  const named = title ? clip(fragments.expand(textOf(title, fragments)), TITLE_CHARS) : '';
  if (named) return named;
  let heading = '';
  walk(findChild(html, 'body'), (node) => {
    if (heading === '' && isElement(node) && HEADINGS.test(node.tagName)) {
      heading = clip(fragments.expand(textOf(node, fragments)), TITLE_CHARS);
    }
    return heading === '';
  });
  return heading || null;
}

/** Links and images in document order. Those inside a conditional comment, for Outlook only, have `conditional: true`. */
export function linksAndImages(html, fragments) {
  const links = [];
  const images = [];
  const addLink = (href, text, extra) => links.push({ index: links.length, href, text: clip(text, LINK_TEXT_CHARS), ...extra });
  walk(html, (node) => {
    if (isComment(node) && fragments.isToken(node.data)) {
      const { kind, value } = fragments.item(node.data);
      if (kind !== KIND.conditional) return;
      for (const { href, text } of value.links) addLink(href, fold(text), { conditional: true });
      for (const image of value.images) images.push({ ...image, conditional: true });
    } else if (isElement(node)) {
      const href = attribute(node, 'href');
      if (href !== null) addLink(href, fragments.expand(textOf(node, fragments)) || altTextOf(node));
      if (node.tagName === 'img') images.push({ src: attribute(node, 'src'), alt: attribute(node, 'alt') });
    }
  });
  return { links, images };
}

/** True when the body has visible content: text, an output expression or an image. */
export function showsSomething(body, fragments) {
  let shows = false;
  walk(body, (node) => {
    if (isText(node)) shows ||= node.value.trim() !== '';
    else if (isComment(node)) shows ||= fragments.isToken(node.data) && fragments.item(node.data).kind === KIND.output;
    else if (isElement(node)) shows ||= node.tagName === 'img' || attribute(node, 'background') !== null;
    return !shows;
  });
  return shows;
}

/** The largest parts of a document as text, largest first: "style attributes 61 KB, the part “Spring” 20 KB". */
export function heaviestParts(html, body, fragments) {
  const bytes = (text) => Buffer.byteLength(text);
  let styles = 0;
  let sheets = 0;
  let conditionals = 0;
  walk(html, (node) => {
    if (isElement(node)) styles += bytes(attribute(node, 'style') ?? '');
    else if (isComment(node) && fragments.isToken(node.data)) {
      const { kind, value } = fragments.item(node.data);
      if (kind === KIND.style) sheets += bytes(value.html);
      if (kind === KIND.conditional) conditionals += bytes(value.html);
    }
  });
  const parts = [['style attributes', styles], ['<style> sheets', sheets], ['conditional comments', conditionals]];
  for (const section of sections(body)) {
    const label = clip(fragments.expand(textOf(section, fragments)), 30);
    parts.push([label ? `the part “${label}”` : `a part without text (<${section.tagName}>)`, bytes(serializeOuter(section))]);
  }
  return parts.filter(([, size]) => size >= 2048).sort((a, b) => b[1] - a[1]).slice(0, 4)
    .map(([name, size]) => `${name} ${Math.round(size / 1024)} KB`).join(', ');
}

/** The sections of the body: the child elements of the first element, from the body down, that does not have exactly one. */
function sections(body) {
  let level = body;
  for (;;) {
    const children = level.childNodes.filter(isElement);
    const largest = children.length === 1 ? children[0] : null;
    if (largest === null) return children;
    level = largest;
  }
}

function altTextOf(element) {
  const alts = [];
  walk(element, (node) => {
    if (isElement(node) && node.tagName === 'img') alts.push(attribute(node, 'alt') ?? '');
  });
  return fold(alts.join(' '));
}

function fold(text) {
  return text.replace(/\s+/g, ' ').trim();
}

/** At most `max` characters. A surrogate pair is never split. */
function clip(text, max) {
  return text.length <= max ? text : `${[...text.slice(0, max * 2)].slice(0, max - 1).join('')}…`;
}
