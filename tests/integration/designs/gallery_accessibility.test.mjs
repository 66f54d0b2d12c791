// The gallery in a browser, light and dark, wide and narrow: axe-core finds nothing serious, buttons are large enough for a thumb,
// and nothing is wider than the screen.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { FULL, GalleryDesigns, gallery, installChecks } from './gallery_fixture.mjs';

const AXE = new URL('../../gallery/node_modules/axe-core/axe.min.js', import.meta.url);
const MIN_BUTTON_PX = 44;
const VIEWS = [{ width: 600, scheme: 'light' }, { width: 600, scheme: 'dark' }, { width: 375, scheme: 'light' }, { width: 375, scheme: 'dark' }];

/** Runs in the page: what is too wide, and buttons that a thumb misses. */
const measure = (minPx) => ({
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  buttons: document.querySelectorAll('.button a').length,
  small: [...document.querySelectorAll('.button a')].filter((a) => a.getBoundingClientRect().height < minPx).map((a) => a.textContent),
});

describe('every template in a browser', { timeout: 900_000 }, () => {
  let designs;
  let checks;
  let browser;
  let axe;

  before(async () => {
    installChecks();
    axe = readFileSync(AXE, 'utf8');
    checks = await import('../../gallery/browser.mjs');
    browser = await checks.openBrowser();
    designs = await GalleryDesigns.importAll();
  });

  after(async () => {
    await browser?.close();
    assert.deepEqual(await designs?.dispose(), []);
  });

  async function checkView(page, where) {
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
    const findings = violations.filter(({ impact }) => impact === 'critical' || impact === 'serious')
      .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target} ${node.failureSummary}`));
    assert.deepEqual(findings, [], where);
    const { overflow, buttons, small } = await page.evaluate(measure, MIN_BUTTON_PX);
    assert.equal(overflow, 0, `${where}: too wide`);
    assert.deepEqual(small, [], `${where}: buttons under ${MIN_BUTTON_PX} px`);
    assert.ok(buttons >= 1, `${where}: no button`);
  }

  test('axe-core finds nothing serious; buttons are large, and nothing is too wide', async () => {
    for (const template of gallery.templates) {
      const { html } = await designs.personalized(template, FULL);
      const page = await checks.showEmail(browser, html, VIEWS[0]);
      await page.evaluate(axe);
      for (const view of VIEWS) {
        await checks.setView(page, view);
        await checkView(page, `${template.id}, ${view.width} px, ${view.scheme}`);
      }
      await page.close();
    }
  });
});
