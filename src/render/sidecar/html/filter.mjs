// Tree filter, the first sanitizer pass: walks a parsed document and keeps the allowed elements and attributes.
// Conditional comments, style sheets and template tags between table rows become protected fragments, because later
// parsers would damage or lose them.

import { filterConditional, readConditional } from './conditional.mjs';
import { CARRIER_MARK, findChild, isComment, isElement, isText, newText, walk } from './document.mjs';
import { cleanAttribute, cleanMeta, DROPPED_WITH_CONTENT, ELEMENTS } from './policy.mjs';
import { readBaseUrl } from './url.mjs';
import { KIND } from './protected_fragments.mjs';

const HTML_NAMESPACE = 'http://www.w3.org/1999/xhtml';
const SCREEN_MEDIA = new Set(['', 'all', 'screen', 'only screen']);

/**
 * Filters the result of parseDocument in place.
 * @param context { fragments, report, baseUrl, conditionalTags }; baseUrl is set from <base> when the caller gave none
 * @returns {string[]} the tokens of the protected style sheets, in document order
 */
export function filterDocument({ document, isFragment }, context) {
  const html = findChild(document, 'html');
  context.baseUrl ??= findBase(html);
  moveStraysInside(document, html, isFragment);
  walk(html, (node) => {
    if (node.tagName === 'table') moveTagsIntoRows(node, context.fragments);
  });
  const filter = new TreeFilter(context);
  filter.children(document);
  filter.finish();
  return filter.styles;
}

/** Filters the attributes of one element, for the tree filter and again after juice, which writes attributes. */
export function filterAttributes(element, context) {
  element.attrs = element.attrs.flatMap(({ name, value }) => {
    const cleaned = cleanAttribute(element.tagName, name, value, context);
    return cleaned === null ? [] : [{ name, value: cleaned }];
  });
}

class TreeFilter {
  styles = [];
  /** Count of `<!--[if …]><!-->` sections that are open at the current node. */
  #sections = 0;

  constructor(context) {
    this.context = context;
  }

  children(parent) {
    parent.childNodes = parent.childNodes.flatMap((node) => {
      const kept = this.#node(node);
      for (const child of kept) child.parentNode = parent;
      return kept;
    });
  }

  finish() {
    if (this.#sections > 0) {
      this.context.report.warn('CONDITIONAL_UNCLOSED', 'A conditional comment is opened and never closed: Outlook may hide what follows it.');
    }
  }

  /** The nodes that replace `node`: itself, its children, a token, or nothing. */
  #node(node) {
    if (isComment(node)) return this.#comment(node);
    if (!isElement(node)) return [node];
    const { tagName } = node;
    if (node.namespaceURI !== HTML_NAMESPACE) return this.#dropped(tagName);
    if (tagName === 'style') return this.#styleSheet(node);
    if (tagName === 'meta') return this.#meta(node);
    if (DROPPED_WITH_CONTENT.has(tagName)) return this.#dropped(tagName, node);
    if (!ELEMENTS.has(tagName)) {
      this.context.report.removed(tagName);
      this.children(node);
      return node.childNodes;
    }
    filterAttributes(node, this.context);
    if (tagName === 'img' && !node.attrs.some(({ name }) => name === 'src')) return this.#dropped('img without source');
    this.children(node);
    return [node];
  }

  #dropped(what, node = null) {
    const rel = node?.attrs.find(({ name }) => name === 'rel')?.value ?? '';
    if (what === 'link' && /stylesheet/i.test(rel)) {
      this.context.report.warn('EXTERNAL_CSS', 'A linked style sheet was removed; put its rules into the email itself.');
    }
    this.context.report.removed(what);
    return [];
  }

  #comment({ data }) {
    const { fragments, report } = this.context;
    if (data.startsWith(CARRIER_MARK)) return [newText(data.slice(CARRIER_MARK.length))];
    const conditional = readConditional(data);
    const strayClose = conditional?.role === 'close' && this.#sections === 0;
    if (!conditional || strayClose) {
      report.removed('comment');
      return [];
    }
    if (conditional.role === 'open') this.#sections++;
    if (conditional.role === 'close') this.#sections--;
    return [newText(fragments.put(KIND.conditional, this.#conditionalValue(conditional)))];
  }

  #conditionalValue({ role, start, inner }) {
    if (role !== 'block') return { html: start, links: [], images: [] };
    const content = filterConditional(inner, this.context);
    return { ...content, html: `${start}${content.html}<![endif]-->` };
  }

  #styleSheet(node) {
    const css = node.childNodes.filter(isText).map(({ value }) => value).join('');
    const media = (node.attrs.find(({ name }) => name === 'media')?.value ?? '').trim().toLowerCase();
    const token = this.context.fragments.put(KIND.style, {
      css,
      media: SCREEN_MEDIA.has(media) || !/^[\w\s(),:.-]{1,200}$/.test(media) ? null : media,
      inSection: this.#sections > 0,
    });
    this.styles.push(token);
    return [newText(token)];
  }

  #meta(node) {
    const attrs = cleanMeta(node.attrs, this.context);
    if (attrs === null) return [];
    node.attrs = attrs;
    return [node];
  }
}

