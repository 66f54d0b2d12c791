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

function name(parts, { name: words, href }, options) {
  if (href === undefined) return parts.heading(words, 3, options);
  const link = `<a class="name" href="${attribute(href)}" style="color:${parts.colours.ink};text-decoration:none">${plain(words)}</a>`;
  return parts.html(`<h3>${link}</h3>`, { size: parts.look.type.h3, weight: parts.look.headingWeight, height: 1.25, font: parts.look.headingFont, ...options });
}

const productPicture = (parts, { image, href }, options) => (image === undefined ? '' : parts.picture({ href, ...image }, { radius: parts.look.radius, ...options }));

const productText = (parts, item, options) => name(parts, item, options)
  + (item.text === undefined ? '' : parts.prose(item.text, { top: 4, ...options })) + price(parts, item, options);

function productRow(parts, item, space) {
  if (item.image === undefined) return parts.single(parts.rule({ bottom: 16 }) + productText(parts, item), space);
  return parts.section(
    parts.column(productPicture(parts, item), { width: 34, padding: '0 0 14px', align: 'middle' })
      + parts.column(productText(parts, item), { width: 66, padding: '0 0 14px 20px', align: 'middle' }), space);
}

const rowSpace = (parts, isFirst, isLast) => ({ top: isFirst ? parts.blockSpace : HALF_GAP, bottom: isLast ? parts.blockSpace : HALF_GAP });

const productRows = (parts, items) => items.map((item, i) => productRow(parts, item, rowSpace(parts, i === 0, i === items.length - 1))).join('');

function productGrid(parts, items, size) {
  const width = Math.floor(10000 / size) / 100;
  const rows = rowsOf(items, size);
  const cell = (item) => parts.column(productPicture(parts, item, { bottom: 12 }) + productText(parts, item), { width, padding: `0 ${HALF_GAP}px 16px` });
  return rows.map((row, i) => parts.section(row.map(cell).join(''),
    { sides: Math.max(parts.gutter - HALF_GAP, 0), ...rowSpace(parts, i === 0, i === rows.length - 1) })).join('');
}

/** The entries of an array of the payload: one drawn entry, repeated. */
const each = (parts, path, item) => `<mj-raw>{% for item in ${path} %}</mj-raw>${productRow(parts, item, rowSpace(parts, false, false))}<mj-raw>{% endfor %}</mj-raw>`;

function featured(parts, [first, ...others]) {
  const top = parts.single(productPicture(parts, first, { bottom: 18 }) + productText(parts, first), rowSpace(parts, true, others.length === 0));
  return top + (others.length > 0 ? productRows(parts, others) : '');
}

const fixedOrEach = (draw) => (parts, block) => (block.each === undefined ? draw(parts, block) : each(parts, block.each, block.items[0]));

export const products = {
  align: 'start',
  grid: fixedOrEach((parts, { items, layout = 'two' }) => productGrid(parts, items, Math.min(PER_ROW[layout], items.length))),
  rows: fixedOrEach((parts, { items }) => productRows(parts, items)),
  feature: fixedOrEach((parts, { items }) => featured(parts, items)),
};

// ---- offer ----

function offerText(parts, { value, code, terms, until }, { size, sides = 0 }) {
  const { lang } = parts.locale;
  const date = until === undefined ? null : momentParts(until, lang);
  const end = date === null ? '' : [phrase(lang, 'until'), date.date, date.time].filter(Boolean).join(' ');
  const box = `<span class="edge" style="display:inline-block;border:2px dashed ${parts.colours.line};border-radius:${parts.look.radius}px;padding:10px 20px;font-size:20px;line-height:1.3;font-weight:700;letter-spacing:1px">${code === undefined ? '' : plain(code)}</span>`;
  return [
    parts.heading(value, 2, { size, sides }),
    code === undefined ? '' : parts.html(box, { top: 16, sides }),
    end === '' ? '' : parts.html(plain(end), { size: parts.look.type.small, kind: 'muted', top: 12, sides }),
    terms === undefined ? '' : parts.small(terms, { top: 8, sides }),
  ].join('');
}

export const offer = {
  align: { coupon: 'center', banner: 'center', plain: 'start' },
  coupon: (parts, block) => parts.section(parts.card(offerText(parts, block, { size: parts.look.type.h2 + 6, sides: 24 }))),
  banner: (parts, block) => parts.single(offerText(parts, block, { size: parts.look.type.h1 })),
  plain: (parts, block) => parts.single(offerText(parts, block, { size: parts.look.type.h2 })),
};

// ---- event ----

/** Day, hours and zone of an event in words. */
function times(parts, { starts, ends, timeZone }) {
  const { lang, timeZone: ownZone } = parts.locale;
  const begin = momentParts(starts, lang);
  const end = ends === undefined ? null : momentParts(ends, lang);
  const isSameDay = end !== null && starts.slice(0, 10) === ends.slice(0, 10);
  const zone = begin.time === null ? '' : zoneName(starts, timeZone ?? ownZone, lang);
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
  const when = `<strong>${day}</strong>${hours && `<br />${hours}`}`;
  return parts.layout(eventRow(parts, phrase(lang, 'when'), when) + eventRow(parts, phrase(lang, 'where'), placeHtml(parts, block)));
}

function leaf(parts, { day, month }) {
  const { button, onButton, line } = parts.colours;
  const radius = parts.look.radius;
  return `<table role="presentation" class="edge" width="96" cellpadding="0" cellspacing="0" border="0" style="border:1px solid ${line};border-radius:${radius}px;border-collapse:separate">`
    + `<tr><td class="badge" align="center" style="background:${button};color:${onButton};font-size:14px;line-height:1.3;padding:6px;border-radius:${radius}px ${radius}px 0 0">${month}</td></tr>`
    + `<tr><td align="center" style="font-size:38px;line-height:1.2;font-weight:700;padding:8px 0 10px">${day}</td></tr></table>`;
}

function calendar(parts, block) {
  const { begin, day, hours } = times(parts, block);
  const [near, far] = [parts.side('start'), parts.locale.dir === 'ltr' ? 'left' : 'right'];
  const details = [`<strong>${day}</strong>`, hours, placeHtml(parts, block)].filter(Boolean).join('<br />');
  const row = `<tr><td width="96" valign="top">${leaf(parts, begin)}</td><td valign="middle" align="${near}" style="padding:0;padding-${far}:20px">${details}</td></tr>`;
  return parts.single(parts.html(parts.layout(row)));
}

export const event = {
  align: 'start',
  card: (parts, block) => parts.section(parts.card(parts.html(eventTable(parts, block), { sides: 24 }))),
  calendar,
  line: (parts, block) => {
    const { day, hours } = times(parts, block);
    return parts.single(parts.html([`<strong>${day}</strong>`, hours, placeHtml(parts, block)].filter(Boolean).join(' · ')));
  },
};
