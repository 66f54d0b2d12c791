// Blocks that sell and invite: products, offer, event.

import { attribute, plain } from '../inline.mjs';
import { rowsOf } from '../parts.mjs';
import { momentParts, phrase, zoneName } from '../phrases.mjs';

const HALF_GAP = 10;
const PER_ROW = { one: 1, two: 2, three: 3 };

// ---- products ----

function price(parts, { price: now, was }, options) {
  if (now === undefined && was === undefined) return '';
  const before = was === undefined ? '' : `<s class="quiet" style="color:${parts.colours.muted}">${plain(was)}</s> &nbsp;`;
  return parts.html(`${before}<strong>${plain(now ?? '')}</strong>`, { top: 6, ...options });
}

const linked = (parts, { name: words, href }) => (href === undefined ? plain(words)
  : `<a class="name" href="${attribute(href)}" style="color:${parts.colours.ink};text-decoration:none">${plain(words)}</a>`);

function name(parts, item, { level = 3, ...options } = {}) {
  const size = parts.look.type[`h${level}`];
  return parts.html(`<h3>${linked(parts, item)}</h3>`, { size, weight: parts.look.headingWeight, height: 1.25, font: parts.look.headingFont, ...options });
}

const productPicture = (parts, { image, href }, options) => (image === undefined ? '' : parts.picture({ href, ...image }, { radius: parts.look.radius, ...options }));

const productText = (parts, item, { level, ...options } = {}) => name(parts, item, { level, sides: options.sides })
  + (item.text === undefined ? '' : parts.prose(item.text, { top: 4, ...options })) + price(parts, item, options);

/** Name and text at the start, the price at the end, as on a menu. */
function menuRow(parts, item, { top, bottom }) {
  const [near, far] = [parts.side('start'), parts.side('end')];
  const size = parts.look.type.h3;
  const title = `<span style="font-family:${attribute(parts.look.headingFont)};font-size:${size}px;line-height:1.3;font-weight:${parts.look.headingWeight}">${linked(parts, item)}</span>`;
  const text = item.text === undefined ? '' : `<br /><span class="quiet" style="color:${parts.colours.muted}">${parts.inline(item.text)}</span>`;
  const was = item.was === undefined ? '' : `<s class="quiet" style="color:${parts.colours.muted};font-size:${parts.look.type.small}px">${plain(item.was)}</s> `;
  const amount = item.price === undefined && was === '' ? ''
    : `<td width="130" valign="top" align="${far}" style="padding:0;font-size:${size}px;line-height:1.3;white-space:nowrap">${was}<strong>${plain(item.price ?? '')}</strong></td>`;
  const row = `<tr><td valign="top" align="${near}" style="padding:0">${title}${text}</td>${amount}</tr>`;
  return parts.single(parts.rule({ bottom: 16 }) + parts.html(parts.layout(row)), { top, bottom: bottom + 6 });
}

function productRow(parts, item, space) {
  if (item.image === undefined) return menuRow(parts, item, space);
  return parts.section(
    parts.column(productPicture(parts, item), { width: 34, padding: '0 0 14px', align: 'middle' })
      + parts.column(productText(parts, item), { width: 66, padding: '0 0 14px 20px', align: 'middle' }), space);
}

const rowSpace = (parts, isFirst, isLast) => ({ top: isFirst ? parts.blockSpace : HALF_GAP, bottom: isLast ? parts.blockSpace : HALF_GAP });

const productRows = (parts, items) => items.map((item, i) => productRow(parts, item, rowSpace(parts, i === 0, i === items.length - 1))).join('');

function productGrid(parts, items, size) {
  const width = Math.floor(10000 / size) / 100;
  const rows = rowsOf(items, size);
  const padding = `0 ${HALF_GAP}px 16px`;
  const cell = (item) => (item.image === undefined ? parts.card(productText(parts, item, { sides: 20 }), { width, padding })
    : parts.column(productPicture(parts, item, { bottom: 12 }) + productText(parts, item), { width, padding }));
  return rows.map((row, i) => parts.section(row.map(cell).join(''),
    { sides: Math.max(parts.gutter - HALF_GAP, 0), ...rowSpace(parts, i === 0, i === rows.length - 1) })).join('');
}

