// Drawing documents: every variant of every block is drawn from itself alone, merge tags and markup of callers stay what they are.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';

import { documentMjml, drawDocument } from '../../../src/render/sidecar/document/draw.mjs';
import { inline } from '../../../src/render/sidecar/document/inline.mjs';
import { KeptBlocks } from '../../../src/render/sidecar/document/kept_blocks.mjs';
import { zoneName } from '../../../src/render/sidecar/document/phrases.mjs';
import { renderMjml } from '../../../src/render/sidecar/mjml/mjml.mjs';
import { findHazards } from './hazards.mjs';

const declared = JSON.parse(readFileSync(new URL('../../../schemas/document.json', import.meta.url), 'utf8'));
const TONES = declared.block.tone.values;
const BRAND = { locale: 'en', timeZone: 'Europe/Berlin' };

const tone = (ground, ink) => ({ ground, ink, muted: ink, link: ink, button: ink, onButton: ground, card: ground, line: ink, band: ink, onBand: ground });
const tones = (ground, ink) => ({ page: ground, tones: Object.fromEntries(TONES.map((name) => [name, tone(ground, ink)])) });
const LOOK = {
  width: 600, headingFont: 'Georgia, serif', headingWeight: 700, bodyFont: 'Arial, sans-serif',
  type: { h1: 40, h2: 25, h3: 19, lead: 18, body: 16, small: 14 }, space: { gutter: 40, block: 20 }, radius: 6, buttonStyle: 'solid',
  light: tones('#ffffff', '#111111'), dark: tones('#111111', '#eeeeee'),
};

// ---- Samples of every member, made from the declaration ----

const SAMPLES = {
  inline: (name) => `The **${name}** of {{ contact.firstName | default: "you" }}`,
  plain: (name) => `${name} & <more>`,
  name: (name) => `${name} words`,
  link: () => 'https://example.com/?a=1&b=2',
  source: () => 'https://example.com/a.png',
  moment: () => '2026-05-09T10:00',
  html: () => '<p>own <b>part</b></p>',
  condition: () => "contact.plan == 'pro'",
};

function sampleOf(name, declaration) {
  const field = { ...declared.shared[declaration.shared], ...declaration };
  if (name === 'timeZone') return 'Europe/Berlin';
  if (field.kind === 'enum') return field.values.at(-1);
  if (field.kind === 'group') return sampleFields(field.fields);
  if (field.kind === 'list') return [1, 2, 3].map(() => sampleOf(name, field.items));
  return SAMPLES[field.kind](name);
}

const sampleFields = (fields, isFull = true) => Object.fromEntries(Object.entries(fields)
  .filter(([name, field]) => name !== 'each' && (isFull || field.required)).map(([name, field]) => [name, sampleOf(name, field)]));

function* everyBlock() {
  for (const [type, { variants, fields }] of Object.entries(declared.blocks)) {
    for (const variant of variants) for (const isFull of [true, false]) yield { type, variant, ...sampleFields(fields, isFull) };
  }
}

const documentOf = (blocks, more = {}) => ({ title: 'Sample', ...more, blocks: blocks.map((block, i) => ({ id: `b${i + 1}`, ...block })) });
/** Nothing is kept from another drawing, so blocks are equal only when they are drawn equally. */
const drawAfresh = (document) => drawDocument(document, LOOK, BRAND, undefined, new KeptBlocks());
const draw = (blocks, more) => drawAfresh(documentOf(blocks, more));
const partOf = ({ html, blocks }, id) => {
  const { begin, end } = blocks.find((block) => block.id === id);
  return Buffer.from(html).subarray(begin, end).toString();
};

/** mulberry32: small, and the same everywhere. */
function randomFrom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

