// HTML pipeline of an import: sanitizes HTML, inlines its styles for mail clients, and extracts text, links and images.
// The same input gives the same bytes.
//
//   source ─ mask templates ─ parse ─ filter tree ─ sanitize-html ─ inline ─ parse ─ filter attributes ─ put back ─ html
//
// The pipeline reads no file and uses no network.

import { serialize } from '#libraries/html';

import { attribute, findChild, isElement, isText, newElement, parseDocument, setAttribute, walk } from './document.mjs';
import { takeEmbeddedImages } from './embedded.mjs';
import { importFailed, tooLarge } from '../errors.mjs';
import { filterAttributes, filterDocument } from './filter.mjs';
import { inlineStyles } from './inline.mjs';
import { CLIP_WARNING_BYTES, LIMITS } from '../limits.mjs';
import { listImages } from './asset_addresses.mjs';
import { imageTexts } from './image_texts.mjs';
import { Report } from './report.mjs';
import { sanitize } from './sanitize.mjs';
import { heaviestParts, linksAndImages, showsSomething, titleOf } from './extract.mjs';
import { maskTemplates } from './template.mjs';
import { plainText, previewText } from './text.mjs';
import { KIND, ProtectedFragments } from './protected_fragments.mjs';

/** Doctypes that select a rendering mode (limited quirks, for images in table cells) are kept. Others become the HTML5 doctype. */
const KNOWN_DOCTYPE = /^-\/\/W3C\/\/DTD X?HTML [\w. ]{3,30}\/\/EN$/;
const KNOWN_DTD = /^(?:https?:\/\/www\.w3\.org\/TR\/[\w./-]{1,60})?$/;

/**
 * @param {{content: string, baseUrl?: string|null, warnings?: {code: string, message: string}[]}} source `warnings` come
 *   from the conversion of another format, such as MJML
 * @returns the result of a `prepare` request (see README.md)
 * @throws {import('../errors.mjs').RequestError}
 */
export function prepareHtml({ content, baseUrl = null, warnings = [] }) {
  if (content.length > LIMITS.contentChars) {
    throw tooLarge('source.content', `The content is longer than ${LIMITS.contentChars} characters.`);
  }
  const { source, images: embedded } = takeEmbeddedImages(readSource(content));
  const fragments = new ProtectedFragments(source);
  const report = new Report();
  for (const { code, message } of warnings) report.warn(code, message);
  const context = { fragments, report, baseUrl, embedded, conditionalTags: 0 };

  const raw = parseDocument(maskTemplates(source, fragments, report), fragments);
  const doctype = doctypeOf(raw.document);
  const styleTokens = filterDocument(raw, context);
  const safe = sanitize(checkSize(serialize(raw.document)), fragments);
  const inlined = checkSize(inlineStyles(safe, styleTokens, countElements(raw.document), context));

  const { document } = parseDocument(doctype + inlined, fragments);
  finish(document, context);
  return describe(document, doctype, context);
}

function checkSize(html) {
  if (html.length > LIMITS.htmlChars) throw importFailed('The content grows too large when it is prepared.');
  return html;
}

/** The content without lone surrogates, byte order mark and control characters (HTML Standard §13.2.3.5 allows none of them). */
function readSource(content) {
  return content.toWellFormed().replace(/^\ufeff/, '').replace(/[\u0000-\u0008\u000b\u000e-\u001f\u007f]/g, '');
}

/** The last changes to the tree: filters attributes again after juice, restores expressions, sets language and charset. */
function finish(document, { fragments, report, baseUrl }) {
  const html = findChild(document, 'html');
  // The report of the first filter has the counts, so this one is discarded.
  const again = { fragments, report: new Report(), baseUrl, conditionalTags: 0 };
  walk(html, (node) => {
    if (isText(node)) finishText(node, fragments, report);
    if (!isElement(node)) return;
    if (node.tagName !== 'meta') filterAttributes(node, again);
    for (const attr of node.attrs) attr.value = fragments.expand(attr.value);
  });
  filterAttributes(html, again);
  for (const attr of html.attrs) attr.value = fragments.expand(attr.value);
  // mjml writes `und`, which gives a screen reader no language.
  if ([null, '', 'und'].includes(attribute(html, 'lang'))) setAttribute(html, 'lang', 'en');
  const head = findChild(html, 'head');
  head.childNodes.unshift(newElement('meta', [{ name: 'charset', value: 'utf-8' }], head));
}

function finishText(node, fragments, report) {
  if (/\{\{|\{%/.test(node.value)) {
    report.warn('TEMPLATE_BROKEN', 'Some text looks like a template expression but is not closed; it is left as plain text.');
  }
  if (node.parentNode.tagName === 'title') node.value = fragments.expand(node.value);
}

function describe(document, doctype, { fragments, report, embedded }) {
  const html = findChild(document, 'html');
  const body = findChild(html, 'body');
  if (!showsSomething(body, fragments)) throw importFailed('The content has no text or image left after sanitizing.');

  const final = checkSize(putBack(doctype + serialize({ ...document, childNodes: withoutDoctype(document) }), fragments));
  const htmlBytes = Buffer.byteLength(final);
  if (htmlBytes > CLIP_WARNING_BYTES) {
    report.warn('GMAIL_CLIP', `The HTML is ${Math.round(htmlBytes / 1024)} KB and Gmail hides what follows about 102 KB. `
      + `Heaviest: ${heaviestParts(html, body, fragments)}.`);
  }
  const title = titleOf(html, fragments);
  const preview = previewText(body, fragments);
  const { links, images } = linksAndImages(html, fragments);
  const texts = imageTexts(body);
  const text = plainText(document, fragments); // modifies the tree, so it comes last
  const { outputs, tags } = fragments.usedExpressions();
  const assets = assetsOf(final, embedded);
  return {
    html: final, text, title, previewText: preview, links, images, imageTexts: texts, assets, slots: outputs, tags, report: report.toResult(htmlBytes),
  };
}

/** The image addresses of the finished document, and the base64 of the embedded images among them. */
function assetsOf(html, embedded) {
  const urls = listImages(html);
  const data = urls.filter((url) => embedded.has(url)).map((url) => [url, embedded.get(url)]);
  return { urls, embedded: Object.fromEntries(data) };
}

function withoutDoctype(document) {
  return document.childNodes.filter(({ nodeName }) => nodeName !== '#documentType');
}

/** Replaces each comment that holds a token by the fragment of the token. */
function putBack(html, fragments) {
  return html.replace(fragments.commentedTokens, (_, token) => {
    const { kind, value } = fragments.item(token);
    return kind === KIND.conditional || kind === KIND.style ? value.html : fragments.expandInHtmlText(token);
  });
}

function doctypeOf(document) {
  const node = document.childNodes.find(({ nodeName }) => nodeName === '#documentType');
  if (!node || !KNOWN_DOCTYPE.test(node.publicId) || !KNOWN_DTD.test(node.systemId)) return '<!DOCTYPE html>';
  const system = node.systemId ? ` "${node.systemId}"` : '';
  return `<!DOCTYPE html PUBLIC "${node.publicId}"${system}>`;
}

function countElements(document) {
  let count = 0;
  walk(document, (node) => {
    if (isElement(node)) count++;
  });
  return count;
}
