// Opens a web page for its readers (page/read_page.mjs, site/read_page.mjs): its text in the right charset, its tree, the address that
// its links are relative to, and its meta elements. Scripts do not run.

import { attribute, isElement, isText, parsePage, walk } from '../html/document.mjs';
import { decodeText } from './decode.mjs';

/**
 * @param {Buffer} bytes
 * @param {{url: string, contentType?: string|null}} source
 * @returns {{document: object, base: string, meta: Map<string, string>}} the contents of meta elements by name or property in lower
 *   case; the first of each counts
 */
export function openPage(bytes, { url, contentType = null }) {
  const document = parsePage(decodeText(bytes, contentType));
  const meta = new Map();
  let base = null;
  walk(document, (node) => {
    if (!isElement(node)) return;
    if (node.tagName === 'base') base ??= webAddress(attribute(node, 'href'), url);
    const content = node.tagName === 'meta' ? attribute(node, 'content') : null;
    const name = (attribute(node, 'property') ?? attribute(node, 'name') ?? '').toLowerCase();
    if (content !== null && name !== '' && !meta.has(name)) meta.set(name, content);
  });
  return { document, base: base ?? url, meta };
}

/** The absolute form of an http or https address, or null. */
export function webAddress(text, base) {
  try {
    const url = typeof text === 'string' ? new URL(text, base) : null;
    return url !== null && ['http:', 'https:'].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

/** The JSON-LD that an element has, as text; null: it is no script with JSON-LD. */
export function jsonLdOf(element) {
  if (element.tagName !== 'script' || !/ld\+json/i.test(attribute(element, 'type') ?? '')) return null;
  return element.childNodes.filter(isText).map(({ value }) => value).join('');
}
