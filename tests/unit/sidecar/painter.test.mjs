// The painter: a page is as high as its content, runs no scripts, has no network, and is left when it takes too long.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import { SharedBrowser } from '../../../src/render/sidecar/browser/shared_browser.mjs';
import { withDoctype } from '../../../src/render/sidecar/browser/shown_html.mjs';
import { Painter } from '../../../src/render/sidecar/pictures/painter.mjs';

const painter = new Painter();
after(() => painter.close());

const draw = (content, more = {}) => painter.drawPage({ content, width: 200, maxHeight: 1000, files: {}, ...more });
const sizeOf = (png) => { const bytes = Buffer.from(png, 'base64'); return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)]; };

test('a page is as high as its content, up to a bound', async () => {
  const low = await draw('<body style="margin:0"><div style="height:40px">Low</div>');
  assert.deepEqual([low.width, low.height, low.isCut, sizeOf(low.png)], [200, 40, false, [200, 40]]);
  const high = await draw('<body style="margin:0"><div style="height:4000px">High</div>');
  assert.deepEqual([high.height, high.isCut, sizeOf(high.png)], [1000, true, [200, 1000]]);
  const hidden = await draw('<html style="display:none">');
  assert.ok(hidden.height >= 1);
});

test('a page without a document type gets one, whatever comments come first', () => {
  const comments = '<!-- a --> <!---->\n'.repeat(200);
  for (const own of ['<!DOCTYPE html><p>x</p>', ' <!doctype html>', `${comments}<!DOCTYPE html><p>x</p>`]) assert.equal(withDoctype(own), own);
  for (const none of ['', '<p>x</p>', `${comments}<p>x</p>`, `${comments}<!-- <!DOCTYPE html>`, '<!-- a -->x<!DOCTYPE html>']) assert.equal(withDoctype(none), `<!DOCTYPE html>${none}`);
});

test('scripts do not run, and only images are named as missing', async () => {
  const script = '<script>document.body.style.height = "900px"</script><svg onload="document.body.remove()"></svg>';
  const { height, missing } = await draw(`<!DOCTYPE html><body style="margin:0;height:30px;overflow:hidden">${script}
    <meta http-equiv="refresh" content="0;url=http://a.example/next"><link rel="stylesheet" href="http://a.example/a.css">
    <iframe src="http://a.example/frame"></iframe><img src="http://a.example/1.png"><img src="file:///etc/passwd"><img src="relative.png">`);
  assert.deepEqual([height, missing], [30, ['http://a.example/1.png']]);
});

test('a page that takes too long is refused, and the next one is drawn', async () => {
  const slow = new Painter(new SharedBrowser(), { pageMs: 300 });
  const heavy = `<style>div{filter:blur(40px);width:9000px;height:9000px;box-shadow:0 0 400px red}</style>${'<div>'.repeat(4000)}`;
  await assert.rejects(slow.drawPage({ content: heavy, width: 200, maxHeight: 1000, files: {} }), (error) => {
    assert.deepEqual([error.code, error.param], ['INVALID_REQUEST', 'html']);
    return true;
  });
  slow.close();
  assert.equal((await draw('<p>Next</p>')).width, 200);
});

test('without a browser the answer says what is missing', async () => {
  const none = new Painter(new SharedBrowser({ find: () => null }));
  await assert.rejects(none.drawPage({ content: '<p>x</p>', width: 200, maxHeight: 100, files: {} }), { code: 'SERVICE_UNAVAILABLE', message: /chromium-headless-shell/ });
});
