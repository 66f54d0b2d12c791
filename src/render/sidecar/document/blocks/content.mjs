// Blocks of text and pictures: text, image, button, columns, list, steps, stats, quote, table, divider, spacer, html.

import { attribute, plain } from '../inline.mjs';
import { rowsOf } from '../parts.mjs';
import { balanced } from '../balanced.mjs';

// ---- text ----

/** A heading begins a section, so there is more space above it. */
const sectionSpace = (parts, { heading }) => (heading === undefined ? {} : { top: parts.blockSpace + Math.round(parts.look.space.block / 2) });

const headed = (parts, { heading }, options) => (heading === undefined ? '' : parts.heading(heading, 2, { bottom: 10, ...options }));

export const text = {
  align: 'start',
  plain: (parts, block) => parts.single(headed(parts, block) + parts.prose(block.body), sectionSpace(parts, block)),
  lead: (parts, block) => parts.single(headed(parts, block) + parts.prose(block.body, { size: parts.look.type.lead, height: 1.6 }), sectionSpace(parts, block)),
  boxed: (parts, block) => parts.section(parts.card(headed(parts, block, { sides: 24 }) + parts.prose(block.body, { sides: 24 }))),
};

// ---- image, button ----

const caption = (parts, { caption: words }, sides = 0) => (words === undefined ? '' : parts.small(words, { top: 10, sides }));

export const image = {
  align: 'start',
  wide: (parts, block) => parts.single(parts.picture(block) + caption(parts, block, parts.gutter), { sides: 0 }),
  inset: (parts, block) => parts.single(parts.picture(block) + caption(parts, block)),
  rounded: (parts, block) => parts.single(parts.picture(block, { radius: Math.max(parts.look.radius, 12) }) + caption(parts, block)),
};

const note = (parts, block) => (block.note === undefined ? '' : parts.small(block.note, { top: 10 }));

export const button = {
  align: 'center',
  regular: (parts, block) => parts.single(parts.button(block, { top: 0 }) + note(parts, block)),
  wide: (parts, block) => parts.single(parts.button(block, { top: 0, isWide: true }) + note(parts, block)),
  quiet: (parts, block) => parts.single(parts.quietButton(block, { top: 0 }) + note(parts, block)),
};

// ---- columns ----

const HALF_GAP = 10;

function columnParts(parts, { image: picture, heading, text: words, button: action }, { sides = 0, pictureWidth, quiet = true } = {}) {
  return [
    picture === undefined ? '' : parts.picture(picture, { radius: parts.look.radius, bottom: 14, sides, width: pictureWidth, align: pictureWidth ? parts.align : 'center' }),
    heading === undefined ? '' : parts.heading(heading, 3, { bottom: 6, sides }),
    words === undefined ? '' : parts.prose(words, { sides }),
    action === undefined ? '' : (quiet ? parts.quietButton(action, { sides }) : parts.button(action, { sides })),
  ].join('');
}

/** At most three columns in a row; four are two rows of two. */
const perRow = (count) => (count === 4 ? 2 : Math.min(count, 3));

function inRows(parts, items, draw) {
  const rows = rowsOf(items, perRow(items.length));
  const width = Math.floor(10000 / perRow(items.length)) / 100;
  return rows.map((row, i) => parts.section(row.map((item) => draw(item, width)).join(''), {
    sides: Math.max(parts.gutter - HALF_GAP, 0),
    top: i === 0 ? parts.blockSpace : HALF_GAP,
    bottom: i === rows.length - 1 ? parts.blockSpace : HALF_GAP,
  })).join('');
}

const gap = `0 ${HALF_GAP}px 16px`;

/** A heading beside its text. */
function wordRow(parts, { heading, text: words, button: action }, space) {
  if (heading === undefined || words === undefined) return parts.single(parts.rule({ bottom: 18 }) + columnParts(parts, { heading, text: words, button: action }), space);
  const far = parts.locale.dir === 'ltr' ? '0 20px 4px 0' : '0 0 4px 20px';
  return parts.section(
    parts.column(parts.rule({ weight: 2, bottom: 14 }) + parts.heading(heading, 3), { width: 36, padding: far })
      + parts.column(parts.rule({ bottom: 14 }) + columnParts(parts, { text: words, button: action }), { width: 64 }), space);
}

