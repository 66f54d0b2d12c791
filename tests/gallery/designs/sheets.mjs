// Draws the pictures of docs/designs.md: each of the 60 briefs for one of the four brands, light and dark, twelve to a sheet.
//
//   bash -c '. tests/node22.sh && npm_tree tests/gallery tests/gallery && "$NODE" tests/gallery/designs/sheets.mjs'
//
// The fonts of the machine show in them. The committed ones were drawn with the Debian packages fonts-liberation, fonts-ipafont-gothic,
// fonts-hosny-amiri and fonts-noto-color-emoji.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Designs, brands, briefs } from './designs.mjs';
import { openBrowser, picture, show } from './screen.mjs';

const FOLDER = join(import.meta.dirname, '../../../docs/designs');
const WIDTH = 600;
const SHOWN = 860; // pixels of an email from its top
const PER_SHEET = 12;
const THUMB = 300;
const PER_ROW = 3;
const QUALITY = 62;
const SHEET_WIDTH = PER_ROW * (2 * THUMB + 40) + 16;

async function thumbs(browser, design) {
  const page = await show(browser, design.filled);
  try {
    const found = [];
    for (const scheme of ['light', 'dark']) found.push(await picture(page, { width: WIDTH, scheme }, { clip: await shownPart(page) }));
    return found;
  } finally {
    await page.close();
  }
}

async function shownPart(page) {
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  return { x: 0, y: 0, width: WIDTH, height: Math.min(height, SHOWN) };
}

const image = (bytes) => `<img src="data:image/png;base64,${Buffer.from(bytes).toString('base64')}">`;

const sheetHtml = (entries) => `<style>body{margin:0;padding:16px 0 0 16px;background:#d9d9dc;font:15px sans-serif;width:${SHEET_WIDTH - 16}px}`
  + `figure{display:inline-block;vertical-align:top;margin:0 16px 20px 0;width:${2 * THUMB + 8}px}img{width:${THUMB}px;display:inline-block;vertical-align:top;margin-right:4px}`
  + `figcaption{padding:0 0 6px;color:#333}</style>${entries.map(({ caption, pictures }) => `<figure><figcaption>${caption}</figcaption>${pictures.map(image).join('')}</figure>`).join('')}`;

async function drawSheet(browser, entries) {
  const page = await browser.newPage();
  try {
    await page.setViewport({ width: SHEET_WIDTH, height: 800 });
    await page.setContent(sheetHtml(entries), { waitUntil: 'load' });
    return await page.screenshot({ type: 'webp', quality: QUALITY, fullPage: true });
  } finally {
    await page.close();
  }
}

const designs = new Designs(process.env.DESIGN_BUILD);
const browser = await openBrowser();
mkdirSync(FOLDER, { recursive: true });
try {
  for (let from = 0; from < briefs.length; from += PER_SHEET) {
    const entries = [];
    for (const [i, brief] of briefs.slice(from, from + PER_SHEET).entries()) {
      const brand = brands[(from + i + Math.floor((from + i) / brands.length)) % brands.length];
      entries.push({ caption: `${brief.id} · ${brand.name.replaceAll('&', '&amp;')}`, pictures: await thumbs(browser, await designs.make(brief, brand)) });
    }
    const name = `sheet-${from / PER_SHEET + 1}.webp`;
    const bytes = await drawSheet(browser, entries);
    writeFileSync(join(FOLDER, name), bytes);
    console.log(`${name}: ${bytes.length} bytes`);
  }
} finally {
  await browser.close();
  designs.close();
}
