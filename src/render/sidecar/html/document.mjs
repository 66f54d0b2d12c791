// HTML parser with limits: the tree construction of the HTML standard (parse5), stopped at the first element, comment or
// depth above the limit, so that input cannot exhaust time or stack. Also the tree functions that the other modules share.

import { defaultTreeAdapter, InsertionMode, Parser, Token } from '#libraries/html';

import { importFailed } from '../errors.mjs';
import { LIMITS } from '../limits.mjs';
import { KIND } from './protected_fragments.mjs';

/** Marks a comment node that the parser made from a token. `readSource` removes control characters from input. */
export const CARRIER_MARK = '\u0001';

/** Insertion modes that move text in front of the table. A comment stays in place (HTML Standard §13.2.6.4.9). */
const TEXT_IS_MOVED = new Set([
  InsertionMode.IN_TABLE, InsertionMode.IN_TABLE_TEXT, InsertionMode.IN_TABLE_BODY, InsertionMode.IN_ROW,
  InsertionMode.IN_COLUMN_GROUP,
]);

/** Insertion modes in which text opens the body. `{% … %}` before <html> or in <head> must not open it. */
const TEXT_OPENS_BODY = new Set([
  InsertionMode.INITIAL, InsertionMode.BEFORE_HTML, InsertionMode.BEFORE_HEAD, InsertionMode.IN_HEAD,
  InsertionMode.AFTER_HEAD,
]);

const DOCUMENT_TAGS = new Set(['html', 'head', 'body']);

class EmailParser extends Parser {
  /** True until an <html>, <head> or <body> tag occurs. */
  isFragment = true;

  onStartTag(token) {
    if (DOCUMENT_TAGS.has(token.tagName)) this.isFragment = false;
    super.onStartTag(token);
  }

  onCharacter(token) {
    const { fragments } = this;
    if (!token.chars.includes(fragments.prefix) || this.insertionMode === InsertionMode.TEXT) {
      super.onCharacter(token);
      return;
    }
    const parts = token.chars.split(fragments.templateTokens);
    const tokens = [...token.chars.matchAll(fragments.templateTokens)].map(([text]) => text);
    parts.forEach((chars, i) => {
      if (chars) super.onCharacter({ ...token, chars });
      if (i < tokens.length) this.#onTemplate(token, tokens[i]);
    });
  }

  #onTemplate(token, text) {
    const isTag = this.fragments.item(text).kind === KIND.tag;
    const asComment = TEXT_IS_MOVED.has(this.insertionMode) || (isTag && TEXT_OPENS_BODY.has(this.insertionMode));
    if (asComment) this.onComment({ type: Token.TokenType.COMMENT, data: CARRIER_MARK + text, location: token.location });
    else super.onCharacter({ ...token, chars: text });
  }
}

function boundedAdapter(bounds = LIMITS) {
  let elements = 0;
  let comments = 0;
  let depth = 0;
  return {
    ...defaultTreeAdapter,
    createElement(...args) {
      if (++elements > bounds.elements) throw importFailed(`The content has more than ${bounds.elements} elements.`);
      return defaultTreeAdapter.createElement(...args);
    },
    createCommentNode(data) {
      if (++comments > bounds.comments) throw importFailed(`The content has more than ${bounds.comments} comments.`);
      return defaultTreeAdapter.createCommentNode(data);
    },
    onItemPush() {
      if (++depth > bounds.depth) throw importFailed(`The content is nested deeper than ${bounds.depth} elements.`);
    },
    onItemPop() {
      depth--;
    },
  };
}

/**
 * Parses HTML like a browser without scripting: { document, isFragment }. A fragment is a source without <html>, <head>
 * and <body>. Throws EMAIL_IMPORT_FAILED above a limit.
 */
export function parseDocument(html, fragments) {
  const parser = new EmailParser({ treeAdapter: boundedAdapter(), scriptingEnabled: false });
  parser.fragments = fragments;
  parser.tokenizer.write(html, true);
  return { document: parser.document, isFragment: parser.isFragment };
}

/** Parses HTML whose braces are text, such as that of a website, with these limits. */
export function parsePage(html, bounds = LIMITS) {
  const parser = new Parser({ treeAdapter: boundedAdapter(bounds), scriptingEnabled: false });
  parser.tokenizer.write(html, true);
  return parser.document;
}

export const isElement = (node) => 'tagName' in node;
export const isText = (node) => node.nodeName === '#text';
export const isComment = (node) => node.nodeName === '#comment';

/** Depth first, in document order; `visit` may return false to skip an element's children. */
export function walk(node, visit) {
  for (const child of node.childNodes ?? []) {
    if (visit(child) !== false) walk(child, visit);
  }
}

export function findChild(node, tagName) {
  return node.childNodes.find((child) => child.tagName === tagName) ?? null;
}

export function attribute(element, name) {
  return element.attrs.find((attr) => attr.name === name)?.value ?? null;
}

export function setAttribute(element, name, value) {
  const existing = element.attrs.find((attr) => attr.name === name);
  if (existing) existing.value = value;
  else element.attrs.push({ name, value });
}

export function newElement(tagName, attrs, parentNode) {
  return { nodeName: tagName, tagName, attrs, namespaceURI: 'http://www.w3.org/1999/xhtml', childNodes: [], parentNode };
}

export function newText(value, parentNode) {
  return { nodeName: '#text', value, parentNode };
}