describe('documents', () => {
  test('every variant is drawn without a loss or a warning, in every tone', async () => {
    for (const block of everyBlock()) {
      const places = [{ type: 'text', variant: 'plain', body: 'First.' }, { ...block, tone: TONES[block.variant.length % TONES.length] }];
      const drawn = await draw(places);
      assert.deepEqual(drawn.report.warnings, [], `${block.type} ${block.variant}`);
      assert.deepEqual(drawn.report.removed, [], `${block.type} ${block.variant}`);
      assert.deepEqual(drawn.blocks.map(({ id }) => id), ['b1', 'b2']);
      assert.equal(drawn.html.includes('{% comment'), false);
      assert.deepEqual(findHazards(drawn.html), []);
    }
  });

  test('a change of one block leaves the bytes of the others', async () => {
    const blocks = [...everyBlock()].filter((_, i) => i % 2 === 0);
    const before = await draw(blocks.slice(0, 40));
    const changed = blocks.slice(0, 40).map((block, i) => (i === 7 ? { type: 'divider', variant: 'dots', tone: 'dark' } : block));
    const after = await draw(changed);
    for (const { id } of before.blocks) {
      if (id !== 'b8') assert.equal(partOf(after, id), partOf(before, id), id);
    }
    assert.notEqual(partOf(after, 'b8'), partOf(before, 'b8'));
  });

  test('random operations leave the HTML of the blocks that they do not name', async () => {
    const random = randomFrom(14);
    const below = (bound) => Math.floor(random() * bound);
    const all = [...everyBlock()];
    const numbered = Array.from({ length: 12 }, (_, i) => ({ id: `b${i + 1}`, tone: TONES[below(TONES.length)], ...all[below(all.length)] }));
    let before = await drawAfresh({ title: 'Sample', blocks: numbered });
    let blocks = numbered;
    for (let round = 0; round < 12; round++) {
      const at = below(blocks.length);
      const fresh = { id: `n${round}`, ...all[below(all.length)] };
      const others = blocks.filter((_, i) => i !== at);
      const place = below(others.length + 1);
      // A block is replaced, added, removed, or moved.
      blocks = [
        () => blocks.with(at, { ...fresh, id: blocks[at].id }),
        () => blocks.toSpliced(place, 0, fresh),
        () => others,
        () => others.toSpliced(place, 0, blocks[at]),
      ][round % 4]();
      const after = await drawAfresh({ title: 'Sample', blocks });
      const named = round % 4 === 0 ? blocks[at].id : null;
      const old = new Set(before.blocks.map(({ id }) => id));
      for (const { id } of after.blocks) {
        if (id !== named && old.has(id)) assert.equal(partOf(after, id), partOf(before, id), `${id} in round ${round}`);
      }
      before = after;
    }
  });

  test('the MJML of every variant is valid to mjml', async () => {
    const { warnings } = await renderMjml(documentMjml(documentOf([...everyBlock()]), LOOK, BRAND));
    assert.deepEqual(warnings, []);
  });

  test('a document with kept blocks is drawn as one without', async () => {
    const all = [...everyBlock()];
    const kept = new KeptBlocks();
    const drawn = async (blocks, more = {}, look = LOOK) => {
      const document = documentOf(blocks, more);
      const result = await drawDocument(document, look, BRAND, undefined, kept);
      assert.deepEqual(result, await drawDocument(document, look, BRAND, undefined, new KeptBlocks()));
    };
    await drawn(all.slice(0, 20));
    await drawn(all.slice(0, 20).reverse());
    await drawn(all.slice(10, 20).map((block) => ({ ...block, showIf: "contact.plan == 'pro'" })));
    await drawn(all.slice(0, 10), { dir: 'rtl', lang: 'de' });
    await drawn(all.slice(0, 10), {}, { ...LOOK, width: 640, bodyFont: 'Verdana, sans-serif' });
  });

  test('kept blocks are bounded, and those that were not used for long are forgotten first', () => {
    const kept = new KeptBlocks(100);
    const part = (chars) => ({ parts: ['x'.repeat(chars - 1)], queries: [], styles: [] }); // and a character of the key
    for (const key of ['a', 'b']) kept.set(key, part(40));
    kept.get('a');
    kept.set('c', part(40));
    assert.deepEqual(['a', 'b', 'c'].map((key) => kept.get(key) !== undefined), [true, false, true]);
    assert.equal(kept.chars, 80);
    kept.set('d', part(101));
    assert.equal(kept.get('d'), undefined);
    kept.set('c', part(50));
    assert.equal(kept.chars, 90);
  });

  test('text of a caller is text', async () => {
    const hostile = '<img src=x onerror=alert(1)></h1><script>x</script> {{ contact.firstName }} & "quoted"';
    const { html, text } = await draw([{ type: 'hero', variant: 'centered', heading: hostile, text: hostile }]);
    assert.equal(html.includes('<script'), false);
    assert.equal(html.includes('<img'), false);
    assert.equal(html.split('{{ contact.firstName }}').length, 3);
    assert.ok(text.includes('<img src=x onerror=alert(1)></h1><script>x</script> {{ contact.firstName }} & "quoted"'));
  });

  test('HTML of a caller cannot end the elements around it', async () => {
    const { html, blocks } = await draw([
      { type: 'html', variant: 'plain', source: '</div></td></tr></table><p>in' }, { type: 'text', variant: 'plain', body: 'after' }]);
    assert.equal(blocks.length, 2);
    assert.match(html, /<p[^>]*>in<\/p>/);
  });

  test('a condition surrounds its block in HTML and text', async () => {
    const { html, text, tags } = await draw([{ type: 'text', variant: 'plain', body: 'For some.', showIf: "contact.plan == 'pro'" }]);
    for (const part of [html, text]) assert.match(part, /\{% if contact\.plan == 'pro' %\}[^]*For some\.[^]*\{% endif %\}/);
    assert.deepEqual(tags, ["if contact.plan == 'pro'", 'endif']);
  });

  test('the items of a payload are repeated', async () => {
    const { html } = await draw([{ type: 'products', variant: 'grid', each: 'payload.items', items: [{ name: '{{ item.name }}', price: '{{ item.price }}' }] }]);
    assert.match(html, /\{% for item in payload\.items %\}[^]*\{\{ item\.name \}\}[^]*\{% endfor %\}/);
  });

  test('zones have the names that readers know', () => {
    const names = (timeZone, lang = 'en') => ['2027-01-10T18:00', '2027-07-10T18:00'].map((moment) => zoneName(moment, timeZone, lang));
    assert.deepEqual(names('Europe/Lisbon'), ['WET', 'WEST']);
    assert.deepEqual(names('Europe/Lisbon', 'fr'), ['WET', 'WEST']);
    assert.deepEqual(names('Europe/Berlin', 'de'), ['MEZ', 'MESZ']);
    assert.deepEqual(names('Europe/Berlin'), ['CET', 'CEST']);
    assert.deepEqual(names('Europe/London'), ['GMT', 'BST']);
    assert.deepEqual(names('America/New_York', 'de'), ['EST', 'EDT']);
    assert.deepEqual(names('Australia/Sydney'), ['AEDT', 'AEST']);
    assert.deepEqual(names('Asia/Tokyo'), ['Japan Time, GMT+9', 'Japan Time, GMT+9']);
    assert.deepEqual(names('Asia/Tokyo', 'de'), ['Japan (Ortszeit), GMT+9', 'Japan (Ortszeit), GMT+9']);
    assert.deepEqual(names('UTC'), ['UTC', 'UTC']);
    assert.deepEqual(names('Etc/GMT+5'), ['GMT-5', 'GMT-5']);
  });

  test('the language decides phrases, dates and direction', async () => {
    const event = { type: 'event', variant: 'card', starts: '2026-05-09T18:00', ends: '2026-05-09T20:30', place: 'Halle' };
    const footer = { type: 'footer', variant: 'centered' };
    const german = await draw([event, footer], { lang: 'de' });
    assert.match(german.text, /Wann\s+Samstag, 9\. Mai 2026\s+18:00–20:30/);
    assert.match(german.text, /Abmelden/);
    const arabic = await draw([event, footer], { lang: 'ar' });
    assert.match(arabic.html, /<html[^>]*dir="rtl"/);
    assert.match(arabic.html, /align="right"/);
  });

  test('sixty ordinary blocks are not clipped; a warning tells the size of a longer document and its heaviest blocks', async () => {
    const body = 'We have packed the first teas of the spring, picked by hand on the slopes above the lake, and they are in the shop until they are gone.';
    const blocksOf = (count) => Array.from({ length: count }, () => ({ type: 'text', variant: 'plain', heading: 'A heading', body }));
    const short = await draw(blocksOf(60));
    assert.deepEqual(short.report.warnings, []);
    assert.ok(short.report.htmlBytes < 95_000, `${short.report.htmlBytes} bytes`);
    const long = await draw([...blocksOf(59), { type: 'text', variant: 'plain', body: 'many words '.repeat(2000) }]);
    const [{ code, message }] = long.report.warnings;
    assert.equal(code, 'GMAIL_CLIP');
    assert.match(message, new RegExp(`^The HTML is ${Math.round(long.report.htmlBytes / 1024)} KB .* 60 blocks. Heaviest: b60 with `));
  });

  test('a document without what mjml repeats keeps the rule for Outlook and the text of callers', async () => {
    const { html } = await draw([{ type: 'html', variant: 'plain', source: '<p>one <b>two</b>\n <i>three</i></p>' }]);
    assert.equal(html.match(/mso-table-lspace/g).length, 1);
    assert.match(html, /<!--\[if mso\]><style>table, td \{[^}]*mso-table-rspace: 0pt/);
    assert.match(html, /<b>two<\/b>\s<i>three<\/i>/);
  });

  test('text of a caller that looks like what is shortened stays', async () => {
    const source = '<table border="0" cellpadding="0"><tr><td style="direction:ltr;padding:0px 0px 0px 1px;">in</td></tr></table>';
    const marked = ['\u0005one', 'two\u0006', '\u0006three\u0005'];
    const { html, text, blocks } = await draw([...marked.map((body) => ({ type: 'text', variant: 'plain', body })), { type: 'html', variant: 'plain', source }], { lang: 'ar' });
    assert.equal(blocks.length, 4);
    for (const word of ['one', 'two', 'three', 'in']) assert.ok(text.includes(word), word);
    assert.doesNotMatch(html, /[\u0005\u0006]/);
    assert.match(html, /<table border="0" cellpadding="0"><tbody><tr><td style="direction:ltr;padding:0px 0px 0px 1px;">in/);
    assert.match(html, /<td style="direction:rtl;/);
  });

  test('inline Markdown', () => {
    const style = 'color:#000000';
    const link = (address, label) => `<a class="link" href="${address}" style="${style}">${label}</a>`;
    for (const [source, html] of [
      ['a **b** *c*', 'a <strong>b</strong> <em>c</em>'],
      ['2 * 3 * 4', '2 * 3 * 4'],
      ['snake_case*', 'snake_case*'],
      ['[**go**](https://e.example/a_(b))', link('https://e.example/a_(b)', '<strong>go</strong>')],
      ['[x](javascript:alert(1))', '[x](javascript:alert(1))'],
      ['[x]({{ payload.href }})', link('{{ payload.href }}', 'x')],
      ['{{ a | default: "**no**" }}', '{{ a | default: "**no**" }}'],
      ['one\ntwo', 'one<br />two'],
    ]) assert.equal(inline(source, style), html);
  });
});
