// Blocks at the top of an email: header and hero.

import { plain } from '../inline.mjs';

const LOGO_WIDTH = 140;

// ---- header ----

function logoOf(parts, { logo, name }, align) {
  if (logo !== undefined) return parts.picture({ alt: name, ...logo }, { width: LOGO_WIDTH, align });
  if (name === undefined) return '';
  return parts.html(`<strong>${plain(name)}</strong>`, { size: 18, align, height: 1.3, font: parts.look.headingFont });
}

function linkRow(parts, links, options) {
  if (links === undefined) return '';
  const row = links.map(({ label, href }) => parts.link(label, href, 'text-decoration:none')).join(' &nbsp;&nbsp; ');
  return parts.html(row, { size: parts.look.type.small, height: 1.8, ...options });
}

const HEADER_SPACE = { top: 24, bottom: 20 };

export const header = {
  align: 'center',
  centered: (parts, block) => parts.single(logoOf(parts, block, 'center') + linkRow(parts, block.links, { align: 'center', top: 8 }), HEADER_SPACE),
  stacked: (parts, block) => parts.single(logoOf(parts, block, 'start') + linkRow(parts, block.links, { align: 'start', top: 8 }), HEADER_SPACE),
  split: (parts, block) => (block.links === undefined ? header.stacked(parts, block) : parts.section(
    parts.column(logoOf(parts, block, 'start'), { width: 50, align: 'middle' })
      + parts.column(linkRow(parts, block.links, { align: 'end' }), { width: 50, align: 'middle' }), HEADER_SPACE)),
};

// ---- hero ----

function heroText(parts, { eyebrow, heading, text, button }, { size, button: drawButton = 'button' } = {}) {
  return [
    eyebrow === undefined ? '' : parts.eyebrow(eyebrow),
    parts.heading(heading, 1, { size }).replace('css-class="ink"', 'css-class="ink big"'),
    text === undefined ? '' : parts.prose(text, { size: parts.look.type.lead, top: 16, height: 1.55 }),
    button === undefined ? '' : parts[drawButton](button, { top: 26 }),
  ].join('');
}

const heroSpace = (parts) => ({ top: parts.blockSpace + 20, bottom: parts.blockSpace + 8 });

function centeredHero(parts, block) {
  const picture = block.image === undefined ? '' : parts.picture(block.image, { radius: parts.look.radius, top: 32 });
  return parts.single(heroText(parts, block) + picture, heroSpace(parts));
}

function minimalHero(parts, block) {
  const mark = `<div class="badge" aria-hidden="true" style="width:44px;height:6px;font-size:0;line-height:0;border-radius:3px;background:${parts.colours.button}">&nbsp;</div>`;
  const picture = block.image === undefined ? '' : parts.picture(block.image, { radius: parts.look.radius, top: 28 });
  return parts.single(parts.html(mark, { bottom: 22, height: 1 }) + heroText(parts, block, { button: 'quietButton' }) + picture, heroSpace(parts));
}

function splitHero(parts, block) {
  if (block.image === undefined) return minimalHero(parts, block);
  const text = heroText(parts, block, { size: Math.round(parts.look.type.h1 * 0.8) });
  return parts.section(
    parts.column(text, { width: 54, padding: '0 20px 24px 0', align: 'middle' })
      + parts.column(parts.picture(block.image, { radius: parts.look.radius }), { width: 46, align: 'middle' }), heroSpace(parts));
}

/** A picture of the whole width above the text; without one a band in the colour of the accent. */
function bannerHero(parts, block) {
  const { button } = parts.colours;
  const band = `<div class="badge" aria-hidden="true" style="height:14px;font-size:0;line-height:0;background:${button}">&nbsp;</div>`;
  const top = block.image === undefined ? parts.html(band, { height: 1 }) : parts.picture(block.image);
  return parts.single(top, { top: 0, bottom: 0, sides: 0 }) + parts.single(heroText(parts, block), heroSpace(parts));
}

export const hero = { align: { centered: 'center', split: 'start', banner: 'start', minimal: 'start' },
  centered: centeredHero, split: splitHero, banner: bannerHero, minimal: minimalHero };
