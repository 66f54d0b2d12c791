// Texts of websites: texts of elements as a reader sees them. Everything from a website is data: it is bounded
// here, and merge tags in it are removed, because brands are used in templates.

import { attribute, isElement, isText } from '../html/document.mjs';

const HIDDEN = new Set(['script', 'style', 'template', 'noscript', 'svg', 'iframe', 'object', 'head', 'select', 'textarea']);
const BLOCKS = new Set(['address', 'article', 'aside', 'blockquote', 'body', 'br', 'dd', 'div', 'dl', 'dt', 'fieldset', 'figcaption', 'figure',
  'footer', 'form', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'header', 'hr', 'li', 'main', 'nav', 'ol', 'p', 'pre', 'section', 'table', 'td', 'th',
  'tr', 'ul', 'button']);

/** One line of at most `most` characters, without control characters and merge tags; null when nothing is left. */
export function line(text, most) {
  if (typeof text !== 'string') return null;
  const flat = text.slice(0, most * 8).toWellFormed().replace(/\{\{|\}\}|\{%|%\}/g, ' ').replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim();
  const cut = [...flat].length <= most ? flat : cutAtWord([...flat].slice(0, most - 1).join(''));
  return cut === '' ? null : cut;
}

function cutAtWord(text) {
  const space = text.lastIndexOf(' ');
  return `${(space > text.length / 2 ? text.slice(0, space) : text).replace(/[\s,;:–-]+$/, '')}…`;
}

const HIDING_STYLE = /display\s*:\s*none|visibility\s*:\s*hidden/i;

export function isHidden(element) {
  return HIDDEN.has(element.tagName) || attribute(element, 'hidden') !== null || HIDING_STYLE.test(attribute(element, 'style') ?? '');
}

/** The texts of the blocks of a tree, in document order. */
export function blockTexts(root) {
  const blocks = [];
  let current = '';
  const end = () => {
    const text = current.replace(/\s+/g, ' ').trim();
    if (text !== '') blocks.push(text);
    current = '';
  };
  const visit = (node) => {
    for (const child of node.childNodes ?? []) {
      if (isText(child)) current += child.value;
      else if (isElement(child) && !isHidden(child)) visitElement(child);
    }
  };
  const visitElement = (element) => {
    const isBlock = BLOCKS.has(element.tagName);
    if (isBlock) end();
    visit(element);
    if (isBlock) end();
  };
  visit(root);
  end();
  return blocks;
}

export const textOf = (element) => blockTexts(element).join(' ');
