// Judges a composed design as a recipient gets it: findings of html-validate and axe-core, its size, leftovers of placeholders, facts
// that no source has, and what a browser measures in light and dark mode, 600 and 375 pixels wide.

import { readFileSync } from 'node:fs';

import { dressMail } from '../../../src/render/sidecar/quality/clients/dress.mjs';
import { validateHtml } from '../validator.mjs';
import { picture, setView, show } from './screen.mjs';

export const MAX_HTML_BYTES = 95_000; // Gmail clips a message at 102 KB
export const VIEWS = [{ width: 600, scheme: 'light' }, { width: 600, scheme: 'dark' }, { width: 375, scheme: 'light' }, { width: 375, scheme: 'dark' }];

const AXE = readFileSync(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
const MIN_BUTTON_PX = 44;
const MIN_CHARS = 30;

/** The rules that mail clients forbid, as for the gallery (tests/integration/designs/gallery.test.mjs). */
const RULES = {
  'no-conditional-comment': 'off', 'no-inline-style': 'off', 'no-deprecated-attr': 'off', 'presentation-role-style': 'off',
  'prefer-native-element': 'off', 'no-trailing-whitespace': 'off',
  'long-title': 'off', // the title is the subject
  'tel-non-breaking': 'off', // texts of callers may look like telephone numbers
};

const PLACEHOLDERS = /lorem|ipsum|your company|company name|\[your |your name here|\{\{|\{%|\}\}|%\}|undefined|\bnull\b|\bNaN\b|\[object|example\.com|\bTODO\b|\bXXX\b/i;

const textOf = (html) => html.replace(/<style[^]*?<\/style>|<!--[^]*?-->|<title[^]*?<\/title>/g, '').replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');

/** Findings about the bytes of a design, a line each. */
export async function judgeSource({ filled, html, text, subject, inventions }) {
  const found = await validateHtml(filled, RULES);
  const bytes = Buffer.byteLength(html);
  if (bytes >= MAX_HTML_BYTES) found.push(`${bytes} bytes`);
  for (const part of [textOf(filled), subject ?? '']) {
    const leftover = PLACEHOLDERS.exec(part);
    if (leftover !== null) found.push(`placeholder: ${part.slice(Math.max(leftover.index - 20, 0), leftover.index + 30)}`);
  }
  for (const [heading] of filled.matchAll(/<h[1-3][^>]*>(?:\s|&nbsp;|<br \/>)*<\/h[1-3]>/g)) found.push(`empty heading: ${heading}`);
  if (text.trim().length < MIN_CHARS) found.push('the text part is empty');
  return [...found, ...inventions.map((invention) => `invention: ${invention}`)];
}

/** Runs in the page. */
const measure = (minPx) => ({
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  small: [...document.querySelectorAll('.button a, .outline a')].filter((a) => a.getBoundingClientRect().height < minPx).map((a) => a.textContent),
  wide: [...document.querySelectorAll('td, div')].filter((element) => element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0
    && getComputedStyle(element).overflow === 'visible' && element.textContent.trim() !== '').slice(0, 1).map((element) => element.textContent.trim().slice(0, 40)),
});

async function judgeView(page, view) {
  const where = `${view.width} px, ${view.scheme}`;
  await setView(page, view);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  const serious = violations.filter(({ impact }) => impact === 'critical' || impact === 'serious');
  const { overflow, small, wide } = await page.evaluate(measure, MIN_BUTTON_PX);
  return [
    ...serious.flatMap(({ id, nodes }) => nodes.map((node) => `${where}: ${id}: ${node.target} ${node.failureSummary}`)),
    ...(overflow === 0 ? [] : [`${where}: ${overflow} px too wide`]),
    ...wide.map((text) => `${where}: text leaves its cell: ${text}`),
    ...small.map((text) => `${where}: a button under ${MIN_BUTTON_PX} px: ${text}`),
  ];
}

/** Clients whose own rules and colours change a mail, as previews of designs simulate them. */
const CLIENTS = JSON.parse(readFileSync(new URL('../../../schemas/clients.json', import.meta.url), 'utf8'))
  .filter(({ id }) => ['outlook2021_win11_lm_dt', 'outlook2021_win11_dm_dt', 'android16_gmailapp_pixel10_dm'].includes(id));

async function looksDifferent(browser, sources, view) {
  const pictures = [];
  for (const html of sources) {
    const page = await show(browser, html, view);
    pictures.push(Buffer.from(await picture(page, view)));
    await page.close();
  }
  return !pictures[0].equals(pictures[1]);
}

/** The shortened HTML looks as mjml wrote it, byte for byte of the picture. */
async function judgeShortened(browser, { filled, long }) {
  const found = [];
  for (const view of VIEWS) {
    if (await looksDifferent(browser, [filled, long], view)) found.push(`${view.width} px, ${view.scheme}: the shortened HTML looks different`);
  }
  for (const client of CLIENTS) {
    const dressed = [filled, long].map((html) => dressMail({ html, text: null, client, types: {} }).html);
    if (await looksDifferent(browser, dressed, client)) found.push(`${client.label}: the shortened HTML looks different`);
  }
  return found;
}

/** All findings about a design, a line each. */
export async function judge(browser, design) {
  const found = [...await judgeSource(design), ...await judgeShortened(browser, design)];
  const page = await show(browser, design.filled, VIEWS[0]);
  try {
    await page.evaluate(AXE);
    for (const view of VIEWS) found.push(...await judgeView(page, view));
  } finally {
    await page.close();
  }
  return found.map((finding) => `${design.name}: ${finding}`);
}

/** The arrangement of a design: its blocks with variants and tones. */
export const layoutOf = ({ document }) => document.blocks.map(({ type, variant, tone }) => `${type}:${variant}/${tone ?? ''}`).join(' ');
