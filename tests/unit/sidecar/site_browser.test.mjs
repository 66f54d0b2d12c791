// The browser of websites: it has no network, a page cannot change how it is measured, and a browser that was killed is replaced.

import './patience.mjs';

import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, describe, test } from 'node:test';

import { SharedBrowser } from '../../../src/render/sidecar/browser/shared_browser.mjs';
import { SiteBrowser } from '../../../src/render/sidecar/site/site_browser.mjs';

const base64 = (text) => Buffer.from(text).toString('base64');

describe('the browser of websites', { timeout: 300_000 }, () => {
  const asked = [];
  let server;
  let base;
  let browser;
  const show = (html, { scripts = false, files = {} } = {}) => browser.show({ url: `${base}/`, contentType: 'text/html; charset=utf-8', bytes: base64(html), files, scripts });

  before(async () => {
    server = http.createServer((request, response) => { asked.push(request.url); response.end('x'); });
    await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
    base = `http://127.0.0.1:${server.address().port}`;
    browser = new SiteBrowser();
  });

  after(async () => {
    browser.close();
    server.closeAllConnections();
    await new Promise((resolve) => { server.close(resolve); });
  });

  test('asks for files, and nothing reaches a server of this machine', async () => {
    const html = `<link rel=stylesheet href=/a.css><img src=/a.png><iframe src=/frame></iframe><p style="font-family:Lora,serif">Text</p>
      <script>fetch('/data.json'); fetch('/post', {method: 'POST'}); new Image().src = '/pixel'; navigator.sendBeacon('/beacon'); new WebSocket('ws://${base.slice(7)}/ws');
      new RTCPeerConnection({iceServers: [{urls: 'stun:${base.slice(7)}'}]}).createDataChannel('x'); window.open('/popup'); setTimeout(() => { location.href = '/away'; }, 0)</script>`;
    const shown = await show(html, { scripts: true });
    assert.deepEqual(shown.missed.map(({ url, type }) => [url.slice(base.length), type]).sort(), [['/a.css', 'Stylesheet'], ['/data.json', 'XHR']]);
    assert.equal(shown.style.texts[0][0], '#000000 #ffffff', 'the page stays where it is');
    assert.deepEqual(asked, []);
  });

  test('runs no scripts unless it is asked to', async () => {
    const html = '<p id=p>Before</p><script>document.getElementById("p").textContent = "After"</script>';
    assert.equal((await show(html)).html, null);
    assert.match((await show(html, { scripts: true })).html, /<p id="p">After<\/p>/);
  });

  test('measures with the given style sheets, beside the scripts of the page', async () => {
    const html = `<link rel=stylesheet href=/a.css><h1>Title</h1><p>Some words of a text.</p><a class=b href=/x>Buy</a>
      <script>window.getComputedStyle = () => ({backgroundColor: 'rgb(1, 2, 3)'}); Array.prototype.push = () => { throw new Error(); };</script>`;
    const css = 'body { background: oklch(1 0 0); color: rgb(0 0 0 / 50%) } .b { display: inline-block; padding: 10px 20px; background: #0a7f5a; color: #fff }';
    const { style, missed } = await show(html, { scripts: true, files: { [`${base}/a.css`]: { type: 'text/css', bytes: base64(css) } } });
    assert.deepEqual(missed, []);
    assert.deepEqual([style.page, style.texts[0][0], style.buttons[0].ground, style.buttons[0].ink], ['#ffffff', '#7f7f7f #ffffff', '#0a7f5a', '#ffffff']);
  });

  test('draws SVG without its scripts and its outside pictures', async () => {
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 30 10"><script>fetch('${base}/svg')</script><image href="${base}/in.png" width="9" height="9"/><rect width="30" height="10" fill="#c1440e"/></svg>`;
    const drawn = await browser.draw({ type: 'image/svg+xml', bytes: base64(svg), width: 600, height: 240, wantsPng: true });
    assert.deepEqual([drawn.width, drawn.height, drawn.colours], [600, 200, ['#c1440e']]);
    assert.equal(Buffer.from(drawn.png, 'base64').subarray(1, 4).toString(), 'PNG');
    assert.match((await browser.draw({ type: 'image/png', bytes: base64('no picture'), width: 9, height: 9, wantsPng: false })).problem, /not a picture/);
    assert.deepEqual(asked, []);
  });

  test('a killed browser is replaced', async () => {
    const pid = browser.browserPid;
    process.kill(-pid, 'SIGKILL');
    assert.ok((await show('<p>Again</p>')).style);
    assert.notEqual(browser.browserPid, pid);
  });

  test('without a browser the page is not shown', async () => {
    assert.deepEqual(await new SiteBrowser(new SharedBrowser({ find: () => null })).show({ url: `${base}/`, bytes: '', files: {}, scripts: false }), { problem: 'no browser is installed' });
  });
});
