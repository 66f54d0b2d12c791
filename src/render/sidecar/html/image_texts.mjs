// What a finished document says about its images: the alternative text of each, the heading above it, and the first text after it, which
// in most emails is its caption or the name of the product. Searches of images use these texts.

import { attribute, isElement, isText, walk } from './document.mjs';
import { isHidden } from './text.mjs';

const MAX_IMAGES = 100; // as many as an import hosts
const MAX_CHARS = 200;
const READ_CHARS = 2000; // of a source, with its white space and merge tags
const HEADINGS = /^h[1-6]$/;
const BLOCKS = /^(?:p|div|td|th|li|h[1-6]|figcaption|blockquote|section|article|center|body)$/;
const EXPRESSIONS = /\{\{.*?\}\}|\{%.*?%\}/gs;

const fold = (text) => [...text.slice(0, READ_CHARS).toWellFormed().replace(EXPRESSIONS, ' ').replace(/\s+/g, ' ').trim()].slice(0, MAX_CHARS).join('');

/** The nearest element around a text that begins on a line of its own. */
function blockOf(node) {
  let block = node.parentNode;
  while (block.parentNode && !BLOCKS.test(block.tagName ?? '')) block = block.parentNode;
  return block;
}

/** A text that is collected from the text nodes of one block. */
class BlockText {
  #block = null;
  text = '';

  /** False: the text node belongs to another block than those before it. */
  add(block, text) {
    this.#block ??= block;
    if (block !== this.#block) return false;
    if (this.text.length < READ_CHARS) this.text += text.slice(0, READ_CHARS);
    return true;
  }
}

/** @returns {Record<string, {alt: string, heading: string, beside: string}>} by address; an image without any text is not in it */
export function imageTexts(body) {
  const images = new Map();
  let heading = new BlockText();
  let beside = null; // of the last image
  const addText = (node) => {
    const block = blockOf(node);
    if (HEADINGS.test(block.tagName) && !heading.add(block, node.value)) {
      heading = new BlockText();
      heading.add(block, node.value);
    }
    if (beside !== null && !beside.add(block, node.value)) beside = null;
  };
  walk(body, (node) => {
    if (isText(node) && node.value.trim() !== '') addText(node);
    if (!isElement(node)) return true;
    if (isHidden(node)) return false;
    const src = node.tagName === 'img' ? attribute(node, 'src') : null;
    if (src === null || images.size === MAX_IMAGES) return true;
    beside = new BlockText();
    if (!images.has(src)) images.set(src, { alt: fold(attribute(node, 'alt') ?? ''), heading: heading.text, beside });
    return true;
  });
  const texts = [...images].map(([src, image]) => [src, { alt: image.alt, heading: fold(image.heading), beside: fold(image.beside.text) }]);
  return Object.fromEntries(texts.filter(([, { alt, heading: above, beside: after }]) => alt || above || after));
}
