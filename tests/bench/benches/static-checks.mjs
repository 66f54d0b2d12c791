// The static checks of a mail, in the process. The peers read the same mail: html-validate with its recommended rules (tests/gallery), and the checker of
// the package caniemail with the eight most common clients, which judges compatibility only. All sides are timed in turns.

import { existsSync } from 'node:fs';
import path from 'node:path';

import { ROUNDS, interleaved, sized } from '../programs.mjs';

const root = path.join(import.meta.dirname, '../../..');
const TEMPLATE = 'tpl_newsletter_harbour';
const CLIENTS = ['gmail.desktop-webmail', 'gmail.ios', 'gmail.android', 'outlook.windows', 'outlook.outlook-com', 'apple-mail.ios', 'apple-mail.macos', 'yahoo.desktop-webmail'];
const CHECKS = sized(20, 3);
const AT_MOST = 1;

async function timed(work) {
  const from = performance.now();
  for (let i = 0; i < CHECKS; i++) await work();
  return { ms: (performance.now() - from) / CHECKS };
}

export async function run(report) {
  if (!existsSync(path.join(root, 'tests/gallery/node_modules'))) throw new Error('tests/gallery/node_modules is missing: npm ci in tests/gallery');
  const { prepareTemplate, readGallery } = await import(path.join(root, 'tests/gallery/templates.mjs'));
  const { validateHtml } = await import(path.join(root, 'tests/gallery/validator.mjs'));
  const { checkMail } = await import(path.join(root, 'src/render/sidecar/quality/static/check_mail.mjs'));
  const { caniemail } = await import(path.join(root, 'src/render/sidecar/node_modules/caniemail/dist/index.js'));
  const template = readGallery().templates.find(({ id }) => id === TEMPLATE);
  const { html, text, previewText } = await prepareTemplate(template);
  const mail = { design: html, html, text, subject: template.subjectLine, previewText };
  const sides = {
    ours: () => timed(() => checkMail(mail)), validator: () => timed(() => validateHtml(html, {})), caniemail: () => timed(() => caniemail({ clients: CLIENTS, html })),
  };
  for (const side of Object.values(sides)) await side(); // the code is compiled
  const times = await interleaved(ROUNDS, sides);
  const name = `checks of a mail of ${Math.round(Buffer.byteLength(html) / 1024)} KB`;
  report.compare(`${name}, html-validate`, times.ours.ms, times.validator.ms, 'ms', { atMost: AT_MOST });
  report.compare(`${name}, caniemail`, times.ours.ms, times.caniemail.ms, 'ms', { atMost: AT_MOST });
}
