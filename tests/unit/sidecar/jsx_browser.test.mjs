// JSX: the browser that renders it is ended when a design loops or takes memory, and started again; it is replaced, and ended when
// it has nothing to do.

import './patience.mjs';

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, test } from 'node:test';

import { Browser, findBrowser } from '../../../src/render/sidecar/browser/browser.mjs';
import { LIMITS } from '../../../src/render/sidecar/limits.mjs';
import { NEVER_MS, fails, isAlive, rendererOf, until } from './jsx_renderer.mjs';

describe('a browser that has to be ended', () => {
  const GOOD = 'export default () => <p>alive</p>';

  test('loops and memory: the browser is killed with all its processes, and started again', async () => {
    const renderer = rendererOf();
    const LONG = fails('The JSX takes longer than 2 seconds to render; look for a loop that does not end.');
    const BAD = [
      ['export default () => { while (true); }', LONG],
      ['export default async () => { for (;;) await null; }', LONG],
      ['const A = () => <A/>;\nexport default () => <A/>', LONG],
    ];
    for (const [source, error] of BAD) {
      assert.match(await renderer.render(GOOD), /alive/);
      const pid = renderer.browserPid;
      renderer.options.renderMs = 1500; // for the loop alone: a good design may take longer on a busy machine
      await assert.rejects(renderer.render(source), error);
      renderer.options.renderMs = NEVER_MS;
      await until(() => execFileSync('ps', ['-A', '-o', 'pgid=']).toString().split('\n').every((group) => Number(group) !== pid));
    }
    await assert.rejects(renderer.render('export default () => { const a = []; for (;;) a.push(new Array(1e5).fill({})); }'), fails(/takes too much memory/));
    await assert.rejects(renderer.render('export default () => { const a = []; for (;;) a.push(new Uint8Array(1e8).fill(1)); }'), fails(/memory|allocation failed/));
    assert.match(await renderer.render(GOOD), /alive/);
    renderer.close();
  });

  test('its deadline counts the processor time of the page, and a page that only waits has as long', async () => {
    for (const [had, looks] of [[[50, 150, 250, 350, 450, 550], 6], [[50, 150, 150, 250], 3]]) {
      const browser = await Browser.start(findBrowser());
      const page = await browser.openPage();
      const { send } = browser;
      let looked = 0;
      browser.send = (method, ...more) => {
        if (method !== 'SystemInfo.getProcessInfo') return send.call(browser, method, ...more);
        return Promise.resolve({ processInfo: [{ type: 'renderer', id: 1, cpuTime: had[looked++] / 1000 }, { type: 'GPU', id: 2, cpuTime: looked }] });
      };
      await assert.rejects(page.runWithin('for (;;);', 500, LIMITS.jsxStartMs), { reason: 'deadline' });
      assert.equal(looked, looks);
    }
  });

  test('it is replaced after a number of designs, and ended when idle', async () => {
    const renderer = rendererOf({ jobs: 2, idleMs: 300 });
    assert.equal(renderer.browserPid, null, 'nothing is started before it is needed');
    await renderer.render(GOOD);
    const first = renderer.browserPid;
    await renderer.render(GOOD);
    await renderer.render(GOOD);
    const second = renderer.browserPid;
    assert.notEqual(second, first);
    await until(() => !isAlive(first));
    await until(() => renderer.browserPid === null && !isAlive(second));
    assert.match(await renderer.render(GOOD), /alive/);
    renderer.close();
  });

  test('its death between two designs is not noticed', async () => {
    const renderer = rendererOf();
    await renderer.render(GOOD);
    process.kill(-renderer.browserPid, 'SIGKILL');
    assert.match(await renderer.render(GOOD), /alive/);
    renderer.close();
  });

  test('designs that come at once are rendered one after the other', async () => {
    const renderer = rendererOf();
    const results = await Promise.all([1, 2, 3].map((n) => renderer.render(`export default () => <p>n${n}</p>`)));
    assert.deepEqual(results.map((html) => /<p>(n\d)<\/p>/.exec(html)[1]), ['n1', 'n2', 'n3']);
    renderer.close();
  });

  test('without one the error names the package, and it is used as soon as it is there', async () => {
    let path = null;
    const renderer = rendererOf({ find: () => path });
    await assert.rejects(renderer.render(GOOD), { code: 'SERVICE_UNAVAILABLE', message: /install the Debian package chromium-headless-shell/ });
    path = '/bin/false';
    await assert.rejects(renderer.render(GOOD), { code: 'SERVICE_UNAVAILABLE', message: /could not be started/ });
    path = '/usr/bin/chromium-headless-shell';
    assert.match(await renderer.render(GOOD), /alive/);
    renderer.close();
  });
});