/** An item beside its picture or, without one, beside its heading. */
function itemRow(parts, item, isLast) {
  const words = columnParts(parts, { ...item, image: undefined });
  const space = { top: parts.look.space.block, bottom: isLast ? parts.blockSpace : 0 };
  if (item.image === undefined) return wordRow(parts, item, space);
  return parts.section(
    parts.column(parts.picture(item.image, { radius: parts.look.radius }), { width: 36, padding: '0 0 14px', align: 'middle' })
      + parts.column(words, { width: 64, padding: '0 0 14px 20px', align: 'middle' }), space);
}

/** One column with a heading alone is the heading of the next block. */
const isHeading = (items) => items.length === 1 && items[0].heading !== undefined && Object.keys(items[0]).length === 1;

export const columns = {
  align: { plain: 'start', cards: 'start', rows: 'start', icons: 'center' },
  plain: (parts, { items }) => (isHeading(items) ? parts.single(parts.heading(items[0].heading, 2), { top: parts.blockSpace + parts.look.space.block, bottom: 0 })
    : inRows(parts, items, (item, width) => parts.column(columnParts(parts, item), { width, padding: gap }))),
  cards: (parts, { items }) => inRows(parts, items, (item, width) => parts.card(columnParts(parts, item, { sides: 20 }), { width, padding: gap })),
  rows: (parts, { items }) => items.map((item, i) => itemRow(parts, item, i === items.length - 1)).join(''),
  icons: (parts, { items }) => inRows(parts, items, (item, width) => parts.column(
    (item.image === undefined ? parts.rule({ width: '32px', weight: 3, bottom: 14, accent: true }) : '') + columnParts(parts, item, { pictureWidth: 56 }), { width, padding: gap })),
};

// ---- list ----

function listHtml(parts, { style = 'bullet', items }, space) {
  const mark = style === 'check' ? `<span class="mark" aria-hidden="true" style="color:${parts.colours.link};font-weight:700">✓</span>&nbsp; ` : '';
  const name = style === 'number' ? 'ol' : 'ul';
  const side = parts.locale.dir === 'ltr' ? 'left' : 'right';
  const form = style === 'check' ? 'list-style:none;padding:0' : `padding:0;padding-${side}:22px`;
  const points = items.map((item, i) => `<li style="margin:0 0 ${i === items.length - 1 ? 0 : space}px">${mark}${parts.inline(item)}</li>`);
  return `<${name} style="margin:0;${form}">${points.join('')}</${name}>`;
}

/** A point between lines, with its mark in the colour of links. */
function spacedPoint(parts, item, i, style) {
  const { line, link } = parts.colours;
  const near = parts.side('start');
  const marks = { number: `${i + 1}`, check: '✓', bullet: parts.locale.dir === 'ltr' ? '→' : '←' };
  const edge = i === 0 ? '' : `border-top:1px solid ${line};`;
  const mark = `<span class="mark"${style === 'number' ? '' : ' aria-hidden="true"'} style="color:${link};font-weight:700">${marks[style ?? 'bullet']}</span>`;
  return `<tr><td class="edge" width="34" valign="top" align="${near}" style="${edge}padding:12px 0">${mark}</td>`
    + `<td class="edge" valign="top" align="${near}" style="${edge}padding:12px 0">${parts.inline(item)}</td></tr>`;
}

/** A list continues the text above it. */
const continuing = (parts) => (parts.tone === 'plain' ? { top: Math.round(parts.blockSpace / 3) } : {});

export const list = {
  align: 'start',
  plain: (parts, block) => parts.single(parts.html(listHtml(parts, block, 8)), continuing(parts)),
  spaced: (parts, block) => parts.single(parts.html(parts.layout(block.items.map((item, i) => spacedPoint(parts, item, i, block.style)).join('')), { size: parts.look.type.lead, height: 1.5 })),
  boxed: (parts, block) => parts.section(parts.card(parts.html(listHtml(parts, block, 8), { sides: 24 }))),
};

// ---- steps ----

