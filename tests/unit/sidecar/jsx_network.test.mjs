// JSX: nothing of a design reaches the network.

import './patience.mjs';

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';

import { rendererOf } from './jsx_renderer.mjs';

test('nothing of a design reaches the network, by whatever way', async () => {
  const seen = [];
  const server = createServer((request, response) => { seen.push(request.url); response.end(); });
  server.on('connection', () => seen.push('connection'));
  await new Promise((done) => { server.listen(0, '127.0.0.1', done); });
  const address = `127.0.0.1:${server.address().port}`;
  const renderer = rendererOf();
  const html = await renderer.render(`
    const g: any = globalThis;
    const [d, n] = [g['docu' + 'ment'], g['naviga' + 'tor']];
    const ways: Record<string, () => unknown> = {
      fetch: () => g['fet' + 'ch']('http://${address}/fetch'),
      image: () => { const i = d.createElement('img'); i.src = 'http://${address}/image'; d.body.append(i); },
      script: () => { const s = d.createElement('script'); s.src = 'http://${address}/script'; d.body.append(s); },
      style: () => { const l = d.createElement('link'); l.rel = 'stylesheet'; l.href = 'http://${address}/style'; d.head.append(l); },
      prefetch: () => { const l = d.createElement('link'); l.rel = 'preconnect'; l.href = 'http://${address}/'; d.head.append(l); },
      frame: () => { const f = d.createElement('iframe'); f.src = 'http://${address}/frame'; d.body.append(f); },
      inner: () => { const f = d.createElement('iframe'); d.body.append(f); return f.contentWindow['fet' + 'ch']('http://${address}/inner'); },
      form: () => { const f = d.createElement('form'); f.action = 'http://${address}/form'; f.target = '_blank'; d.body.append(f); f.submit(); },
      open: () => g.open('http://${address}/open'),
      beacon: () => n.sendBeacon('http://${address}/beacon', 'x'),
      socket: () => new g['WebSo' + 'cket']('ws://${address}/socket'),
      events: () => new g['EventSo' + 'urce']('http://${address}/events'),
      worker: () => new g['Wor' + 'ker']('http://${address}/worker'),
      rtc: async () => {
        const c = new g['RTCPeerConn' + 'ection']({ iceServers: [{ urls: 'turn:${address}?transport=tcp', username: 'u', credential: 'p' }] });
        c.createDataChannel('x'); await c.setLocalDescription(await c.createOffer());
      },
    };
    export default async () => {
      for (const way of Object.values(ways)) { try { (way() as any)?.catch?.(() => {}); } catch {} }
      await new Promise((done) => setTimeout(done, 1500));
      return <p>tried {Object.keys(ways).length}</p>;
    };`);
  assert.match(html, /tried 14/);
  renderer.close();
  server.close();
  assert.deepEqual(seen, []);
});
