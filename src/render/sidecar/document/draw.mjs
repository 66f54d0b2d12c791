// Draws a document (schemas/document.json) as MJML, and prepares the HTML as that of an import. A block is drawn from itself, the
// look of the email and its language alone, so a change of one block leaves the bytes of the others as they are.
//
//   document + look ─► MJML with marks around the blocks ─► HTML ─► prepared HTML, marks taken out ─► places of the blocks

import { prepareHtml } from '../html/prepare.mjs';
import { CLIP_WARNING_BYTES } from '../limits.mjs';
import { renderMjml } from '../mjml/mjml.mjs';
import * as closing from './blocks/closing.mjs';
import * as commerce from './blocks/commerce.mjs';
import * as content from './blocks/content.mjs';
import * as opening from './blocks/opening.mjs';
import { compact } from './compact.mjs';
import { attribute, plain } from './inline.mjs';
import { KeptBlocks } from './kept_blocks.mjs';
import { Parts } from './parts.mjs';
import { styleSheet } from './style.mjs';

const BLOCKS = { ...opening, ...content, ...commerce, ...closing };
const RIGHT_TO_LEFT = new Set(['ar', 'dv', 'fa', 'he', 'ku', 'ps', 'sd', 'ug', 'ur', 'yi']);

/** Marks are comments of the template language, which pass the pipeline unchanged. */
const markOf = (id, end) => `{% comment %}block ${id} ${end}{% endcomment %}`;
const MARKS = /\{% comment %\}block (\w+) (begin|end)\{% endcomment %\}/g;

const CLIPPED = 'GMAIL_CLIP';
const HEAVIEST = 3;

const COMMENT_TAGS = new Set(['comment', 'endcomment']);

/** mjml writes it to pictures of unknown height; the attribute must be a number. */
const NO_HEIGHT = ' height="auto"';

const raw = (text) => `<mj-raw>${text}</mj-raw>`;

function drawBlock(block, look, locale) {
  const library = BLOCKS[block.type];
  const usual = typeof library.align === 'string' ? library.align : library.align[block.variant];
  const drawn = library[block.variant](new Parts(look, block, usual, locale), block);
  return block.showIf === undefined ? drawn : raw(`{% if ${block.showIf} %}`) + drawn + raw('{% endif %}');
}

function localeOf({ lang, dir }, brand) {
  const language = lang ?? brand.locale ?? 'en';
  const direction = dir ?? (RIGHT_TO_LEFT.has(language.split('-')[0].toLowerCase()) ? 'rtl' : 'ltr');
  return { lang: language, dir: direction, timeZone: brand.timeZone ?? 'UTC' };
}

function headOf(document, look, { blocks }) {
  const tones = [...new Set(blocks.map(({ tone = 'plain' }) => tone))].sort();
  const preview = document.previewText === undefined ? '' : `<mj-preview>${plain(document.previewText)}</mj-preview>`;
  return [
    '<mj-head>',
    `<mj-title>${plain(document.subjectLine ?? document.title)}</mj-title>${preview}`,
    raw('<meta name="color-scheme" content="light dark" /><meta name="supported-color-schemes" content="light dark" />'),
    `<mj-attributes><mj-all font-family="${attribute(look.bodyFont)}" /></mj-attributes>`,
    `<mj-style>\n${styleSheet(look, tones)}\n</mj-style>`,
    '</mj-head>',
  ].join('');
}

/** The MJML of a document, with marks around its blocks. `wrap` changes the MJML of each of them. */
export function documentMjml(document, look, brand, wrap = (mjml) => mjml) {
  const locale = localeOf(document, brand);
  const blocks = document.blocks.map((block, i) => raw(markOf(block.id, 'begin')) + wrap(drawBlock(block, look, locale), i) + raw(markOf(block.id, 'end')));
  return `<mjml lang="${attribute(locale.lang)}" dir="${locale.dir}">${headOf(document, look, document)}`
    + `<mj-body width="${look.width}px" background-color="${look.light.page}" css-class="page">${blocks.join('')}</mj-body></mjml>`;
}

/** The HTML of a document as mjml makes it. Blocks that are kept are not made again. */
function renderDocument(document, look, brand, keptBlocks) {
  const keys = [];
  const found = [];
  const source = documentMjml(document, look, brand, (mjml, i) => {
    keys[i] = JSON.stringify([look.width, look.bodyFont, mjml]);
    found[i] = keptBlocks.get(keys[i]);
    return `<mj-kept name="${i}">${found[i] === undefined ? mjml : ''}</mj-kept>`;
  });
  return renderMjml(source, { get: (i) => found[i], set: (i, block) => keptBlocks.set(keys[i], block) });
}

const lately = new KeptBlocks();

/**
 * @param {(html: string) => string} shorten what a test replaces, to compare the pictures
 * @param {KeptBlocks} keptBlocks those of this thread, or those of a test
 * @returns the result of a preparation, with `blocks`: [{id, begin, end}], the places of the blocks in `html` in bytes
 * @throws {import('../errors.mjs').RequestError}
 */
export async function drawDocument(document, look, brand, shorten = compact, keptBlocks = lately) {
  const { html: source, warnings } = await renderDocument(document, look, brand, keptBlocks);
  const prepared = prepareHtml({ content: shorten(source.replaceAll(NO_HEIGHT, '')), warnings });
  const { text: html, places } = takeMarks(prepared.html);
  return {
    ...prepared, html, blocks: places,
    text: takeMarks(prepared.text).text,
    tags: prepared.tags.filter((tag) => !COMMENT_TAGS.has(tag)),
    report: { ...prepared.report, htmlBytes: Buffer.byteLength(html), warnings: sizedWarnings(prepared.report.warnings, html, places) },
  };
}

/** The warning of the preparation counts the marks; this one names the heaviest blocks. */
function sizedWarnings(warnings, html, places) {
  const others = warnings.filter(({ code }) => code !== CLIPPED);
  const bytes = Buffer.byteLength(html);
  if (bytes <= CLIP_WARNING_BYTES) return others;
  const heaviest = places.map(({ id, begin, end }) => ({ id, bytes: end - begin })).sort((one, other) => other.bytes - one.bytes).slice(0, HEAVIEST);
  const message = `The HTML is ${Math.round(bytes / 1024)} KB and Gmail hides what follows about 102 KB. The document has ${places.length} blocks. `
    + `Heaviest: ${heaviest.map(({ id, bytes: size }) => `${id} with ${Math.round(size / 102.4) / 10} KB`).join(', ')}.`;
  return [...others, { code: CLIPPED, message }];
}

/** Takes the marks out of a text: {text, places: [{id, begin, end}]}, in bytes of UTF-8. */
export function takeMarks(marked) {
  const begins = new Map();
  const places = [];
  let taken = 0;
  let bytes = 0;
  const parts = [];
  for (const { 0: mark, 1: id, 2: end, index } of marked.matchAll(MARKS)) {
    const part = marked.slice(taken, index);
    parts.push(part);
    bytes += Buffer.byteLength(part);
    taken = index + mark.length;
    if (end === 'begin') begins.set(id, bytes);
    else places.push({ id, begin: begins.get(id), end: bytes });
  }
  parts.push(marked.slice(taken));
  return { text: parts.join(''), places };
}
