// An independent judge of prepared HTML: looks at it as a browser would (scripting on and off, read again after being
// serialized) and as Outlook would (conditional comments opened), and names everything that could run, submit, load a
// document or leave the allowed addresses. It shares no code or lists with the module under test.

import { createRequire } from 'node:module';

const require = createRequire(new URL('../../../src/render/sidecar/package.json', import.meta.url));
const { parse, serialize } = require('parse5');

const DANGEROUS = new Set(['script', 'iframe', 'frame', 'frameset', 'object', 'embed', 'applet', 'form', 'input', 'button',
  'select', 'option', 'textarea', 'svg', 'math', 'base', 'link', 'template', 'noscript', 'noembed', 'noframes', 'xmp',
  'plaintext', 'listing', 'portal', 'audio', 'video', 'source', 'track', 'canvas', 'dialog', 'slot', 'param']);
const CARRIES_URL = new Set(['href', 'src', 'background', 'action', 'formaction', 'xlink:href', 'poster', 'data', 'cite',
  'longdesc', 'lowsrc', 'dynsrc', 'srcset', 'manifest', 'ping', 'o:href', 'o:src', 'codebase', 'usemap', 'profile']);
const ALLOWED_PROTOCOLS = new Set(['https:', 'http:', 'mailto:', 'tel:', 'sms:', 'cid:', 'webcal:']);

/** Everything dangerous in `html`, as short descriptions; empty when it is safe. */
export function findHazards(html) {
  const found = new Set();
  const views = [html, openedForOutlook(html)];
  for (const view of views) {
    for (const scriptingEnabled of [false, true]) {
      const once = parse(view, { scriptingEnabled });
      judge(once, found, view === html ? '' : 'outlook ');
      judge(parse(serialize(once), { scriptingEnabled }), found, 'reparsed ');
    }
  }
  return [...found];
}

/** What Outlook reads: the inside of hidden blocks is live, revealed blocks are not treated at all. */
function openedForOutlook(html) {
  return html.replace(/<!--\[if[^\]]*\]>(?!<!-->)/gi, '').replace(/<!\[endif\]-->/gi, '').replaceAll('<noscript>', '').replaceAll('</noscript>', '');
}

function judge(node, found, view) {
  for (const child of [...(node.childNodes ?? []), ...(node.content?.childNodes ?? [])]) {
    if (child.nodeName === '#comment') judgeComment(child.data, found, view);
    if (child.tagName) judgeElement(child, found, view);
    judge(child, found, view);
  }
}

function judgeElement(element, found, view) {
  if (DANGEROUS.has(element.tagName)) found.add(`${view}<${element.tagName}>`);
  if (element.namespaceURI !== 'http://www.w3.org/1999/xhtml') found.add(`${view}foreign <${element.tagName}>`);
  for (const { name, value } of element.attrs) {
    if (/^on/i.test(name)) found.add(`${view}${name}=`);
    if (CARRIES_URL.has(name.toLowerCase())) judgeUrl(name, value, found, view);
    if (name === 'style') judgeCss(value, found, view);
    if (name === 'http-equiv' && /refresh|set-cookie|content-security/i.test(value)) found.add(`${view}http-equiv ${value}`);
  }
  if (element.tagName === 'style') judgeCss(element.childNodes.map(({ value }) => value).join(''), found, view);
}

function judgeUrl(name, value, found, view) {
  let url;
  try {
    url = new URL(value, 'https://base.invalid/');
  } catch {
    return; // not an address at all: a browser does not follow it
  }
  if (!ALLOWED_PROTOCOLS.has(url.protocol)) found.add(`${view}${name}=${url.protocol}`);
}

function judgeCss(css, found, view) {
  const unescaped = css.replace(/\\([0-9a-f]{1,6})\s?/gi, (_, hex) => String.fromCodePoint(Math.min(Number.parseInt(hex, 16), 0x10ffff)))
    .replaceAll('\\', '');
  for (const text of [css, unescaped, unescaped.replace(/\/\*.*?\*\//gs, '')]) {
    const word = /expression\s*\(|(?:java|vb)script\s*:|-moz-binding|behaviou?r\s*:|@import|url\(\s*["']?\s*data:/i.exec(text);
    if (word) found.add(`${view}css ${word[0]}`);
  }
}

function judgeComment(data, found, view) {
  const known = /^\[if [\w\s.!&|()]+\]>(?:<!|[\s\S]*<!\[endif\])$/.test(data) || /^<!\[endif\]$/.test(data)
    || /^\[if [\w\s.!&|()]+\]$/.test(data) || /^\[endif\]$/.test(data);
  if (!known && view === '') found.add('comment');
}
