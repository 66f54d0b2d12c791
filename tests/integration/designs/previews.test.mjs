// Previews of a design in mail clients, with the real browser: pictures by a signed link, clients that are not ready, and one charge or none
// whatever ends in the middle (R-084, R-161, R-232, R-233, R-234, R-235, D-42, D-138, A-09).

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { sql } from '../../lib/database.mjs';
import { ImageServer } from '../../lib/image_server.mjs';
import { noisePng } from '../../lib/images.mjs';
import { Installation } from '../../lib/installation.mjs';
import { commandLine, isAlive, kill, parentOf, until } from '../../lib/processes.mjs';

const LIMIT = { timeout: 600_000 };
const PUBLIC_URL = 'https://mail.example/posthorn';
const BROWSER = 'chromium-headless-shell';
const DEFAULTS = 6;
const CLIENTS = JSON.parse(readFileSync(new URL('../../../schemas/clients.json', import.meta.url), 'utf8')).map(({ id }) => id);
/** Of one call. */
const CLIENTS_MAX = 12;

/** A browser that a test can hold before it starts, and that can be missing. */
class HeldBrowser {
  folder = mkdtempSync(join(tmpdir(), 'posthorn-browser-'));

  constructor() {
    chmodSync(this.folder, 0o755); // the wrapper may run as nobody
    const real = execFileSync('/bin/sh', ['-c', `command -v ${BROWSER}`], { encoding: 'utf8' }).trim();
    writeFileSync(join(this.folder, BROWSER), `#!/bin/sh
while [ -d ${this.folder}/hold ]; do sleep 0.05; done
[ -d ${this.folder}/broken ] && exit 1
exec ${real} "$@"\n`, { mode: 0o755 });
  }

  set(state) {
    mkdirSync(join(this.folder, state));
  }

  clear(state) {
    rmSync(join(this.folder, state), { recursive: true, force: true });
  }
}

const processesBelow = (pid) => readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number)
  .filter((child) => parentOf(child) === pid).flatMap((child) => [child, ...processesBelow(child)]);

