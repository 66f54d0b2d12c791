// The shared browser: pictures, websites and designs use one process after another, in turns, and a task never sees the pages of another.

import './patience.mjs';

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { invalidRequest } from '../../../src/render/sidecar/errors.mjs';
import { SharedBrowser } from '../../../src/render/sidecar/browser/shared_browser.mjs';
import { Painter } from '../../../src/render/sidecar/pictures/painter.mjs';
import { SiteBrowser } from '../../../src/render/sidecar/site/site_browser.mjs';
import { JsxRenderer } from '../../../src/render/sidecar/jsx/jsx.mjs';
import { NEVER_MS, isAlive, until } from './jsx_renderer.mjs';

const page = { content: '<p>Hello</p>', width: 200, maxHeight: 100, files: {} };
const site = { url: 'http://site.invalid/', contentType: 'text/html', bytes: Buffer.from('<p>Hello</p>').toString('base64'), files: {}, scripts: false };

test('what shows images shares a process, and one that runs code takes its place', async (t) => {
  const browsers = new SharedBrowser();
  t.after(() => browsers.end());
  const [painter, sites, jsx] = [new Painter(browsers), new SiteBrowser(browsers), new JsxRenderer(browsers, { renderMs: NEVER_MS })];
  t.after(() => jsx.close());
  await painter.drawPage(page);
  const first = browsers.pid;
  assert.ok((await sites.show(site)).style);
  assert.equal(browsers.pid, first);
  // All at once: the design ends the first browser, and the picture that of the design.
  const [html, { width }] = await Promise.all([jsx.render('export default () => <p>code</p>'), painter.drawPage(page)]);
  assert.match(html, /code/);
  assert.equal(width, 200);
  assert.notEqual(browsers.pid, first);
  await until(() => !isAlive(first));
});

test('tasks run one after the other, and each page has its own context', async (t) => {
  const browsers = new SharedBrowser();
  t.after(() => browsers.end());
  const order = [];
  const contexts = new Set();
  const task = (name) => browsers.take(async () => {
    order.push(`${name} begins`);
    contexts.add((await browsers.openPage('images')).contextId);
    order.push(`${name} ends`);
  });
  await Promise.all([task('first'), task('second')]);
  assert.deepEqual(order, ['first begins', 'first ends', 'second begins', 'second ends']);
  assert.equal(contexts.size, 2);
});

test('a failure replaces the browser, and a refused request does not', async (t) => {
  const browsers = new SharedBrowser();
  t.after(() => browsers.end());
  const pidAfter = async (fails) => {
    await browsers.take(async () => { await browsers.openPage('images'); if (fails) throw fails; }).catch((error) => assert.equal(error, fails));
    return browsers.pid;
  };
  const first = await pidAfter(null);
  assert.equal(await pidAfter(invalidRequest('html', 'It is refused.')), first);
  assert.equal(await pidAfter(new Error('a bug')), null);
  assert.notEqual(await pidAfter(null), null);
});

test('it ends when no task comes, and says so', async () => {
  const browsers = new SharedBrowser({ idleMs: 1 });
  let ended = 0;
  browsers.whenIdle(() => { ended++; });
  await browsers.take(() => browsers.openPage('images'));
  await until(() => ended === 1);
  assert.equal(browsers.pid, null);
});

test('a command that comes while one document replaces another is repeated', async (t) => {
  const browsers = new SharedBrowser();
  t.after(() => browsers.end());
  const { isRepeated, isRefused } = await browsers.take(async () => {
    const page = await browsers.openPage('images');
    const { browser } = page;
    const send = browser.send.bind(browser);
    let refused = 0;
    browser.send = (method, ...rest) => {
      if (method !== 'Page.navigate') return send(method, ...rest);
      refused++;
      return Promise.reject(new Error(refused <= 2 ? 'Not attached to an active page' : 'Another fault'));
    };
    const isRefused = await page.send('Page.navigate', { url: 'about:blank' }).then(() => false, ({ message }) => message === 'Another fault');
    return { isRepeated: refused === 3, isRefused };
  });
  assert.deepEqual([isRepeated, isRefused], [true, true]);
});