const isCarrier = (node) => isComment(node) && node.data.startsWith(CARRIER_MARK);

/** The change in nesting depth of template blocks by a `{% … %}` carrier: +1, -1 or 0. */
function blockStep(node, fragments) {
  const name = /^\{%-?\s*([a-z]+)/.exec(fragments.item(node.data.slice(1)).value)?.[1] ?? '';
  if (name.startsWith('end')) return -1;
  return /^(?:if|unless|for|case|tablerow)$/.test(name) ? 1 : 0;
}

/**
 * Moves the start of a loop into the <tbody> that has its end. In `<table>{% for … %}<tr>…</tr>{% endfor %}</table>` the
 * parser adds a <tbody>, puts the row and the endfor into it, and leaves the for outside. The loop must repeat rows.
 */
function moveTagsIntoRows(table, fragments) {
  for (const body of table.childNodes.filter(({ tagName }) => tagName === 'tbody')) {
    const steps = body.childNodes.filter(isCarrier).map((node) => blockStep(node, fragments));
    const unmatchedEnds = -steps.reduce((sum, step) => sum + step, 0);
    for (let moved = 0; moved < unmatchedEnds; moved++) {
      const before = table.childNodes.slice(0, table.childNodes.indexOf(body));
      const opening = before.findLast((node) => isCarrier(node) || isElement(node));
      if (!opening || !isCarrier(opening) || blockStep(opening, fragments) !== 1) break;
      table.childNodes.splice(table.childNodes.indexOf(opening), 1);
      body.childNodes.unshift(opening);
    }
  }
}

/** The <base href> of the document; the filter removes the element later. */
function findBase(html) {
  const base = findChild(html, 'head')?.childNodes.find(({ tagName }) => tagName === 'base');
  return readBaseUrl(base?.attrs.find(({ name }) => name === 'href')?.value);
}

/**
 * Moves comments from outside into head or body. Template tags always move, and keep their order. Other comments move
 * only in a fragment; otherwise half of a conditional pair would be before <html>.
 */
function moveStraysInside(document, html, isFragment) {
  const [head, body] = [findChild(html, 'head'), findChild(html, 'body')];
  const strays = { beforeHead: [], beforeBody: [], afterBody: [] };
  for (const parent of [document, html]) {
    let place = 'beforeHead';
    parent.childNodes = parent.childNodes.filter((node) => {
      if (node === head) place = 'beforeBody';
      if (node === body || node === html) place = 'afterBody';
      const moves = isCarrier(node) || (isFragment && isComment(node));
      if (moves) strays[place].push(node);
      return !moves;
    });
  }
  const first = isFragment && head.childNodes.length === 0 ? body : head;
  body.childNodes = [...strays.beforeBody, ...body.childNodes, ...strays.afterBody];
  first.childNodes.unshift(...strays.beforeHead);
}
