// Sessions of signed-in people: their start and end, their rights, the keys that only an administrator makes, and the order in which
// the faults of a call are reported.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { sql } from '../../lib/database.mjs';
import { assertRefusedWithinASecond } from '../../lib/brand_fixture.mjs';
import { Installation } from '../../lib/installation.mjs';
import { until } from '../../lib/processes.mjs';

const CEILING = 300;

function assertRefused({ status, body }, wanted, code, param) {
  const shown = JSON.stringify(body);
  assert.equal(status, wanted, shown);
  assert.equal(body.error.code, code, shown);
  assert.equal(body.error.param, param, shown);
}

describe('sessions', { timeout: 600_000 }, () => {
  const installation = new Installation();
  let server;
  let elsewhere; // another process on the same database
  let brandId;
  let admin; // a client of a signed-in administrator
  const clients = [];
  const secrets = [];

  const using = (client) => {
    clients.push(client);
    return client;
  };
  const byKey = (key, at = server) => using(at.client(key));
  const byCookie = (cookie, at = server) => using(at.client(undefined, { cookie: `theme=dark; __session=${cookie}` }));
  const session = async (...options) => {
    const made = await installation.admin('session', 'create', ...options);
    secrets.push(made.cookie);
    return made;
  };
  const createKey = async (body = {}, by = admin) => {
    const made = await by.post('/v1/api-keys', body);
    assert.equal(made.status, 201, JSON.stringify(made.body));
    secrets.push(made.body.key);
    return made.body;
  };

  before(async () => {
    server = await installation.serve('--log-level', 'debug');
    elsewhere = await installation.serve('--log-level', 'debug');
    brandId = await installation.brandId();
    admin = byCookie((await session('--name', 'Ada')).cookie);
  });

  after(async () => {
    clients.forEach((client) => client.close());
    assert.deepEqual(await installation.dispose(), []);
  });

  // ---- Sessions ----

  test('the cookie authenticates like a key; a header wins over it (R-044, R-057)', async () => {
    assert.equal((await admin.get('/v1/brand', { 'x-brand-id': brandId })).body.brandId, brandId);
    assertRefused(await admin.get('/v1/brand'), 400, 'BRAND_ID_REQUIRED');
    assert.equal((await admin.post('/v1/contacts', { email: 'ada@example.com' }, { 'x-brand-id': brandId })).status, 201);
    assertRefused(await admin.get('/v1/usage', { 'x-api-key': 'nonsense' }), 401, 'INVALID_API_KEY');
    assertRefused(await admin.get('/v1/api-keys', { authorization: `Bearer ${await installation.key()}` }), 403, 'INSUFFICIENT_ROLE',
      'org_admin');
  });

  test('what is no session, or none any more, is no credential (R-041, R-046)', async () => {
    const { cookie, sessionId } = await session();
    const short = await session('--expires', '1s');
    const ending = byCookie(cookie);
    assert.equal((await ending.get('/v1/api-keys')).status, 200);
    for (const value of ['', 'nonsense', cookie.slice(0, -1), `${cookie}0`, `${cookie.slice(0, -1)}${cookie.at(-1) === 'a' ? 'b' : 'a'}`,
      'x'.repeat(4000)]) {
      assertRefused(await byCookie(value).get('/v1/usage'), 401, 'AUTHENTICATION_REQUIRED');
      assertRefused(await byCookie(value).get('/v1/api-keys'), 401, 'AUTHENTICATION_REQUIRED');
    }
    assertRefused(await byKey(cookie).get('/v1/usage'), 401, 'INVALID_API_KEY');
    assert.deepEqual(await installation.admin('session', 'end', sessionId), { sessionId, ended: true });
    await until('the session is over', async () => (await ending.get('/v1/usage')).status === 401);
    assertRefused(await ending.post('/v1/api-keys', {}), 401, 'AUTHENTICATION_REQUIRED');
    assert.equal((await installation.admin('session', 'end', sessionId)).ended, false);
    const expiring = byCookie(short.cookie);
    await until('it has expired', async () => (await expiring.get('/v1/usage')).status === 401);
    assertRefused(await expiring.get('/v1/usage'), 401, 'AUTHENTICATION_REQUIRED');
    const listed = (await installation.admin('session', 'list')).data;
    for (const id of [sessionId, short.sessionId]) assert.equal(listed.find((row) => row.sessionId === id).status, 'ended');
  });

  test('a member works in the brands of the role, an administrator in all (R-048, R-049, R-058, R-063)', async () => {
    const other = await installation.admin('brand', 'create', 'Other');
    const third = await installation.admin('brand', 'create', 'Third');
    const member = byCookie((await session('--role', 'member', '--brand', brandId, '--brand', other.brandId)).cookie);
    const named = (id) => ({ 'x-brand-id': id });
    for (const id of [brandId, other.brandId]) assert.equal((await member.get('/v1/brand', named(id))).body.brandId, id);
    assertRefused(await member.get('/v1/brand', named(third.brandId)), 403, 'INSUFFICIENT_ROLE', 'member');
    assertRefused(await member.post('/v1/contacts', { email: 'a@example.com' }, named(third.brandId)), 403, 'INSUFFICIENT_ROLE', 'member');
    assertRefused(await member.get(`/v1/brands/${third.brandId}`), 404, 'BRAND_NOT_FOUND', 'brandId');
    assert.deepEqual((await member.get('/v1/brands')).body.data.map((brand) => brand.brandId), [brandId, other.brandId]);
    assert.equal((await admin.get('/v1/brand', named(third.brandId))).status, 200);

    const { orgId } = await installation.admin('org', 'create', 'Stranger');
    const theirs = await installation.admin('brand', 'create', 'Theirs', '--org', orgId);
    for (const caller of [member, admin]) assertRefused(await caller.get('/v1/brand', named(theirs.brandId)), 404, 'BRAND_NOT_FOUND');
    for (const [method, path] of [['GET', '/v1/api-keys'], ['POST', '/v1/api-keys'], ['DELETE', '/v1/api-keys/key_0000000000000']]) {
      assertRefused(await member.request(method, path, method === 'POST' ? {} : undefined), 403, 'INSUFFICIENT_ROLE', 'org_admin');
    }
  });

  test('the operator is told what is wrong with a session or the name of a brand, and none is made', async () => {
    const stranger = await installation.admin('org', 'create', 'Wrong');
    const theirs = await installation.admin('brand', 'create', 'Wrong', '--org', stranger.orgId);
    const count = (await installation.admin('session', 'list')).data.length;
    const wrong = [
      ['role', '--role', 'owner'], ['brand', '--role', 'member', '--brand', theirs.brandId], ['brand', '--role', 'member', '--brand', 'x'],
      ['brand', '--role', 'member', '--brand', brandId, '--brand', brandId],
      ['brand', '--brand', brandId], ['brand', '--role', 'admin', '--brand', brandId], ['name', '--name', ''], ['expires', '--expires', '400d'],
      ['org', '--org', 'nonsense'],
    ];
    for (const [param, ...options] of wrong) {
      const { code, stderr } = await installation.run('admin', 'session', 'create', ...options);
      assert.equal(code, 1, param);
      assert.equal(JSON.parse(stderr).error.param, param, stderr);
    }
    for (const name of [' ', 'Shop\nBcc: eve@example.com']) {
      const { code, stderr } = await installation.run('admin', 'brand', 'create', name);
      assert.deepEqual([code, JSON.parse(stderr).error.param], [1, 'name']);
    }
    for (const time of ['0s', '5', 'x', '1.5h', '-1d', '99999999999d']) {
      const { code, stderr } = await installation.run('admin', 'session', 'create', '--expires', time);
      assert.notEqual(code, 0, time);
      assert.match(stderr, /--expires needs a time/);
    }
    assert.equal((await installation.admin('session', 'list')).data.length, count);
  });

  test('a page of another site writes nothing with the cookie', async () => {
    for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }]) {
      assertRefused(await admin.post('/v1/api-keys', { name: 'stolen' }, headers), 403, 'INSUFFICIENT_PERMISSIONS', 'Origin');
    }
    assert.ok(!(await admin.get('/v1/api-keys')).body.data.some(({ name }) => name === 'stolen'));
    assert.equal((await admin.post('/v1/api-keys', {}, { origin: `http://127.0.0.1:${server.port}` })).status, 201);
  });

  test('one window of 300 for all that a session does (R-124)', async () => {
    const { cookie } = await session();
    const eight = using(server.client(undefined, { cookie: `__session=${cookie}` }, 8));
    const paths = ['/v1/usage', '/v1/brands', '/v1/api-keys'];
    const answers = await Promise.all(Array.from({ length: CEILING }, (_, i) => eight.get(paths[i % paths.length])));
    for (const { status, headers } of answers) {
      assert.equal(status, 200);
      assert.equal(headers['x-ratelimit-limit'], String(CEILING));
    }
    const left = answers.map(({ headers }) => Number(headers['x-ratelimit-remaining'])).sort((a, b) => a - b);
    assert.deepEqual(left, Array.from({ length: CEILING }, (_, i) => i), 'each counted once, in one window');
    for (const path of paths) assertRefused(await eight.get(path), 429, 'RATE_LIMITED');
    assert.equal((await byCookie((await session()).cookie).get('/v1/usage')).headers['x-ratelimit-remaining'], String(CEILING - 1));
  });

  // ---- Keys by session ----

  test('a new key works at once, within its brand and permissions (R-021, R-046, R-051)', async () => {
    const wide = await createKey();
    assert.deepEqual([wide.name, wide.permissions, wide.brandId], ['API key', ['all'], undefined]);
    const caller = byKey(wide.key);
    assert.equal((await caller.get('/v1/usage')).status, 200);
    assertRefused(await caller.get('/v1/brand'), 400, 'BRAND_ID_REQUIRED');
    assert.equal((await caller.get('/v1/brand', { 'x-brand-id': brandId })).status, 200);
    const narrow = await createKey({ name: 'Shop', permissions: ['contacts'], brandId });
    const shop = byKey(narrow.key, elsewhere);
    assert.equal((await shop.get('/v1/brand')).body.brandId, brandId);
    assertRefused(await shop.get('/v1/emails'), 403, 'INSUFFICIENT_PERMISSIONS', 'emails');
    assert.equal((await shop.post('/v1/contacts/search', {})).status, 200);
    assertRefused(await shop.get('/v1/api-keys'), 403, 'INSUFFICIENT_ROLE', 'org_admin');
    assertRefused(await admin.post('/v1/contacts', { email: 'x@example.com', brandId }, { 'x-brand-id': brandId }), 400, 'INVALID_REQUEST',
      'brandId');
  });

  test('a revoked key is refused at once where it was revoked, and within a second elsewhere (R-043, R-053)', async () => {
    for (let round = 0; round < 2; round++) {
      const { key, keyId } = await createKey({ name: 'Short-lived' });
      const [here, there] = [byKey(key), byKey(key, elsewhere)];
      // It is believed in both processes, and asked for all the time while it is revoked.
      for (const caller of [here, there]) assert.equal((await caller.get('/v1/usage')).status, 200);
      let revoking = true;
      const busy = (async () => {
        while (revoking) await here.get('/v1/usage');
      })();
      const revoked = await admin.request('DELETE', `/v1/api-keys/${keyId}`);
      const since = Date.now();
      const first = await byKey(key).get('/v1/usage');
      revoking = false;
      await busy;
      assert.deepEqual([revoked.status, revoked.body.keyId, revoked.body.deleted], [200, keyId, true]);
      assertRefused(first, 401, 'API_KEY_REVOKED');
      assertRefused(await here.get('/v1/usage'), 401, 'API_KEY_REVOKED');
      await assertRefusedWithinASecond(there, since);
      const again = await admin.request('DELETE', `/v1/api-keys/${keyId}`);
      assert.deepEqual(again.body, { ...revoked.body, deleted: false });
    }
  });

  test('keys of another organization are neither listed nor revoked (R-052, R-053, R-062)', async () => {
    const { orgId } = await installation.admin('org', 'create', 'Neighbour');
    const { keyId, key } = await installation.admin('key', 'create', '--org', orgId);
    assert.ok(!JSON.stringify((await admin.get('/v1/api-keys')).body).includes(keyId));
    assert.deepEqual((await admin.request('DELETE', `/v1/api-keys/${keyId}`)).body, { keyId, deleted: false });
    assert.equal((await byKey(key).get('/v1/usage')).status, 200);
    const theirBrand = await installation.admin('brand', 'create', 'Next transport', '--org', orgId);
    assertRefused(await admin.post('/v1/api-keys', { brandId: theirBrand.brandId }), 404, 'BRAND_NOT_FOUND', 'brandId');
    const neighbour = byCookie((await session('--org', orgId)).cookie);
    assert.deepEqual((await neighbour.get('/v1/api-keys')).body.data.map((row) => row.keyId), [keyId]);
  });

  test('every write of a session leaves an audit row with its number, and none with a secret (R-050)', async () => {
    const { cookie, sessionId } = await session('--name', 'Auditor');
    const auditor = byCookie(cookie);
    const { keyId } = await createKey({ name: 'Audited' }, auditor);
    await auditor.request('DELETE', `/v1/api-keys/${keyId}`);
    const rows = await sql(installation, `select operation, key_id is null, door from audit_log
      where session_id = (select id from sessions where user_name = 'Auditor') and '${keyId}' = any (subjects) order by id`);
    assert.deepEqual(rows, ['apiKeys.create|t|rest', 'apiKeys.revoke|t|rest']);
    assert.deepEqual(await sql(installation, `select operation from audit_log where '${sessionId}' = any (subjects)`), ['admin.session.create']);
  });

  test('an idempotency key makes no key twice the same, and keeps no answer (R-149)', async () => {
    const header = { 'idempotency-key': 'mint-once' };
    const [first, second] = [await admin.post('/v1/api-keys', {}, header), await admin.post('/v1/api-keys', {}, header)];
    assert.notEqual(first.body.keyId, second.body.keyId);
    assert.notEqual(first.body.key, second.body.key);
    secrets.push(first.body.key, second.body.key);
    assert.deepEqual(await sql(installation, "select count(*) from idempotency_keys where operation like 'apiKeys%'"), ['0']);
  });

  // route, credential, rate, session or organization, brand, scope, idempotency, input.
  test('of several faults the first in the order is told (R-036, R-037, R-041, R-057, R-071, R-080)', async () => {
    const made = async (...options) => byKey((await installation.admin('key', 'create', ...options)).key);
    const nobody = byKey(undefined);
    assertRefused(await nobody.get('/v1/nothing'), 404, 'NOT_FOUND');
    assertRefused(await nobody.request('PUT', '/v1/api-keys'), 405, 'METHOD_NOT_ALLOWED');
    assertRefused(await nobody.post('/v1/api-keys', '{'), 401, 'AUTHENTICATION_REQUIRED');
    assertRefused(await nobody.post('/v1/contacts', '{', { 'x-brand-id': 'x' }), 401, 'AUTHENTICATION_REQUIRED');

    // The rate comes before the session rules and the rules of the organization, and those before brand, scope and input.
    const slow = await made('--scopes', 'sends', '--rate-multiplier', '0.02');
    assertRefused(await slow.post('/v1/api-keys', '{'), 403, 'INSUFFICIENT_ROLE', 'org_admin');
    assertRefused(await slow.post('/v1/api-keys', {}), 429, 'RATE_LIMITED');
    const bound = await made('--scopes', 'sends', '--brand', brandId);
    assertRefused(await bound.post('/v1/brands', '{'), 403, 'ORG_SCOPE_REQUIRED');
    const wide = await made('--scopes', 'sends');
    assertRefused(await wide.post('/v1/contacts', '{'), 400, 'BRAND_ID_REQUIRED');
    assertRefused(await wide.post('/v1/contacts', '{', { 'x-brand-id': brandId }), 403, 'INSUFFICIENT_PERMISSIONS', 'contacts');

    // A replay and a conflict come before what is wrong with the input.
    const whole = await made('--brand', brandId);
    const header = { 'idempotency-key': 'order' };
    assert.equal((await whole.post('/v1/contacts', { email: 'a@example.com' }, header)).status, 201);
    assert.equal((await whole.post('/v1/contacts', { email: 'a@example.com' }, header)).status, 201);
    assertRefused(await whole.post('/v1/contacts', { email: 5 }, header), 409, 'IDEMPOTENCY_CONFLICT');
    assertRefused(await whole.post('/v1/contacts', { email: 5 }), 400, 'INVALID_REQUEST', 'email');
  });

  test('no secret of a key or session is kept in the data folder or said in a log (R-050)', async () => {
    const marks = secrets.map((secret) => Buffer.from(secret.slice(-24)));
    assert.ok(marks.length > 10);
    const files = readdirSync(installation.data, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    assert.ok(files.some(({ parentPath }) => parentPath.endsWith('pg_wal')), 'the write-ahead log was looked through');
    for (const file of files) {
      const text = readFileSync(join(file.parentPath, file.name));
      assert.ok(!marks.some((mark) => text.includes(mark)), `${file.name} holds a secret`);
    }
    assert.ok(server.log.some((line) => line.includes('"sessionId"')), 'calls of sessions were logged');
    for (const { log } of [server, elsewhere]) {
      assert.ok(!log.some((line) => secrets.some((secret) => line.includes(secret.slice(-24)))));
    }
  });
});
