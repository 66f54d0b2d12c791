// The pictures of designs in lists: drawn in the background after each version, served to anybody, absent without a browser and without
// a public URL.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { sql } from '../../lib/database.mjs';
import { Installation } from '../../lib/installation.mjs';
import { pathWithout } from '../../lib/path.mjs';
import { until } from '../../lib/processes.mjs';

const PUBLIC_URL = 'https://mail.example/posthorn';
const PICTURE = /^https:\/\/mail\.example\/posthorn(\/assets\/([0-9a-z]{52}\.png))$/;
const INDEXED = 3;
const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;
const WAIT_MS = 180_000; // for up to three designs on a busy machine

/** A design whose band has a colour and a height. */
const designOf = (colour, height = 300) => `<html><head><title>Letter</title></head><body style="margin:0">
  <div style="height:${height}px;background:${colour}"><p>Hello {{ firstName }}</p></div></body></html>`;

describe('pictures of designs in lists', { timeout: 600_000 }, () => {
  const installation = new Installation({ PUBLIC_URL });
  const clock = installation.movableClock();
  const path = installation.environment.PATH;
  let key;
  let server;
  let rest;
  let emailId;

  async function serve() {
    rest.close();
    await server.stop();
    await installation.stop(); // its jobs run in a process of its own
    server = await installation.serve();
    rest = server.client(key);
  }

  const read = async (id = emailId) => (await rest.get(`/v1/emails/${id}`)).body;
  const readVersion = async (id) => (await rest.get(`/v1/emails/${emailId}?emailVersionId=${id}`)).body.previewImage;
  const row = async () => (await rest.get('/v1/emails')).body.data.find((email) => email.emailId === emailId);
  const waiting = async () => Number((await sql(installation, "select count(*) from jobs where state in ('queued', 'running')"))[0]);
  /** A minute that passes while the job of the brand is open begins no other one. */
  const idle = () => until('the job has ended', async () => (await waiting()) === 0);
  const count = async (condition) => Number((await sql(installation, `select count(*) from emails where ${condition}`))[0]);

  const spare = () => sql(installation, 'select image from spare_pictures');
  const storedFiles = () => readdirSync(join(installation.data, 'assets'), { recursive: true }).map((path) => path.replace('/', ''));

  async function add(html) {
    const { status, body } = await rest.post('/v1/emails/import', { content: html });
    assert.equal(status, 201, JSON.stringify(body));
    return body.emailId;
  }

  /** Its size and the type of its colours. It is loaded without a credential. */
  async function load(url) {
    const [, asset] = PICTURE.exec(url ?? '') ?? assert.fail(`the picture is ${url}`);
    const answer = await fetch(`http://127.0.0.1:${server.port}${asset}`);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-type'), 'image/png');
    const png = Buffer.from(await answer.arrayBuffer());
    assert.equal(png.toString('latin1', 1, 4), 'PNG');
    return { width: png.readUInt32BE(16), height: png.readUInt32BE(20), colourType: png[25] };
  }

  before(async () => {
    installation.environment.PATH = pathWithout(installation.folder, 'chromium-headless-shell');
    server = await installation.serve();
    key = await installation.key('--brand', await installation.brandId());
    rest = server.client(key);
    emailId = await add(designOf('#336699'));
  });

  after(async () => {
    rest.close();
    assert.deepEqual(await installation.dispose(), []);
  });

  test('without a browser a design has none', async () => {
    assert.equal(await waiting(), 0, 'no call enqueues a drawing');
    clock.advance(90);
    await until('it is put off', async () => (await count('preview_tried_at is not null')) === 1);
    await idle();
    assert.ok(!('previewImage' in (await read())));
  });

  test('it is drawn an hour later, 600 pixels wide and in few colours, and no image of the library', async () => {
    installation.environment.PATH = path;
    await serve();
    const tall = await add(designOf('#993366', 3000)); // the workers have begun
    clock.advance(HOUR_S + 90);
    await until('both are drawn', async () => 'previewImage' in (await read()) && 'previewImage' in (await read(tall)), WAIT_MS);
    const { previewImage } = await read();
    assert.equal((await row()).previewImage, previewImage);
    const { width, height, colourType } = await load(previewImage);
    assert.deepEqual([width, colourType], [600, INDEXED]);
    assert.ok(height >= 300 && height < 900, `${height} pixels`);
    assert.deepEqual(await load((await read(tall)).previewImage), { width: 600, height: 900, colourType: INDEXED });
    assert.deepEqual((await rest.get('/v1/brand/images')).body.data, []);
  });

  test('an edit changes it', async () => {
    const { previewImage, emailVersionId: first } = await read();
    await installation.call('edit_email', { emailId, replacements: [{ find: 'Hello', with: 'Goodbye' }] });
    assert.equal((await read()).previewImage, previewImage, 'the picture before stays until then');
    await idle();
    clock.advance(90);
    await until('it is drawn again', async () => (await read()).previewImage !== previewImage, WAIT_MS);
    const drawn = await read();
    assert.equal((await load(drawn.previewImage)).width, 600);
    assert.equal(await readVersion(drawn.emailVersionId), drawn.previewImage);
    assert.equal(await readVersion(first), undefined, 'a saved version shows no picture of another one');
  });

  test('pictures that no design shows are removed after seven days, and nothing else', async () => {
    const fileOf = async (id) => PICTURE.exec((await read(id)).previewImage)[2];
    const first = await fileOf(emailId);
    const kept = await add(designOf('#336633'));
    const deleted = await add(designOf('#663366'));
    await installation.call('edit_email', { emailId, replacements: [{ find: 'Goodbye', with: 'Welcome' }] });
    await idle();
    clock.advance(90);
    await until('all are drawn', async () => (await fileOf(emailId)) !== first && 'previewImage' in (await read(kept)) && 'previewImage' in (await read(deleted)), WAIT_MS);
    const ofDeleted = await fileOf(deleted);
    assert.equal((await rest.request('DELETE', `/v1/emails/${deleted}`)).status, 200);
    clock.advance(6 * DAY_S);
    await until('the others are noted', async () => (await spare()).includes(ofDeleted));
    for (const file of [first, ofDeleted]) assert.ok(storedFiles().includes(file));
    clock.advance(DAY_S + 90);
    await until('the upkeep has come', async () => (await spare()).length === 0);
    const files = storedFiles();
    for (const file of [first, ofDeleted]) assert.ok(!files.includes(file), file);
    for (const id of [emailId, kept]) assert.equal((await load((await read(id)).previewImage)).width, 600);
  });

  test('without a public URL it has no address', async () => {
    delete installation.environment.POSTHORN_PUBLIC_URL;
    await serve();
    assert.ok(!('previewImage' in (await read())));
    assert.ok(!('previewImage' in (await row())));
  });
});