const stepText = (parts, { heading, text: words }) => `<h3 style="font-size:${parts.look.type.h3}px;font-weight:700;margin:0 0 4px">${plain(heading)}</h3>`
  + (words === undefined ? '' : `<p>${parts.inline(words)}</p>`);

const badge = (parts, number) => `<div class="badge" style="width:34px;height:34px;border-radius:17px;background:${parts.colours.button};color:${parts.colours.onButton};`
  + `font-size:16px;line-height:34px;text-align:center;font-weight:700">${number}</div>`;

function stepRows(parts, items) {
  const [near, far] = parts.locale.dir === 'ltr' ? ['left', 'right'] : ['right', 'left'];
  const cell = (item, i) => `<tr><td width="34" valign="top" style="padding:0 0 22px">${badge(parts, i + 1)}</td>`
    + `<td valign="top" align="${near}" style="padding:4px 0 22px;padding-${near}:16px;padding-${far}:0">${stepText(parts, item)}</td></tr>`;
  return parts.layout(items.map(cell).join(''));
}

/** A large numeral beside the step, with a line above. */
function numeralRow(parts, item, i) {
  const { line, link } = parts.colours;
  const near = parts.side('start');
  const edge = `border-top:1px solid ${line};`;
  const size = parts.look.type.h1;
  return `<tr><td class="edge" width="${Math.round(size * 1.6)}" valign="top" align="${near}" style="${edge}padding:14px 0 18px"><span class="mark" style="color:${link};font-family:${attribute(parts.look.headingFont)};`
    + `font-size:${size}px;line-height:1;font-weight:700">${i + 1}</span></td><td class="edge" valign="top" align="${near}" style="${edge}padding:18px 0">${stepText(parts, item)}</td></tr>`;
}

export const steps = {
  align: 'start',
  numbered: (parts, { items }) => parts.single(parts.html(stepRows(parts, items))),
  cards: (parts, { items }) => items.map((item, i) => parts.section(
    parts.card(parts.html(`<div class="mark" style="color:${parts.colours.link};font-size:${parts.look.type.h2}px;line-height:1.2;font-weight:700">${i + 1}</div>${stepText(parts, item)}`, { sides: 24 })),
    { top: i === 0 ? parts.blockSpace : 6, bottom: i === items.length - 1 ? parts.blockSpace : 6 })).join(''),
  line: (parts, { items }) => parts.single(parts.html(parts.layout(items.map((item, i) => numeralRow(parts, item, i)).join('')))),
};

// ---- stats ----

const figure = (parts, { value, label }, sides = 0) => parts.html(
  `<div class="mark" style="color:${parts.colours.link};font-size:${value.length > 6 ? parts.look.type.h2 : parts.look.type.h1}px;line-height:1.1;font-weight:700">${plain(value)}</div>`, { font: parts.look.headingFont, sides, height: 1.1 })
  + parts.small(label, { top: 4, sides });

export const stats = {
  align: 'center',
  plain: (parts, { items }) => inRows(parts, items, (item, width) => parts.column(figure(parts, item), { width, padding: gap })),
  cards: (parts, { items }) => inRows(parts, items, (item, width) => parts.card(figure(parts, item, 16), { width, padding: gap })),
  line: (parts, { items }) => parts.single(parts.html(parts.layout(items.map(({ value, label }) =>
    `<tr><td class="edge" style="border-top:1px solid ${parts.colours.line};padding:14px 0;font-size:${parts.look.type.h2}px;font-weight:700" align="${parts.side('start')}">${plain(value)}</td>`
    + `<td class="edge" style="border-top:1px solid ${parts.colours.line};padding:14px 0" align="${parts.side('end')}">${plain(label)}</td></tr>`).join('')), { align: 'start' })),
};

// ---- quote ----

function byline(parts, { author, role }, options) {
  if (author === undefined && role === undefined) return '';
  const name = author === undefined ? '' : `<strong>${plain(author)}</strong>`;
  const work = role === undefined ? '' : `<span class="quiet" style="color:${parts.colours.muted}">${name && ', '}${plain(role)}</span>`;
  return parts.html(`${name}${work}`, { size: parts.look.type.small, top: 14, ...options });
}

const quoteSize = (parts, { text: said }) => parts.look.type.lead + (said.length > 160 ? 0 : 5);

