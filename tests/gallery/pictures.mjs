// Draws the pictures of the gallery again: what opens first in each template, 600 by 800, for a sample recipient.
//
//   bash -c '. tests/node22.sh && npm_tree tests/gallery tests/gallery && "$NODE" tests/gallery/pictures.mjs [id…]'
//
// They are kept in src/gallery/previews, because the fonts of the machine show in them: a build must not depend on those.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Liquid } from 'liquidjs';

import { openBrowser, showEmail } from './browser.mjs';
import { sample } from './sample.mjs';
import { FOLDER, prepareTemplate, readGallery } from './templates.mjs';

const SIZE = { width: 600, height: 800 };
const MAX_BYTES = 40000;
const QUALITIES = [88, 80, 70, 60, 45, 30];

async function draw(browser, template) {
  const { html } = await prepareTemplate(template);
  const filled = new Liquid().parseAndRenderSync(html, sample({ brand: template.brand }));
  const page = await showEmail(browser, filled, { ...SIZE, scheme: 'light' });
  try {
    for (const quality of QUALITIES) {
      const bytes = await page.screenshot({ type: 'webp', quality, clip: { x: 0, y: 0, ...SIZE } });
      if (bytes.length <= MAX_BYTES) return bytes;
    }
    throw new Error(`the picture of ${template.id} does not fit into ${MAX_BYTES} bytes`);
  } finally {
    await page.close();
  }
}

const wanted = process.argv.slice(2);
const browser = await openBrowser();
try {
  for (const template of readGallery().templates) {
    if (wanted.length > 0 && !wanted.includes(template.id)) continue;
    const bytes = await draw(browser, template);
    writeFileSync(join(FOLDER, template.preview), bytes);
    console.log(`${template.preview}: ${bytes.length} bytes`);
  }
} finally {
  await browser.close();
}
