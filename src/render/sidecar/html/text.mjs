// Plain-text alternative of an email. Lines are not wrapped: the mail composer encodes long lines, mail clients wrap to
// their own width, and a line break could split a template expression. Layout tables become blocks. Data tables keep
// their columns. Links are in angle brackets (RFC 3986 Appendix C). Hidden text is left out.

import { compileHtmlToText, serialize } from '#libraries/html';

import { attribute, findChild, isComment, isElement, isText, newText, walk } from './document.mjs';
import { joinTagLines, tagsToKeep } from './template.mjs';

const GRID = { rows: 200, columns: 12, cellChars: 40 };
const TABLE_PARTS = new Set(['table', 'tbody', 'thead', 'tfoot', 'tr']);
const GRID_MARK = 'data-text-grid';

/** Zero-width characters that plain text does not need. Joiners are not among them: Persian words and emoji need them. */
export const WIDTHLESS = /[\u00ad\u034f\u200b\u2060\ufeff]/g;
/** The padding of preheaders, which keeps other text out of the inbox preview: two or more of these characters. */
export const FILLER = /[\s\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u2000-\u200f\u202a-\u202f\u205f-\u206f\u2800\u3164\ufeff]{2,}/g;

const heading = (selector) => ({ selector, options: { uppercase: false, leadingLineBreaks: 2, trailingLineBreaks: 2 } });
const link = { linkBrackets: ['<', '>'], hideLinkHrefIfSameAsText: true, noAnchorUrl: true };

const convert = compileHtmlToText({
  wordwrap: false,
  whitespaceCharacters: ' \t\r\n\f',
  limits: { maxInputLength: undefined },
  formatters: {
    altText: (element, _walk, builder) => {
      if (element.attribs.alt) builder.addInline(element.attribs.alt);
    },
  },
  selectors: [
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map(heading),
    { selector: 'a', options: link },
    { selector: 'img', format: 'altText' },
    { selector: 'td', format: 'block' },
    { selector: 'th', format: 'block' },
    { selector: 'tr', format: 'block' },
    { selector: 'center', format: 'block' },
    { selector: 'ul', options: { itemPrefix: ' - ' } },
    { selector: 'hr', options: { length: 40 } },
    {
      selector: `table[${GRID_MARK}]`,
      format: 'dataTable',
      options: { uppercaseHeaderCells: false, maxColumnWidth: GRID.cellChars, colSpacing: 3 },
    },
  ],
});

/** The plain text of a finished document. It modifies the tree: it removes hidden elements and marks data tables. */
export function plainText(document, fragments) {
  const html = findChild(document, 'html');
  const body = findChild(html, 'body');
  const tagsOfHead = tagsToKeep(findChild(html, 'head'), fragments);
  prepareForText(body, fragments);
  const text = joinTagLines(`${tagsOfHead}\n${convert(`<body>${serialize(body)}</body>`)}`, fragments);
  const lines = text.replace(WIDTHLESS, '').split('\n').map((line) => line.trimEnd());
  return fragments.expand(lines.join('\n').replace(/\n{3,}/g, '\n\n').trim());
}

/** The hidden preheader, which inboxes show after the subject, or null. */
export function previewText(body, fragments) {
  let found = null;
  let visibleChars = 0;
  walk(body, (node) => {
    // A preheader is at the beginning. Hidden elements further down belong to a responsive layout.
    if (found !== null || visibleChars > 120) return false;
    if (isText(node)) visibleChars += node.value.trim().length;
    if (!isElement(node) || !isHidden(node)) return true;
    found = fragments.expand(textOf(node, fragments).replace(FILLER, ' ').trim()) || null;
    return false;
  });
  return found === null ? null : [...found].slice(0, 500).join('');
}

/** All text below a node, with template expressions as tokens and collapsed white space. */
export function textOf(node, fragments) {
  let text = '';
  walk(node, (child) => {
    if (isText(child)) text += child.value;
    else if (isComment(child) && fragments.isToken(child.data) && fragments.hasTemplate(child.data)) text += child.data;
    else if (isElement(child) && (child.tagName === 'br' || child.tagName === 'td')) text += ' ';
  });
  return text.replace(/\s+/g, ' ').trim();
}

export function isHidden(element) {
  if (element.tagName === 'title' || attribute(element, 'hidden') !== null) return true;
  const style = (attribute(element, 'style') ?? '').toLowerCase().replace(/\s+/g, '');
  return /(?:^|;)(?:display:none|visibility:hidden|opacity:0(?:\.0+)?(?:!important)?(?:;|$)|max-height:0(?:px)?(?:!important)?(?:;|$))/.test(style);
}

function prepareForText(parent, fragments) {
  parent.childNodes = parent.childNodes.flatMap((node) => {
    if (isComment(node)) return fragments.isToken(node.data) && fragments.hasTemplate(node.data) ? [newText(node.data, parent)] : [];
    if (isText(node)) node.value = node.value.replaceAll('\u00a0', ' ');
    if (!isElement(node)) return [node];
    if (isHidden(node)) {
      const tags = tagsToKeep(node, fragments);
      return tags ? [newText(tags, parent)] : [];
    }
    prepareForText(node, fragments);
    if (node.tagName !== 'table' || !isGrid(node, fragments)) return [node];
    node.attrs.push({ name: GRID_MARK, value: '' });
    return [...takeCaptions(node), node];
  });
}

/** The text of a data table has only its rows, so its captions become paragraphs before it. */
function takeCaptions(table) {
  const captions = table.childNodes.filter(({ tagName }) => tagName === 'caption');
  table.childNodes = table.childNodes.filter((node) => !captions.includes(node));
  for (const caption of captions) Object.assign(caption, { nodeName: 'p', tagName: 'p', parentNode: table.parentNode });
  return captions;
}

/** True for a data table: no nested table, only rows, and the same number of short cells in every row. */
function isGrid(table, fragments) {
  const rows = plainRows(table);
  const columns = rows?.[0]?.length ?? 0;
  if (columns < 2 || columns > GRID.columns || rows.length < 2 || rows.length > GRID.rows) return false;
  const isShort = (cell) => textOf(cell, fragments).length <= GRID.cellChars && !cell.childNodes.some(isLayout);
  return rows.every((cells) => cells.length === columns && cells.every(isShort));
}

/** The cells of each row, or null when the table has a nested table, a cell with a span, or a template tag between rows. */
function plainRows(table) {
  const rows = [];
  let plain = true;
  walk(table, (node) => {
    if (isText(node)) plain &&= node.value.trim() === '' || !TABLE_PARTS.has(node.parentNode.tagName);
    if (!isElement(node)) return plain;
    if (node.tagName === 'table' || attribute(node, 'rowspan') || attribute(node, 'colspan')) plain = false;
    if (node.tagName === 'tr') rows.push(node.childNodes.filter(({ tagName }) => tagName === 'td' || tagName === 'th'));
    return plain;
  });
  return plain ? rows : null;
}

function isLayout(node) {
  return isElement(node) && ['img', 'h1', 'h2', 'h3', 'ul', 'ol', 'hr', 'p', 'div'].includes(node.tagName);
}