const words = (parts, block, options) => parts.prose(block.text, { size: quoteSize(parts, block), height: 1.4, font: parts.look.headingFont, ...options });

const quoteMark = (parts, options) => parts.html(
  `<div class="mark" aria-hidden="true" style="color:${parts.colours.link};font-size:64px;line-height:40px;height:34px;overflow:hidden">“</div>`,
  { font: "Georgia, 'Times New Roman', serif", height: 1, ...options });

export const quote = {
  align: { plain: 'start', card: 'start', portrait: 'center' },
  plain: (parts, block) => {
    const side = parts.locale.dir === 'ltr' ? 'left' : 'right';
    const said = `<div class="bar" style="border-${side}:4px solid ${parts.colours.button};padding:2px 22px">${parts.paragraphs(block.text)}</div>`;
    return parts.single(parts.html(said, { size: quoteSize(parts, block), height: 1.4, font: parts.look.headingFont }) + byline(parts, block, { sides: 26 }));
  },
  card: (parts, block) => parts.section(parts.card(quoteMark(parts, { sides: 28, bottom: 6 }) + words(parts, block, { sides: 28 }) + byline(parts, block, { sides: 28 }))),
  portrait: (parts, block) => parts.single(
    (block.image === undefined ? parts.rule({ width: '48px', weight: 3, bottom: 22, accent: true })
      : parts.picture(block.image, { width: 72, radius: 36, bottom: 16, align: parts.align })) + words(parts, block) + byline(parts, block)),
};

// ---- table ----

/** Figures stand at the end of their column. */
const isNumber = (cell) => /^[-+−]?[\d.,\s]*\d[\d.,\s]*\s?(?:%|[€$£¥]|[A-Z]{3})?$/.test(cell) || /^[€$£¥]\s?[\d.,]+$/.test(cell);

function tableHtml(parts, { columns: names, rows }, { isLined, isStriped }) {
  const { line, card } = parts.colours;
  const edge = isLined ? `border-bottom:1px solid ${line};` : '';
  const align = parts.side('start');
  const aligns = names.map((_, i) => (rows.every((row) => isNumber(row[i] ?? '')) ? parts.side('end') : align));
  const head = names.map((name, i) => `<th class="edge" scope="col" align="${aligns[i]}" style="${isLined ? `border-bottom:2px solid ${line};` : ''}padding:10px 8px;font-size:${parts.look.type.small}px;font-weight:700">${plain(name)}</th>`).join('');
  const body = rows.map((row, i) => {
    const stripe = isStriped && i % 2 === 0;
    const cells = row.map((cell, column) => `<td class="edge${stripe ? ' panel' : ''}" align="${aligns[column] ?? align}" valign="top" style="${edge}padding:10px 8px${stripe ? `;background:${card}` : ''}">${parts.inline(cell)}</td>`);
    return `<tr>${cells.join('')}</tr>`;
  });
  return `<table width="100%" cellpadding="0" cellspacing="0" border="0" style="border-collapse:collapse;font-size:15px;line-height:1.45"><thead><tr>${head}</tr></thead><tbody>${body.join('')}</tbody></table>`;
}

export const table = {
  align: 'start',
  lined: (parts, block) => parts.single(parts.html(tableHtml(parts, block, { isLined: true }))),
  striped: (parts, block) => parts.single(parts.html(tableHtml(parts, block, { isStriped: true }))),
  plain: (parts, block) => parts.single(parts.html(tableHtml(parts, block, {}))),
};

// ---- divider, spacer, html ----

export const divider = {
  align: 'center',
  line: (parts) => parts.single(parts.rule()),
  short: (parts) => parts.single(parts.rule({ width: '64px', weight: 3 })),
  dots: (parts) => parts.single(parts.html('<span aria-hidden="true" style="letter-spacing:12px">•••</span>', { kind: 'muted', height: 1 })),
};

const HEIGHTS = { small: 16, medium: 32, large: 64 };

export const spacer = {
  align: 'start',
  plain: (parts, { size = 'medium' }) => parts.single(parts.space(HEIGHTS[size]), { top: 0, bottom: 0 }),
};

export const html = {
  align: 'start',
  plain: (parts, { source }) => parts.single(parts.html(balanced(source))),
};