/** The entries of an array of the payload: one drawn entry, repeated. */
const each = (parts, path, item) => `<mj-raw>{% for item in ${path} %}</mj-raw>${productRow(parts, item, rowSpace(parts, false, false))}<mj-raw>{% endfor %}</mj-raw>`;

function featured(parts, [first, ...others]) {
  const space = rowSpace(parts, true, others.length === 0);
  const sides = 28;
  const top = first.image === undefined
    ? parts.section(parts.card(productText(parts, first, { sides, level: 2, size: parts.look.type.lead }), { border: `2px solid ${parts.colours.button}` }), space)
    : parts.single(productPicture(parts, first, { bottom: 18 }) + productText(parts, first, { level: 2 }), space);
  return top + (others.length > 0 ? productRows(parts, others) : '');
}

const fixedOrEach = (draw) => (parts, block) => (block.each === undefined ? draw(parts, block) : each(parts, block.each, block.items[0]));

export const products = {
  align: 'start',
  grid: fixedOrEach((parts, { items, layout = items.length === 3 ? 'three' : 'two' }) => productGrid(parts, items, Math.min(PER_ROW[layout], items.length))),
  rows: fixedOrEach((parts, { items }) => productRows(parts, items)),
  feature: fixedOrEach((parts, { items }) => featured(parts, items)),
};

// ---- offer ----

function offerText(parts, { value, code, terms, until }, { size, sides = 0 }) {
  const { lang } = parts.locale;
  const date = until === undefined ? null : momentParts(until, lang);
  const end = date === null ? '' : [phrase(lang, 'until'), date.date, date.time].filter(Boolean).join(' ');
  const { button, onButton } = parts.colours;
  const box = `<span class="badge" style="display:inline-block;background:${button};color:${onButton};border:1px solid ${button};border-radius:${Math.min(parts.look.radius, 8)}px;`
    + `padding:10px 22px;font-size:20px;line-height:1.3;font-weight:700;letter-spacing:2px">${code === undefined ? '' : plain(code)}</span>`;
  return [
    parts.heading(value, 2, { size, sides }),
    code === undefined ? '' : parts.html(box, { top: 16, sides }),
    end === '' ? '' : parts.html(plain(end), { size: parts.look.type.small, kind: 'muted', top: 12, sides }),
    terms === undefined ? '' : parts.small(terms, { top: 8, sides }),
  ].join('');
}

export const offer = {
  align: { coupon: 'center', banner: 'center', plain: 'start' },
  coupon: (parts, block) => parts.section(parts.card(offerText(parts, block, { size: parts.look.type.h2 + 8, sides: 24 }), { border: `2px dashed ${parts.colours.button}` })),
  banner: (parts, block) => parts.single(offerText(parts, block, { size: parts.look.type.h1 })),
  plain: (parts, block) => parts.single(parts.rule({ weight: 2, bottom: 20 }) + offerText(parts, block, { size: parts.look.type.h2 + 4 }) + parts.rule({ weight: 2, top: 22 })),
};

// ---- event ----

/** Day, hours and zone of an event in words. At a place, the time is that of the place. */
function times(parts, { starts, ends, timeZone, place, address }) {
  const { lang, timeZone: ownZone } = parts.locale;
  const begin = momentParts(starts, lang);
  const end = ends === undefined ? null : momentParts(ends, lang);
  const isSameDay = end !== null && starts.slice(0, 10) === ends.slice(0, 10);
  const isLocal = timeZone === undefined && (place !== undefined || address !== undefined);
  const zone = begin.time === null || isLocal ? '' : zoneName(starts, timeZone ?? ownZone, lang);
  const hours = [begin.time, isSameDay ? end.time : null].filter(Boolean).join('–');
  return {
    begin,
    day: end === null || isSameDay ? begin.date : `${begin.date} – ${end.date}`,
    hours: [hours, zone].filter(Boolean).join(' '),
  };
}

