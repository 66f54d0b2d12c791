// Reading of web pages: charsets, the main text, what a page declares, pictures, and pages that are refused.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPage } from '../../../src/render/sidecar/page/read_page.mjs';

const BASE = 'https://shop.example/teas/';
const read = (page) => readPage({ content: Buffer.from(page).toString('base64'), baseUrl: BASE });

test('the main text has no navigation, scripts or hidden parts', () => {
  const page = read(`<html lang="de"><head><title>Laden</title><meta name="description" content="Tee aus Assam."></head><body>
    <nav>Menü</nav><main><h1>Unser <b>Tee</b></h1><p>Erste   Ernte.</p><p hidden>Nie</p><script>x()</script><ul><li>Grün</li></ul></main><footer>AGB</footer></body></html>`);
  assert.deepEqual([page.title, page.description, page.language, page.text], ['Unser Tee', 'Tee aus Assam.', 'de', 'Unser Tee\n\nErste Ernte.\n\nGrün']);
});

test('products and events are those that JSON-LD declares', () => {
  const graph = { '@graph': [
    { '@type': 'Product', name: 'Green', image: ['/g.png'], offers: [{ price: 3.5, priceCurrency: 'CHF' }] },
    { '@type': ['Thing', 'MusicEvent'], name: 'Open day', startDate: '2027-05-01', location: { name: 'Garden', address: { streetAddress: 'Way 1', addressLocality: 'Bern' } } },
    { '@type': 'Product' }, 7, null,
  ] };
  const page = read(`<p>Hi</p><script type="application/ld+json">${JSON.stringify(graph)}</script><script type="application/ld+json">{broken</script>`);
  assert.deepEqual(page.products, [{ name: 'Green', price: '3.5 CHF', image: 'https://shop.example/g.png' }]);
  assert.deepEqual(page.events, [{ name: 'Open day', starts: '2027-05-01', place: 'Garden', address: 'Way 1, Bern' }]);
});

test('pictures have web addresses and are not small', () => {
  const page = read('<meta property="og:image" content="/og.jpg"><p>Hi</p><img src="a.png" alt=" A "><img src="/dot.gif" width="1"><img src="javascript:x"><img src="data:image/png;base64,AA">');
  assert.deepEqual(page.pictures, [{ src: 'https://shop.example/og.jpg', alt: '' }, { src: 'https://shop.example/teas/a.png', alt: 'A' }]);
});

test('addresses are relative to the base of the page', () => {
  const page = read('<base href="/de/"><link rel="canonical" href="tee"><p>Hi</p><img src="a.png">');
  assert.deepEqual([page.canonical, page.pictures[0].src], ['https://shop.example/de/tee', 'https://shop.example/de/a.png']);
  assert.equal(read('<base href="javascript:x"><p>Hi</p><img src="a.png">').pictures[0].src, 'https://shop.example/teas/a.png');
});

test('the charset is that of the page', () => {
  assert.equal(read(Buffer.from('<meta charset="iso-8859-1"><p>Caf\xe9</p>', 'latin1')).text, 'Café');
  assert.equal(read(Buffer.from('<p>Caf\xe9</p>', 'latin1')).text, 'Café');
  assert.equal(read('<p>Café</p>').text, 'Café');
});

test('bytes that are no page with a text are refused', () => {
  for (const bytes of [Buffer.from([137, 80, 78, 71, 0, 0]), '', '<script>x()</script>']) {
    assert.throws(() => read(bytes), { code: 'EMAIL_IMPORT_FAILED' });
  }
  assert.throws(() => read('<div>'.repeat(600)), { code: 'EMAIL_IMPORT_FAILED' });
});
