// Full disks while designs are checked and drawn: the store of images alone, and the whole data folder with its database. A call ends
// as a whole or not at all, says why, costs nothing when it did nothing, and works again when there is room. A small file system in memory
// stands in; where none can be mounted the tests are left out.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { canMount, mountSmall } from '../../faults/disks.mjs';
import { sql } from '../../lib/database.mjs';
import { Installation } from '../../lib/installation.mjs';
import { pause, until } from '../../lib/processes.mjs';

const LIMIT = { timeout: 600_000, skip: canMount(join(tmpdir(), `posthorn-mount-${process.pid}`)) ? false : 'no file system can be mounted here' };
const WAIT_MS = 120_000;
const FULL_MS = 8000;
const HOUR_S = 3600;
const ROOM_MIB = 24;
const HTML = `<!DOCTYPE html><html lang="en"><head><title>Tea</title></head><body><h1>Spring tea</h1>${'<p style="box-shadow:2px 2px red">Fresh leaves have come.</p>'.repeat(40)}</body></html>`;

/** Takes all room of a file system; gives the function that frees it. */
function fill(folder) {
  const path = join(folder, 'filler');
  const file = openSync(path, 'w');
  for (let size = 1 << 20; size >= 1;) {
    try {
      writeSync(file, Buffer.alloc(size));
    } catch (problem) {
      if (problem.code !== 'ENOSPC') throw problem;
      size >>= 1;
    }
  }
  closeSync(file);
  return () => rmSync(path, { force: true });
}

/** An installation with a design, and what a test asks it. */
class Shop {
  async open(options, prepare = () => {}) {
    this.installation = new Installation(options);
    this.clock = this.installation.movableClock();
    this.key = await this.installation.key('--brand', await this.installation.brandId());
    await this.installation.run('stop');
    await until('all processes have ended', () => this.installation.processes().length === 0, WAIT_MS);
    await prepare(this.installation);
    this.server = await this.installation.serve();
    this.rest = this.server.client(this.key, {}, 4);
    const { status, body } = await this.rest.post('/v1/emails/import', { content: HTML, title: 'Tea', subjectLine: 'Spring tea has come' });
    assert.equal(status, 201, JSON.stringify(body));
    this.emailId = body.emailId;
  }

  async close() {
    this.rest?.close();
    assert.deepEqual(await this.installation.dispose(), []);
  }

  credits = async () => (await this.rest.get('/v1/usage')).body.credits;
  count = async (query) => Number((await sql(this.installation, `select count(*) from ${query}`))[0]);
  audit = (key, post = 'post') => this.rest[post]('/v1/emails/audit', { emailId: this.emailId }, { 'idempotency-key': key });
  previews = (key, post = 'post') => this.rest[post](`/v1/emails/${this.emailId}/client-previews`, {}, { 'idempotency-key': key });
  picture = (key) => this.rest.postToEnd('/v1/content/html-to-png', { html: '<h1>Tea</h1>' }, { 'idempotency-key': key });
  quiet = () => until('no job is open', async () => (await this.count("jobs where state in ('queued', 'running')")) === 0, WAIT_MS);
}

describe('the store of images is full', LIMIT, () => {
  const shop = new Shop();
  let free;
  let disk;
  let store;

  before(() => shop.open({ PUBLIC_URL: 'https://mail.example' }, (installation) => {
    store = join(installation.data, 'assets');
    disk = mountSmall(store, '64k');
    installation.atEnd(async () => {
      await installation.run('stop');
      disk.unmount();
    });
    free = fill(store);
  }));
  after(() => shop.close());
  const files = () => readdirSync(store, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile() && entry.name !== 'filler');

  test('a picture of HTML is refused, costs nothing and leaves nothing', async () => {
    const before = (await shop.credits()).used;
    const { status, body } = await shop.picture('picture');
    assert.deepEqual([status, body.error?.code, /image store is not available/.test(body.error?.message)], [503, 'SERVICE_UNAVAILABLE', true], JSON.stringify(body));
    const { used, reserved } = await shop.credits();
    assert.deepEqual([used - before, reserved, files(), await shop.count('assets')], [0, 0, [], 0]);
  });

  test('audits and previews go on, because they store nothing there', async () => {
    const { body } = await shop.audit('audit', 'postToEnd');
    assert.equal(body.completion?.status, 'complete', JSON.stringify(body));
    assert.equal((await shop.previews('previews', 'postToEnd')).status, 200);
    await shop.quiet();
    assert.equal(await shop.count("preview_clients where status <> 'completed'"), 0);
  });

  test('a design gets its previewImage, and the same key its picture, when there is room', async () => {
    shop.clock.advance(90);
    await until('the drawing is put off', async () => (await shop.count('emails where preview_tried_at is not null')) === 1, WAIT_MS);
    assert.deepEqual([files(), 'previewImage' in (await shop.rest.get(`/v1/emails/${shop.emailId}`)).body], [[], false]);
    free();
    disk.grow();
    const drawn = await shop.picture('picture');
    assert.deepEqual([drawn.status, drawn.headers['x-credit-cost']], [200, '1'], JSON.stringify(drawn.body));
    shop.clock.advance(HOUR_S + 90);
    await until('the design has a picture', async () => 'previewImage' in (await shop.rest.get(`/v1/emails/${shop.emailId}`)).body, WAIT_MS);
    assert.equal(files().length, 2);
  });
});