describe('client previews', LIMIT, () => {
  const browser = new HeldBrowser();
  const images = new ImageServer();
  let installation;
  let clock;
  let server;
  let rest;
  let emailId;

  before(async () => {
    await images.start();
    installation = new Installation({ PUBLIC_URL, RENDER_PATIENCE: 40, FETCH_ALLOW_LOOPBACK: 1 });
    clock = installation.movableClock();
    installation.environment.PATH = `${browser.folder}:${installation.environment.PATH}`;
    server = await installation.serve();
    rest = server.client(await installation.key('--brand', await installation.brandId()), {}, 4);
    const content = '<p style="box-shadow:2px 2px red">Hello {{ firstName | default: "reader" }}</p><!--[if mso]><p>Outlook</p><![endif]-->';
    emailId = (await rest.post('/v1/emails/import', { source: { kind: 'content', format: 'html', content }, title: 'Spring' })).body.emailId;
  });

  after(async () => {
    rest.close();
    await images.stop();
    browser.clear('hold');
    const left = await installation.dispose();
    rmSync(browser.folder, { recursive: true });
    assert.deepEqual(left, []);
  });

  const used = async () => (await rest.get('/v1/usage')).body.credits.used;
  const preview = (body, headers) => rest.post(`/v1/emails/${emailId}/client-previews`, body, headers);
  const poll = async (previewId) => (await rest.get(`/v1/emails/client-previews/${previewId}`)).body;
  const settled = async (previewId) => {
    await until('no client is pending', async () => (await poll(previewId)).pending.length === 0, 120_000);
    await until('no job is open', async () => (await sql(installation, "select count(*) from jobs where state in ('queued', 'running')"))[0] === '0', 120_000);
    return poll(previewId);
  };
  /** An answer comes after 9 seconds at the latest. It tells a cost when it has a new picture; otherwise the charge comes with the first one. */
  const assertCost = ({ status, headers, body }, added) => {
    assert.equal(status, 200, JSON.stringify(body));
    if (added.some((client) => client.status === 'completed')) assert.equal(headers['x-credit-cost'], '10', JSON.stringify(body));
  };
  const browsers = () => installation.renderers().flatMap(({ pid }) => processesBelow(pid)).filter((pid) => commandLine(pid).includes(`${BROWSER} --`));
  const endBrowser = async () => {
    const pids = browsers();
    for (const pid of pids) kill(pid);
    await until('the browser is gone', () => !pids.some(isAlive));
  };

  test('clients without a picture are pending, and a second call for them is not charged', async () => {
    const before = await used();
    browser.set('hold');
    const asked = preview({ clients: ['text', 'applemail16'] });
    await until('a client is being drawn', async () => (await sql(installation, 'select count(*) from preview_clients where drawn_by is not null'))[0] !== '0');
    clock.advance(10);
    const first = await asked;
    assert.deepEqual([first.status, first.body.pending], [200, ['text', 'applemail16']], JSON.stringify(first.body));
    assert.deepEqual(first.body.previews.map(({ status, imageUrl }) => [status, imageUrl]), [['running', null], ['running', null]]);
    assert.equal(await used(), before, 'nothing is charged before there is a picture');
    const again = preview({ clients: first.body.pending });
    await until('the second call waits, too', async () =>
      (await sql(installation, "select count(*) from jobs where kind = 'answer_previews' and state in ('queued', 'running')"))[0] === '2');
    browser.clear('hold');
    const second = await again;
    assert.deepEqual([second.status, second.body.previewId, second.headers['x-credit-cost']], [200, first.body.previewId, '0'], JSON.stringify(second.body));
    const done = await settled(first.body.previewId);
    assert.deepEqual(done.previews.map(({ status }) => status), ['completed', 'completed']);
    assert.equal(await used(), before + 10);
  });

  test('the default clients are drawn for 10 credits, and each picture has an address that nobody can guess', async () => {
    const before = await used();
    const answer = await preview({});
    assertCost(answer, answer.body.previews);
    const { previews, previewId } = await settled(answer.body.previewId);
    assert.equal(previews.length, DEFAULTS);
    assert.equal(await used(), before + 10);
    const word = previews.find(({ id }) => id === 'outlook2021_win11_lm_dt');
    assert.ok(word.transforms.some(({ id }) => id === 'word-comments'));
    const url = word.imageUrl.replace(PUBLIC_URL, `http://127.0.0.1:${server.port}`);
    assert.match(word.imageUrl, new RegExp(`^${PUBLIC_URL}/previews/[\\w-]{60,}$`));
    const got = await fetch(url);
    const png = Buffer.from(await got.arrayBuffer());
    assert.deepEqual([got.status, got.headers.get('content-type'), png.readUInt32BE(16), png.readUInt32BE(20)], [200, 'image/png', word.width, word.height]);
    const [last] = url.slice(-1);
    assert.equal((await fetch(url.slice(0, -1) + (last === 'A' ? 'B' : 'A'))).status, 404);
    assert.equal((await fetch(url, { method: 'POST' })).status, 405);

    const nothingNew = await preview({ previewId });
    assert.deepEqual([nothingNew.headers['x-credit-cost'], nothingNew.body.previews.length], ['0', DEFAULTS]);
    const one = await preview({ previewId, clients: ['images_off', 'applemail16'] });
    assertCost(one, one.body.previews.filter(({ id }) => id === 'images_off'));
    assert.equal(one.body.previews.length, DEFAULTS + 1, JSON.stringify(one.body));
    await settled(previewId);
    assert.equal(await used(), before + 20);
  });

  test('a job draws all clients, also when their pictures together have more bytes than a job may have', async () => {
    images.files['/noise.png'] = ['image/png', noisePng(700, 1300)];
    const content = `<img src="${images.base}/noise.png" width="700" height="1300" alt="Noise" style="display:block">`.repeat(3);
    const { emailId: id } = (await rest.post('/v1/emails/import', { source: { kind: 'content', format: 'html', content }, title: 'Noise' })).body;
    const answer = await rest.post(`/v1/emails/${id}/client-previews`, { clients: CLIENTS.slice(0, CLIENTS_MAX) });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const { previews } = await settled(answer.body.previewId);
    assert.deepEqual(previews.map(({ reason }) => reason ?? '').filter((reason) => reason.includes('memory')), []);
    assert.ok(previews.filter(({ status }) => status === 'completed').length >= 6, JSON.stringify(previews.map(({ reason }) => reason)));
  });

  test('without a browser the answer is 503 and free, and the same key works later', async () => {
    await endBrowser();
    const before = await used();
    browser.set('broken');
    const headers = { 'idempotency-key': 'previews-1' };
    const refused = await preview({ clients: ['text'] }, headers);
    assert.deepEqual([refused.status, refused.body.error.code], [503, 'SERVICE_UNAVAILABLE'], JSON.stringify(refused.body));
    assert.equal(await used(), before);
    browser.clear('broken');
    const drawn = await preview({ clients: ['text'] }, headers);
    assertCost(drawn, drawn.body.previews);
    await settled(drawn.body.previewId);
    const replayed = await preview({ clients: ['text'] }, headers);
    assert.equal(replayed.body.previewId, drawn.body.previewId);
    assert.equal(await used(), before + 10);
  });

  test('a browser that is killed in the middle is started again', async () => {
    await endBrowser();
    const before = await used();
    const asked = preview({});
    await until('the browser runs', () => browsers().length > 0);
    await endBrowser();
    const answer = await asked;
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const { previews } = await settled(answer.body.previewId);
    assert.deepEqual(previews.map(({ status }) => status), Array(DEFAULTS).fill('completed'), JSON.stringify(previews.map(({ reason }) => reason)));
    assert.equal(await used(), before + 10);
  });

  test('a killed worker charges once; expired previews and those of a deleted design are gone', async () => {
    await endBrowser();
    const before = await used();
    await sql(installation, 'update previews set expires_at = now()');
    browser.set('hold');
    const asked = preview({ clients: ['text', 'applemail16'] });
    await until('a client is being drawn', async () => (await sql(installation, "select count(*) from preview_clients where status = 'running' and drawn_by is not null"))[0] !== '0');
    kill(installation.runnerPid);
    browser.clear('hold');
    const answer = await asked;
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const { previews } = await settled(answer.body.previewId);
    assert.deepEqual(previews.map(({ status }) => status), ['completed', 'completed']);
    assert.equal(await used(), before + 10);
    await until('expired previews are deleted', async () => (await sql(installation, 'select count(*) from previews'))[0] === '1');
    assert.equal((await rest.request('DELETE', `/v1/emails/${emailId}`)).status, 200);
    assert.equal((await rest.get(`/v1/emails/client-previews/${answer.body.previewId}`)).status, 404);
    assert.equal((await sql(installation, 'select count(*) from preview_clients'))[0], '0');
  });
});
