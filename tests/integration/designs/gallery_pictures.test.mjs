// The preview pictures of the gallery: anybody can load the address that a template gives for its picture.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Installation } from '../../lib/installation.mjs';

const PUBLIC_URL = 'https://mail.example/posthorn';
const PICTURE = /^https:\/\/mail\.example\/posthorn(\/assets\/gallery-[0-9a-f]{32}\.(?:png|jpg|webp|gif))$/;
const MAGIC = { png: '89504e47', jpg: 'ffd8ff', webp: '52494646', gif: '47494638' };

describe('the pictures of the gallery', { timeout: 600_000 }, () => {
  const installation = new Installation({ PUBLIC_URL });
  let server;
  let rest;
  const load = (path) => fetch(`http://127.0.0.1:${server.port}${path}`);

  before(async () => {
    server = await installation.serve();
    rest = server.client(await installation.key());
  });

  after(async () => {
    rest.close();
    assert.deepEqual(await installation.dispose(), []);
  });

  test('R-189: every row of the gallery has its HTML and a picture that loads', async () => {
    const { status, body } = await rest.get('/v1/templates');
    assert.equal(status, 200);
    assert.ok(body.data.length >= 2);
    for (const { emailId, html, previewImage } of body.data) {
      assert.match(html, /^<!DOCTYPE html/i, emailId);
      const [, path] = PICTURE.exec(previewImage ?? '') ?? assert.fail(`${emailId} has the picture ${previewImage}`);
      const picture = await load(path);
      assert.equal(picture.status, 200, emailId);
      assert.match(picture.headers.get('cache-control'), /immutable/);
      const begin = Buffer.from(await picture.arrayBuffer()).toString('hex', 0, 4);
      assert.ok(begin.startsWith(MAGIC[path.split('.').pop()]), `the picture of ${emailId} is what its name says`);
    }
    assert.equal((await load('/assets/gallery-00000000000000000000000000000000.png')).status, 404);
  });
});
