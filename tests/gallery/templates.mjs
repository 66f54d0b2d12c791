// The templates of the gallery as the HTML renderer makes them, for those who have no service at hand.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { renderMjml } from '../../src/render/sidecar/mjml/mjml.mjs';
import { prepareHtml } from '../../src/render/sidecar/html/prepare.mjs';

export const FOLDER = join(import.meta.dirname, '../../src/gallery');

export const readGallery = () => JSON.parse(readFileSync(join(FOLDER, 'gallery.json'), 'utf8'));
export const readSource = ({ source }) => readFileSync(join(FOLDER, source), 'utf8');

export async function prepareTemplate(template) {
  const { html, warnings } = await renderMjml(readSource(template));
  return prepareHtml({ content: html, warnings });
}
