// Blocks at the top of an email: header and hero.

import { plain } from '../inline.mjs';

const LOGO_WIDTH = 140;

// ---- header ----

function logoOf(parts, { logo, name }, align) {
  if (logo !== undefined) return parts.picture({ alt: name, ...logo }, { width: LOGO_WIDTH, align });
  if (name === undefined) return '';
  return parts.html(`<strong>${plain(name)}</strong>`, { size: 20, align, height: 1.3, font: parts.look.headingFont });
}

function linkRow(parts, links, options) {
  if (links === undefined) return '';
  const row = links.map(({ label, href }) => parts.link(label, href, 'text-decoration:none')).join(' &nbsp;&nbsp; ');
  return parts.html(row, { size: parts.look.type.small, height: 1.8, ...options });
}

const HEADER_SPACE = { top: 26, bottom: 22 };

export const header = {
  align: 'center',
  centered: (parts, block) => parts.single(logoOf(parts, block, 'center') + linkRow(parts, block.links, { align: 'center', top: 8 }), HEADER_SPACE),
  stacked: (parts, block) => parts.single(logoOf(parts, block, 'start') + linkRow(parts, block.links, { align: 'start', top: 8 }), HEADER_SPACE),
  split: (parts, block) => (block.links === undefined ? header.stacked(parts, block) : parts.section(
    parts.column(logoOf(parts, block, 'start'), { width: 50, align: 'middle' })
      + parts.column(linkRow(parts, block.links, { align: 'end' }), { width: 50, align: 'middle' }), HEADER_SPACE)),
};

// ---- hero ----

/** Longer headings are smaller: two lines of 40 pixels say more than four of 52. */
const LENGTHS = [{ over: 64, share: 0.66, phone: 'mid' }, { over: 34, share: 0.82, phone: 'mid' }, { over: 0, share: 1, phone: 'big' }];

function mainHeading(parts, heading, factor = 1) {
  const { share, phone } = LENGTHS.find(({ over }) => heading.length > over);
  const size = Math.round(parts.look.type.h1 * share * factor);
  return parts.heading(heading, 1, { size }).replace('css-class="ink"', `css-class="ink ${phone}"`);
}

const eyebrowOf = (parts, { eyebrow }) => (eyebrow === undefined ? '' : parts.eyebrow(eyebrow));
const proseOf = (parts, { text }, options) => (text === undefined ? '' : parts.prose(text, { size: parts.look.type.lead, height: 1.55, ...options }));
const buttonOf = (parts, { button }, draw = 'button', options = { top: 28 }) => (button === undefined ? '' : parts[draw](button, options));

function heroText(parts, block, { factor, button, sides } = {}) {
  return eyebrowOf(parts, block) + mainHeading(parts, block.heading, factor) + proseOf(parts, block, { top: 18, sides }) + buttonOf(parts, block, button);
}

const heroSpace = (parts, factor = 1) => ({ top: Math.round(44 * factor), bottom: parts.tone === 'plain' ? parts.blockSpace + 6 : Math.round(48 * factor) });

function centeredHero(parts, block) {
  const picture = block.image === undefined ? '' : parts.picture(block.image, { radius: parts.look.radius, top: 36 });
  const isBare = block.image === undefined && block.text === undefined;
  return parts.single(heroText(parts, block, { sides: 12 }) + picture, heroSpace(parts, isBare ? 1.25 : 1));
}

function minimalHero(parts, block) {
  const mark = `<div class="badge" aria-hidden="true" style="width:48px;height:5px;font-size:0;line-height:0;background:${parts.colours.button}">&nbsp;</div>`;
  const picture = block.image === undefined ? '' : parts.picture(block.image, { radius: parts.look.radius, top: 30 });
  return parts.single(parts.html(mark, { bottom: 24, height: 1 }) + heroText(parts, block, { button: 'quietButton' }) + picture, heroSpace(parts, 0.7));
}

/** The heading beside the picture; without one, beside the text. */
function splitHero(parts, block) {
  const isWide = block.image === undefined && block.text === undefined;
  if (isWide) return minimalHero(parts, block);
  const far = parts.locale.dir === 'ltr' ? '0 24px 24px 0' : '0 0 24px 24px';
  const left = eyebrowOf(parts, block) + mainHeading(parts, block.heading, 0.78);
  if (block.image !== undefined) {
    return parts.section(
      parts.column(left + proseOf(parts, block, { top: 14 }) + buttonOf(parts, block), { width: 54, padding: far, align: 'middle' })
        + parts.column(parts.picture(block.image, { radius: parts.look.radius }), { width: 46, align: 'middle' }), heroSpace(parts, 0.8));
  }
  const rule = parts.rule({ weight: 3, bottom: 20 });
  return parts.section(parts.column(rule + left, { width: 50, padding: far })
    + parts.column(rule + proseOf(parts, block) + buttonOf(parts, block, 'button', { top: 22 }), { width: 50 }), heroSpace(parts, 0.8));
}

/** A picture of the whole width above the text; without one the heading on a band in the colour of buttons. */
function bannerHero(parts, block) {
  if (block.image !== undefined) return parts.single(parts.picture(block.image), { top: 0, bottom: 0, sides: 0 }) + parts.single(heroText(parts, block), heroSpace(parts, 0.8));
  const { flipped } = parts;
  const band = parts.band(eyebrowOf(flipped, block) + mainHeading(flipped, block.heading, 1.1), { top: 72, bottom: 32 });
  const rest = proseOf(parts, block) + buttonOf(parts, block, 'button', { top: block.text === undefined ? 0 : 24 });
  return band + (rest === '' ? '' : parts.single(rest, { top: 30, bottom: parts.blockSpace + 4 }));
}

export const hero = { align: { centered: 'center', split: 'start', banner: 'start', minimal: 'start' },
  centered: centeredHero, split: splitHero, banner: bannerHero, minimal: minimalHero };