function placeHtml(parts, { place, address, href }) {
  const name = place === undefined ? '' : `<strong>${plain(place)}</strong>`;
  const lines = [name, address === undefined ? '' : plain(address)].filter(Boolean).join('<br />');
  if (href === undefined) return lines;
  return lines === '' ? parts.link(href.replace(/^https?:\/\//, ''), href) : `<a class="link" href="${attribute(href)}" style="${parts.linkStyle}">${lines}</a>`;
}

function eventRow(parts, label, contents) {
  if (contents === '') return '';
  const [near, far] = [parts.side('start'), parts.locale.dir === 'ltr' ? 'right' : 'left'];
  const name = label === '' ? '' : `<td class="quiet" width="80" valign="top" align="${near}" style="padding:6px 0;padding-${far}:12px;color:${parts.colours.muted};font-size:${parts.look.type.small}px">${label}</td>`;
  return `<tr>${name}<td valign="top" align="${near}" style="padding:6px 0">${contents}</td></tr>`;
}

function eventTable(parts, block) {
  const { day, hours } = times(parts, block);
  const { lang } = parts.locale;
  const when = `<strong style="font-size:${parts.look.type.lead + 2}px;line-height:1.4">${day}</strong>${hours && `<br />${hours}`}`;
  return parts.layout(eventRow(parts, phrase(lang, 'when'), when) + eventRow(parts, phrase(lang, 'where'), placeHtml(parts, block)));
}

function leaf(parts, { day, month }) {
  const { button, onButton, line } = parts.colours;
  const radius = parts.look.radius;
  return `<table role="presentation" class="edge" width="104" cellpadding="0" cellspacing="0" border="0" style="border:1px solid ${line};border-radius:${radius}px;border-collapse:separate">`
    + `<tr><td class="badge" align="center" style="background:${button};color:${onButton};font-size:14px;line-height:1.3;padding:6px;border-radius:${radius}px ${radius}px 0 0">${month}</td></tr>`
    + `<tr><td align="center" style="font-size:44px;line-height:1.2;font-weight:700;padding:8px 0 12px">${day}</td></tr></table>`;
}

function calendar(parts, block) {
  const { begin, day, hours } = times(parts, block);
  const [near, far] = [parts.side('start'), parts.locale.dir === 'ltr' ? 'left' : 'right'];
  const details = [`<strong style="font-size:${parts.look.type.lead + 2}px;line-height:1.4">${day}</strong>`, hours, placeHtml(parts, block)].filter(Boolean).join('<br />');
  const row = `<tr><td width="104" valign="top">${leaf(parts, begin)}</td><td valign="middle" align="${near}" style="padding:0;padding-${far}:20px">${details}</td></tr>`;
  return parts.single(parts.html(parts.layout(row)));
}

/** Time and place side by side between two lines. */
function eventLine(parts, block) {
  const { day, hours } = times(parts, block);
  const { line } = parts.colours;
  const [near, far] = [parts.side('start'), parts.side('end')];
  const edge = `border-top:2px solid ${line};border-bottom:2px solid ${line};padding:20px 0`;
  const place = placeHtml(parts, block);
  const when = `<td class="edge" valign="top" align="${near}" style="${edge};padding-${far}:20px"><strong style="font-size:${parts.look.type.h3}px;line-height:1.35">${day}</strong>${hours && `<br />${hours}`}</td>`;
  const where = place === '' ? '' : `<td class="edge" width="45%" valign="top" align="${near}" style="${edge}">${place}</td>`;
  return parts.single(parts.html(parts.layout(`<tr>${when}${where}</tr>`)));
}

export const event = {
  align: 'start',
  card: (parts, block) => parts.section(parts.card(parts.html(eventTable(parts, block), { sides: 24 }))),
  calendar,
  line: eventLine,
};
