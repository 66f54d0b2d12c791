// Blocks at the end of an email: social, signature, footer.

import { attribute, plain } from '../inline.mjs';
import { networkName, phrase } from '../phrases.mjs';

// ---- social ----

const profile = (parts, { network, href }, style = '') => parts.link(networkName(network), href, style);

function pill(parts, { network, href }) {
  return `<a class="link edge" href="${attribute(href)}" style="display:inline-block;margin:4px;padding:10px 16px;border:1px solid ${parts.colours.line};border-radius:22px;`
    + `color:${parts.colours.link};text-decoration:none;font-size:14px;line-height:1.5">${networkName(network)}</a>`;
}

export const social = {
  align: { labels: 'center', buttons: 'center', line: 'start' },
  labels: (parts, { items }) => parts.single(parts.html(items.map((item) => profile(parts, item)).join(' &nbsp;&nbsp; '), { size: 15, height: 2 })),
  buttons: (parts, { items }) => parts.single(parts.html(items.map((item) => pill(parts, item)).join(''))),
  line: (parts, { items }) => parts.single(parts.rule({ bottom: 16 }) + parts.html(items.map((item) => profile(parts, item)).join(' · '), { size: 15, height: 2 })),
};

// ---- signature ----

const signer = (parts, { name, role }) => `<strong>${plain(name)}</strong>${role === undefined ? '' : `<br /><span class="quiet" style="color:${parts.colours.muted}">${plain(role)}</span>`}`;

export const signature = {
  align: 'start',
  plain: (parts, block) => parts.single((block.image === undefined ? '' : parts.picture(block.image, { width: 140, bottom: 8, align: 'start' })) + parts.html(signer(parts, block), { height: 1.5 })),
  portrait: (parts, block) => (block.image === undefined ? signature.plain(parts, block) : parts.section(
    parts.column(parts.picture(block.image, { width: 64, radius: 32, align: 'start' }), { width: 16, align: 'middle' })
      + parts.column(parts.html(signer(parts, block), { height: 1.5, top: 8 }), { width: 84, align: 'middle' }))),
  line: (parts, block) => parts.single(parts.rule({ width: '64px', weight: 2, bottom: 14 }) + parts.html(signer(parts, block), { height: 1.5 })),
};

// ---- footer ----

const FOOTER_SPACE = { top: 30, bottom: 38 };

function footerLinks(parts, { links = [], unsubscribe }) {
  const leave = `<a class="link" href="{{ unsubscribeUrl }}" style="${parts.linkStyle}">${plain(unsubscribe ?? phrase(parts.locale.lang, 'unsubscribe'))}</a>`;
  return [...links.map(({ label, href }) => parts.link(label, href)), leave].join(' &nbsp;·&nbsp; ');
}

const footerSize = (parts) => parts.look.type.small - 1;

/** A document without an address shows the brand's when the email is sent. */
function addressHtml({ address }) {
  const words = address === undefined ? '{% if brand.address %}{{ brand.address }}{% endif %}' : plain(address);
  return `<span dir="auto">${words}</span>`;
}

function footerText(parts, block, options) {
  const reason = block.reason === undefined ? '' : parts.small(block.reason, { ...options, size: footerSize(parts), bottom: 4 });
  return `${reason}${parts.html(addressHtml(block), { size: footerSize(parts), kind: 'muted', height: 1.5, ...options })}`;
}

const footerRow = (parts, block, options) => parts.html(footerLinks(parts, block), { size: footerSize(parts), kind: 'muted', height: 2, ...options });

export const footer = {
  align: { centered: 'center', start: 'start', split: 'start' },
  centered: (parts, block) => parts.single(footerText(parts, block) + footerRow(parts, block, { top: 8 }), FOOTER_SPACE),
  start: (parts, block) => parts.single(parts.rule({ bottom: 20 }) + footerText(parts, block) + footerRow(parts, block, { top: 8 }), FOOTER_SPACE),
  split: (parts, block) => parts.section(
    parts.column(footerText(parts, block, { align: 'start' }), { width: 60, padding: '0 0 10px' })
      + parts.column(footerRow(parts, block, { align: 'end' }), { width: 40 }), FOOTER_SPACE),
};
