// Designs that the composer makes of briefs, drawn by the renderer: one brief of each category, with the four brands in turns.
// tests/gallery/designs/main.mjs judges all 60 briefs for all brands (tests/full.sh).

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { installChecks } from './gallery_fixture.mjs';

const LAYOUTS = 3;

describe('composed designs', { timeout: 600_000 }, () => {
  let lib;
  let designs;
  let checkMail;
  let browser;

  before(async () => {
    installChecks();
    const folder = '../../gallery/designs';
    ({ checkMail } = await import('../../../src/render/sidecar/quality/static/check_mail.mjs'));
    lib = { ...(await import(`${folder}/designs.mjs`)), ...(await import(`${folder}/judge.mjs`)), ...(await import(`${folder}/screen.mjs`)) };
    designs = new lib.Designs('release');
    browser = await lib.openBrowser();
  });

  after(async () => {
    designs?.close();
    await browser?.close();
  });

  test('R-210, R-212: a design of each category has no finding: validator, axe-core, size, placeholders, foreign facts', async () => {
    for (const [i, category] of lib.CATEGORIES.entries()) {
      const brief = lib.briefs.find(({ expect }) => expect === category);
      const design = await designs.make(brief, lib.brands[i % lib.brands.length]);
      assert.equal(design.document.category, category);
      assert.deepEqual(await lib.judge(browser, design), []);
    }
  });

  test('D-39: a design of each category has neither a blocker nor an error of the static checks', async () => {
    const severities = new Map(JSON.parse(readFileSync('schemas/checks/static.json', 'utf8')).map(({ id, severity }) => [id, severity]));
    const brands = lib.brands.filter(({ address }) => address);
    for (const [i, category] of lib.CATEGORIES.entries()) {
      const brand = brands[i % brands.length];
      const design = await designs.make(lib.briefs.find(({ expect }) => expect === category), brand);
      const { subjectLine, previewText } = design.document;
      const { checks } = checkMail({ design: design.html, html: design.filled, text: lib.fill(design.text, brand), subject: subjectLine, shownSubject: design.subject, previewText, address: brand.address });
      const hard = checks.flatMap(({ id, findings }) => findings.map((finding) => ({ id, severity: severities.get(id), ...finding }))).filter(({ severity }) => severity === 'blocker' || severity === 'error');
      assert.deepEqual(hard, [], design.name);
    }
  });

  test('every brief has its category, no foreign fact, and each category at least three layouts', async () => {
    const layouts = new Map(lib.CATEGORIES.map((category) => [category, new Set()]));
    for (const [i, brief] of lib.briefs.entries()) {
      for (let choice = 0; choice < LAYOUTS; choice++) {
        const brand = lib.brands[(i + choice) % lib.brands.length];
        const composed = await designs.compose(brief, brand, { choice });
        assert.equal(composed.document.category, brief.expect, brief.id);
        assert.deepEqual(composed.inventions, [], `${brief.id}, ${brand.id}`);
        layouts.get(brief.expect).add(lib.layoutOf(composed));
      }
    }
    for (const [category, found] of layouts) assert.ok(found.size >= LAYOUTS, category);
  });

  test('the judge finds what is planted: a foreign fact, a placeholder, an empty heading, a poor contrast, a text that is too wide, another look', async () => {
    const [brief] = lib.briefs;
    const design = await designs.make(brief, lib.brands[0]);
    const [first, ...others] = design.document.blocks;
    const planted = { ...design.document, blocks: [first, { type: 'text', body: 'Call Peter Parker: 4711 readers agree.' }, ...others].map(({ id: _, ...block }) => block) };
    const { inventions } = await designs.compose(brief, lib.brands[0], { document: planted });
    for (const fact of ['"Peter Parker"', '"4711"']) assert.ok(inventions.some((invention) => invention.includes(fact)), `${fact}:\n${inventions.join('\n')}`);
    const filled = design.filled.replace('</body>', '<h2></h2><p>Lorem {{ name }}</p><p style="color:#eeeeee;background:#ffffff">pale</p><div style="width:700px">wide</div></body>');
    const found = (await lib.judge(browser, { ...design, filled })).join('\n');
    for (const finding of ['empty heading', 'placeholder', 'color-contrast', 'px too wide', 'looks different']) assert.ok(found.includes(finding), `${finding}:\n${found}`);
  });
});
