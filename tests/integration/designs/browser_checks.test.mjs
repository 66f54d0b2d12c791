// The checks of a shown mail on designs that are known to be good: the templates of the gallery and composed designs have no error. What
// they find is told in the message of the failure.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import { ShownChecker } from '../../../src/render/sidecar/quality/browser/check_shown.mjs';
import { installChecks } from './gallery_fixture.mjs';

const declared = new Map(JSON.parse(readFileSync(new URL('../../../schemas/checks/browser.json', import.meta.url), 'utf8')).map((check) => [check.id, check]));
const COMPOSED = 5;
/** Findings that are accepted: hints about comfort. */
const MILD = new Set(['info', 'warning']);

describe('checks of shown designs', { timeout: 600_000 }, () => {
  const checker = new ShownChecker();
  let lib;
  let designs;

  before(async () => {
    installChecks();
    const folder = '../../gallery';
    lib = { ...(await import(`${folder}/templates.mjs`)), ...(await import(`${folder}/designs/designs.mjs`)), ...(await import(`${folder}/sample.mjs`)) };
  });

  after(() => {
    checker.close();
    designs?.close();
  });

  /** Findings of at least an error, a line each. */
  async function hardFindings(name, html) {
    const { checks } = await checker.check({ content: html, files: {} });
    assert.equal(checks.length, declared.size);
    return checks.flatMap(({ id, findings }) => findings.filter(({ severity = declared.get(id).severity }) => !MILD.has(severity))
      .map(({ message, selector }) => `${name}: ${id}: ${message} ${selector}`));
  }

  test('the templates of the gallery have no error', async () => {
    const { templates } = lib.readGallery();
    assert.equal(templates.length, 17);
    const { Liquid } = createRequire(new URL('../../gallery/package.json', import.meta.url))('liquidjs');
    for (const template of templates) {
      const { html } = await lib.prepareTemplate(template);
      const filled = new Liquid().parseAndRenderSync(html, lib.sample({ brand: template.brand }));
      assert.deepEqual(await hardFindings(template.id, filled), []);
    }
  });

  test('composed designs have no error, and a planted one is found', async () => {
    designs = new lib.Designs('release');
    for (const [i, brief] of lib.briefs.slice(0, COMPOSED).entries()) {
      const { name, filled } = await designs.make(brief, lib.brands[i % lib.brands.length]);
      assert.deepEqual(await hardFindings(name, filled), []);
      if (i > 0) continue;
      const spoilt = filled.replace('</body>', '<p style="color:#eee;background:#fff">Pale words</p></body>');
      assert.equal((await hardFindings(name, spoilt)).length, 1);
    }
  });
});