describe('the disk of the data folder is full', LIMIT, () => {
  const shop = new Shop();

  before(() => shop.open({ PUBLIC_URL: 'https://mail.example' }, moveToDisk));
  after(() => shop.close());

  /** Moves the data folder onto a disk with little room. */
  function moveToDisk(installation) {
    const aside = `${installation.data}.aside`;
    execFileSync('mv', [installation.data, aside]);
    const [kib] = execFileSync('du', ['-sk', aside], { encoding: 'utf8' }).split('\t');
    const disk = mountSmall(installation.data, `${Number(kib) + ROOM_MIB * 1024}k`);
    execFileSync('cp', ['-a', `${aside}/.`, installation.data]);
    rmSync(aside, { recursive: true });
    installation.atEnd(async () => {
      await installation.run('stop');
      disk.unmount();
    });
  }

  /** Repeats a call under its key until it has succeeded; each refusal must name a reason. */
  async function finish(call, key) {
    let last;
    await until('the call succeeds', async () => {
      last = await call(key).catch((problem) => ({ problem }));
      if (last.status >= 400) assert.ok(last.body.error.message.length > 0, JSON.stringify(last.body));
      return last.status === 200;
    }, WAIT_MS).catch((problem) => assert.fail(`${problem.message}: ${last.problem ?? JSON.stringify(last.body)}`));
    return last;
  }

  for (const [name, price] of [['audit', 5], ['previews', 10]]) {
    test(`${name}: refused before it begins, with the reason and for nothing`, async () => {
      const before = (await shop.credits()).used;
      const free = fill(shop.installation.data);
      const { status, body } = await shop[name](`${name}-1`);
      free();
      assert.deepEqual([status, body.error?.code, /out of resources/.test(body.error?.message)], [503, 'SERVICE_UNAVAILABLE', true], JSON.stringify(body));
      await shop.quiet();
      const { used, reserved } = await shop.credits();
      assert.deepEqual([used - before, reserved], [0, 0]);
      await isWhole();
    });

    test(`${name}: when the disk fills while it runs, it ends as a whole or not at all, and is charged once`, async (t) => {
      const before = (await shop.credits()).used;
      const asked = shop[name](`${name}-2`).catch((problem) => ({ problem }));
      await until('its job runs', async () => (await shop.count("jobs where state = 'running'")) > 0, WAIT_MS);
      const free = fill(shop.installation.data);
      await Promise.race([asked, pause(FULL_MS)]); // what is asserted holds whatever the job has reached by then
      free();
      const first = await asked;
      t.diagnostic(`the call: ${first.status} ${first.body?.error?.message ?? ''}`);
      // A job that could not be settled keeps its lease of five minutes. Here the lease ends at once.
      await sql(shop.installation, "update jobs set lease_until = clock_timestamp() where state = 'running'");
      const { body } = await finish(shop[name], `${name}-2`);
      await shop.quiet();
      if (name === 'audit') assert.equal(body.completion.status, 'complete', JSON.stringify(body));
      const { used, reserved } = await shop.credits();
      assert.deepEqual([used - before, reserved], [price, 0]);
      await isWhole();
    });
  }

  async function isWhole() {
    assert.equal(await shop.count("preview_clients where status = 'completed' and (picture is null or width is null)"), 0);
    assert.equal(await shop.count('audits where kept <> (select count(*) from audit_findings f where f.brand_id = audits.brand_id and f.audit_id = audits.id)'), 0);
  }
});
