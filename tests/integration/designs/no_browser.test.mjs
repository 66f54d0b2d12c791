// A whole installation without Chromium: what needs it says so and costs nothing, and everything else goes on.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '../../lib/database.mjs';
import { Installation } from '../../lib/installation.mjs';
import { pathWithout } from '../../lib/path.mjs';
import { until } from '../../lib/processes.mjs';

const PACKAGE = /install the Debian package chromium-headless-shell/;
const HTML = '<!DOCTYPE html><html lang="en"><head><title>Tea</title></head><body><h1>Spring tea</h1><p>Fresh leaves have come.</p><p><img src="a.png"></p></body></html>';
const PRICES = { audit: 5, accessibility: 5, previews: 10, picture: 1 };

describe('an installation without Chromium', { timeout: 600_000 }, () => {
  const installation = new Installation({ PUBLIC_URL: 'https://mail.example/posthorn' });
  const clock = installation.movableClock();
  const path = installation.environment.PATH;
  let key;
  let server;
  let rest;
  let emailId;

  async function serve() {
    server = await installation.serve();
    rest = server.client(key);
  }

  before(async () => {
    installation.environment.PATH = pathWithout(installation.folder, 'chromium-headless-shell');
    key = await installation.key('--brand', await installation.brandId());
    await serve();
    const { status, body } = await rest.post('/v1/emails/import', { content: HTML, title: 'Tea', subjectLine: 'Spring tea has come' });
    assert.equal(status, 201, JSON.stringify(body));
    emailId = body.emailId;
  });

  after(async () => {
    rest.close();
    assert.deepEqual(await installation.dispose(), []);
  });

  const credits = async () => (await rest.get('/v1/usage')).body.credits;
  const count = async (query) => Number((await sql(installation, `select count(*) from ${query}`))[0]);

  /** Every call has a key of its own that stays: it is used again when there is a browser. */
  const CALLS = {
    audit: () => rest.post('/v1/emails/audit', { emailId }, { 'idempotency-key': 'audit' }),
    accessibility: () => rest.post(`/v1/emails/${emailId}/accessibility-audit`, {}, { 'idempotency-key': 'accessibility' }),
    previews: () => rest.post(`/v1/emails/${emailId}/client-previews`, { clients: ['text', 'applemail16'] }, { 'idempotency-key': 'previews' }),
    picture: () => rest.post('/v1/content/html-to-png', { html: '<p>Tea</p>' }, { 'idempotency-key': 'picture' }),
  };

  /** The answer of a call that must cost nothing and hold nothing. */
  async function free(name) {
    const before = await credits();
    const answer = await CALLS[name]();
    const { used, reserved } = await credits();
    assert.deepEqual([used - before.used, reserved], [0, 0], `${name}: ${JSON.stringify(answer.body)}`);
    return answer;
  }

  for (const name of ['audit', 'accessibility']) {
    test(`an audit is partial: ${name} (R-151, R-160, R-230)`, async () => {
      const { status, headers, body } = await free(name);
      assert.deepEqual([status, headers['x-credit-cost'], body.completion], [200, '0', { status: 'partial', score: null }], JSON.stringify(body));
      const { unavailable, ...others } = body.engines.find(({ engine }) => engine === 'browser');
      assert.ok(unavailable > 0);
      assert.deepEqual([others.passed ?? 0, others.issues ?? 0], [0, 0]);
      const saved = (await rest.get(`/v1/emails/audits/${body.auditId}`)).body;
      assert.deepEqual(saved.completion, body.completion);
      for (const check of saved.checks.filter(({ engine }) => engine === 'browser')) {
        assert.equal(check.status, 'unavailable');
        assert.match(check.reason, PACKAGE);
      }
      assert.ok(saved.checks.some(({ engine, status }) => engine === 'static' && status === 'issues'), 'the other engines have checked');
      assert.ok(saved.checks.every(({ engine, status }) => engine === 'browser' || status !== 'unavailable'));
    });
  }

  test('previews and pictures of HTML are refused with the package to install', async () => {
    for (const name of ['previews', 'picture']) {
      const { status, body } = await free(name);
      assert.deepEqual([status, body.error?.code], [503, 'SERVICE_UNAVAILABLE'], JSON.stringify(body));
      assert.match(body.error.message, PACKAGE);
    }
    assert.equal(await count("preview_clients where status = 'completed' or picture is not null"), 0);
    assert.deepEqual((await rest.get('/v1/brand/images')).body.data, []);
  });

  test('a design has no previewImage (R-198)', async () => {
    clock.advance(90);
    await until('it was tried', async () => (await count('emails where preview_tried_at is not null')) === 1);
    assert.ok(!('previewImage' in (await rest.get(`/v1/emails/${emailId}`)).body));
    assert.ok(!('previewImage' in (await rest.get('/v1/emails')).body.data[0]));
  });

  test('the doctor names what is missing and what it costs', async () => {
    const { code, stdout } = await installation.run('doctor');
    const { ok, htmlProcess } = JSON.parse(stdout);
    assert.deepEqual([code, ok, htmlProcess.ok, htmlProcess.jsx], [0, true, true, false]);
    assert.match(htmlProcess.warning, PACKAGE);
    assert.match(htmlProcess.warning, /previews .* are refused, .* no previewImage, and audits end partial/);
  });

  test('with a browser the same keys work, and are charged once', async () => {
    installation.environment.PATH = path;
    rest.close();
    await server.stop();
    await installation.stop();
    await serve();
    assert.equal(JSON.parse((await installation.run('doctor')).stdout).htmlProcess.warning, undefined);
    for (const [name, price] of Object.entries(PRICES)) {
      const before = (await credits()).used;
      for (const cost of [price, price]) { // the second call replays the first one
        const { status, headers, body } = await CALLS[name]();
        assert.deepEqual([status, headers['x-credit-cost']], [200, String(cost)], `${name}: ${JSON.stringify(body)}`);
        if (body.completion) assert.equal(body.completion.status, 'complete', JSON.stringify(body.engines));
      }
      assert.equal((await credits()).used, before + price, name);
    }
  });
});
