// Authentication and authorization over REST: credentials, brands, scopes, rate windows, and the refusals of unknown methods, paths
// and parameters.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { assertRefusedWithinASecond } from '../../lib/brand_fixture.mjs';
import { Installation } from '../../lib/installation.mjs';
import { until } from '../../lib/processes.mjs';

const TYPES = [
  'authentication_error', 'authorization_error', 'invalid_request', 'not_found', 'conflict', 'rate_limit', 'not_implemented',
  'internal_error',
];
const ENVELOPE = ['code', 'type', 'message', 'param', 'suggestion', 'docs', 'retryAfter', 'details'];

/** The error envelope of the contract and nothing else, and what every answer carries. */
function assertRefused(answer, status, code, param) {
  const shown = JSON.stringify(answer.body);
  assert.equal(answer.status, status, shown);
  assert.deepEqual(Object.keys(answer.body), ['error'], shown);
  const { error } = answer.body;
  assert.equal(error.code, code, shown);
  if (param !== undefined) assert.equal(error.param, param, shown);
  assert.ok(TYPES.includes(error.type), shown);
  for (const name of ['message', 'suggestion']) assert.ok(error[name].length > 0, shown);
  assert.ok(URL.canParse(error.docs), shown);
  assert.ok(Object.keys(error).every((name) => ENVELOPE.includes(name)), shown);
  assertHeaders(answer);
}

/** PostgreSQL removes files of its own at any time. */
function bytesOf(path) {
  try {
    return readFileSync(path);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    return Buffer.alloc(0);
  }
}

function assertHeaders({ headers }) {
  assert.match(headers['x-request-id'], /^req_[0-9a-f]{32}$/);
  for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']) assert.match(headers[name], /^\d+$/, name);
  assert.ok(Math.abs(Number(headers['x-ratelimit-reset']) - Date.now() / 1000) < 70, 'reset is in Unix seconds');
}

describe('REST', { timeout: 600_000 }, () => {
  const installation = new Installation();
  let server;
  let brand; // {brandId} of two brands
  let other;
  let own; // clients of: the brand, the other brand, the organization, nobody
  let foreign;
  let organization;
  let nobody;
  let endpoints;
  const clients = [];

  const client = async (...options) => {
    const made = server.client(await installation.key(...options));
    clients.push(made);
    return made;
  };

  before(async () => {
    server = await installation.serve('--log-level', 'error');
    brand = { brandId: await installation.brandId() };
    other = await installation.admin('brand', 'create', 'Other');
    own = await client('--brand', brand.brandId);
    foreign = await client('--brand', other.brandId);
    organization = await client();
    nobody = server.client();
    clients.push(nobody);
    endpoints = (await nobody.get('/v1/help')).body.endpoints;
  });

  after(async () => {
    clients.forEach((made) => made.close());
    assert.deepEqual(await installation.dispose(), []);
  });

  const withBrand = ({ brandId }) => ({ 'x-brand-id': brandId });
  const samplePath = (path) => path.replace(/\{\w+\}/g, 'none');
  const importEmail = (by, title) => by.post('/v1/emails/import', { source: { kind: 'content', content: '<p>Hi</p>' }, title });

  // ---- Credentials ----

  test('a key authenticates as Bearer and as X-API-Key alike (R-039, R-040)', async () => {
    const key = await installation.key('--brand', brand.brandId);
    for (const headers of [{ authorization: `Bearer ${key}` }, { authorization: `bearer ${key}` }, { 'x-api-key': key }]) {
      const answer = await nobody.get('/v1/brand', headers);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.equal(answer.body.brandId, brand.brandId);
    }
  });

  test('without a credential every route but health and help is refused (R-041, R-045)', async () => {
    assert.ok(endpoints.length >= 100);
    for (const { method, path } of endpoints) {
      const answer = await nobody.request(method, samplePath(path), ['GET', 'DELETE'].includes(method) ? undefined : {});
      if (['/v1/health', '/v1/help'].includes(path)) {
        assert.equal(answer.status, 200, path);
        assertHeaders(answer);
      } else {
        assertRefused(answer, 401, 'AUTHENTICATION_REQUIRED');
        assert.equal(answer.body.error.type, 'authentication_error');
        assert.equal(answer.headers['www-authenticate'], 'Bearer');
      }
    }
    assert.equal((await nobody.get('/v1/health', { authorization: 'Bearer nonsense' })).status, 200);
  });

  test('malformed and unknown keys are refused (R-042)', async () => {
    const key = await installation.key();
    const last = key.at(-1);
    const unknown = [
      { authorization: 'Bearer nonsense' }, { authorization: 'Bearer ' }, { authorization: 'Basic dXNlcjpwdw==' }, { 'x-api-key': '' },
      { 'x-api-key': key.slice(0, -1) }, { 'x-api-key': `${key}x` }, { 'x-api-key': `${key.slice(0, -1)}${last === 'a' ? 'b' : 'a'}` },
      { 'x-api-key': 'x'.repeat(5000) }, { authorization: `Bearer ${key.toUpperCase()}` }, { authorization: key },
    ];
    for (const headers of unknown) {
      const answer = await nobody.get('/v1/usage', headers);
      assertRefused(answer, 401, 'INVALID_API_KEY');
      assert.equal(answer.body.error.type, 'authentication_error');
      assert.ok(!JSON.stringify(answer.body).includes(key.slice(8)), 'the key is not repeated');
    }
  });

  test('a revoked key is refused within a second, and stays so (R-043)', async () => {
    const { keyId, key } = await installation.admin('key', 'create', '--rate-multiplier', '1000');
    const revoked = server.client(key);
    clients.push(revoked);
    assert.equal((await revoked.get('/v1/usage')).status, 200);
    assert.equal((await installation.admin('key', 'revoke', keyId)).revoked, true);
    await assertRefusedWithinASecond(revoked, Date.now());
    assertRefused(await revoked.get('/v1/usage'), 401, 'API_KEY_REVOKED');
    assertRefused(await revoked.post('/v1/contacts', {}), 401, 'API_KEY_REVOKED');
    assert.equal((await installation.admin('key', 'revoke', keyId)).revoked, false);
  });

  test('the secret is shown once and kept nowhere (R-050)', async () => {
    const { keyId, key } = await installation.admin('key', 'create');
    const listed = JSON.stringify(await installation.admin('key', 'list'));
    assert.ok(listed.includes(keyId));
    assert.ok(!listed.includes(key) && !listed.includes(key.slice(-16)));
    const files = readdirSync(installation.data, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const secret = Buffer.from(key.slice(-24));
    const paths = files.map((file) => join(file.parentPath, file.name));
    for (const path of paths) assert.ok(!bytesOf(path).includes(secret), `${path} holds the secret`);
    assert.ok(files.some(({ parentPath }) => parentPath.endsWith('pg_wal')), 'the write-ahead log was looked through');
  });

  test('the key operations are for signed-in administrators only (R-046, R-047)', async () => {
    for (const caller of [own, organization]) {
      for (const [method, path] of [['GET', '/v1/api-keys'], ['POST', '/v1/api-keys'], ['DELETE', '/v1/api-keys/key_0000000000000']]) {
        assertRefused(await caller.request(method, path, method === 'POST' ? {} : undefined), 403, 'INSUFFICIENT_ROLE', 'org_admin');
      }
    }
  });

  // ---- Brands ----

  test('a brand key needs no brand header, may name its own brand, and no other (R-054, R-055, R-056)', async () => {
    assert.equal((await own.get('/v1/brand')).body.brandId, brand.brandId);
    assert.equal((await own.get('/v1/brand', withBrand(brand))).body.brandId, brand.brandId);
    for (const brandId of [other.brandId, 'brd_0000000000000', 'nonsense']) {
      assertRefused(await own.get('/v1/brand', { 'x-brand-id': brandId }), 403, 'BRAND_SCOPE_MISMATCH');
    }
  });

  test('an organization key names its brand, one of the organization (R-057, R-058)', async () => {
    assertRefused(await organization.get('/v1/brand'), 400, 'BRAND_ID_REQUIRED');
    assertRefused(await organization.post('/v1/contacts', { email: 'a@example.com' }), 400, 'BRAND_ID_REQUIRED');
    assert.equal((await organization.get('/v1/brand', withBrand(other))).body.brandId, other.brandId);
    const stranger = await installation.admin('org', 'create', 'Stranger');
    const theirs = await installation.admin('brand', 'create', 'Theirs', '--org', stranger.orgId);
    for (const brandId of [theirs.brandId, 'brd_0000000000000', 'nonsense']) {
      assertRefused(await organization.get('/v1/brand', { 'x-brand-id': brandId }), 404, 'BRAND_NOT_FOUND');
    }
  });

  test('organization routes need no brand; what writes there needs an organization key (R-059, R-060, R-061, R-068)', async () => {
    for (const caller of [own, organization]) {
      for (const path of ['/v1/usage', '/v1/brands', `/v1/brands/${brand.brandId}`]) {
        assert.equal((await caller.get(path)).status, 200, path);
      }
    }
    assertRefused(await own.post('/v1/brands', { name: 'No' }), 403, 'ORG_SCOPE_REQUIRED');
    assert.equal((await organization.post('/v1/brands', { name: 'Yes' })).status, 201);
  });

  test('what belongs to another brand is not found, wherever its id is named (R-062, R-063, R-102)', async () => {
    const { emailId } = (await importEmail(own, 'Mine')).body;
    assert.ok(emailId);
    assert.equal((await own.get(`/v1/emails/${emailId}`)).status, 200);
    assertRefused(await foreign.get(`/v1/emails/${emailId}`), 404, 'EMAIL_NOT_FOUND');
    const domainOf = async (caller) => (await caller.get('/v1/domains')).body.data[0].domainId;
    const [mine, theirs] = [await domainOf(own), await domainOf(foreign)];
    const order = { emailId, subject: 'Hi', to: ['a@example.com'] };
    await own.post('/v1/contacts', { email: 'a@example.com' });
    assertRefused(await foreign.post('/v1/sends', { ...order, domainId: theirs }), 404, 'EMAIL_NOT_FOUND');
    assertRefused(await own.post('/v1/sends', { ...order, domainId: theirs }), 404, 'DOMAIN_NOT_FOUND');
    const sent = await own.post('/v1/sends', { ...order, domainId: mine, scheduledAt: new Date(Date.now() + 3600_000).toISOString() });
    assert.equal(sent.status, 202, JSON.stringify(sent.body));
    const { sendId } = sent.body;
    assertRefused(await foreign.get(`/v1/sends/${sendId}`), 404, 'SEND_NOT_FOUND');
    assertRefused(await foreign.post(`/v1/sends/${sendId}/cancel`), 404, 'SEND_NOT_FOUND');
    assert.equal((await own.post(`/v1/sends/${sendId}/cancel`)).status, 200);
    assertRefused(await own.get(`/v1/brands/${other.brandId}`), 404, 'BRAND_NOT_FOUND');
    const search = await foreign.post('/v1/contacts/search', { search: 'a@example.com' });
    assert.deepEqual(search.body.data, []);
  });

  test('what a brand owns is seen in that brand only; brands and plan are the organization\'s (R-064, R-065)', async () => {
    const [mine, yours] = [await client('--brand', brand.brandId), await client('--brand', other.brandId)];
    const mark = 'Only here';
    const must = async (answer) => {
      const { status, body } = await answer;
      assert.ok(status < 300, JSON.stringify(body));
      return body;
    };
    await must(mine.post('/v1/contacts', { email: 'only-here@example.com', firstName: mark }));
    await must(mine.post('/v1/fields', { fieldName: 'onlyHere', fieldType: 'string' }));
    await must(mine.post('/v1/audiences', { name: mark, filters: { logic: 'and', filters: [] } }));
    await must(mine.post('/v1/email-groups', { name: mark }));
    const { emailId } = await must(importEmail(mine, mark));
    const { domainId } = (await must(mine.get('/v1/domains'))).data[0];
    const { sendId } = await must(mine.post('/v1/sends', { emailId, domainId, subject: mark, to: ['only-here@example.com'] }));
    await until('it is sent', async () => (await mine.get(`/v1/sends/${sendId}`)).body.status === 'completed', 60_000);
    const lists = {
      '/v1/contacts/search': 'only-here@example.com', '/v1/fields': 'onlyHere', '/v1/audiences': mark, '/v1/email-groups': mark,
      '/v1/emails': emailId, '/v1/domains': domainId, '/v1/sends': sendId, '/v1/analytics/events': sendId,
    };
    for (const [path, shown] of Object.entries(lists)) {
      const read = async (by) => JSON.stringify(await must(path.endsWith('/search') ? by.post(path, {}) : by.get(path)));
      assert.ok((await read(mine)).includes(shown), `${path} shows it in its brand`);
      assert.ok(!(await read(yours)).includes(shown), `${path} shows it in another brand`);
    }
    for (const path of ['/v1/usage', '/v1/templates', '/v1/flows']) {
      assert.deepEqual(await must(mine.get(path)), await must(yours.get(path)), `${path} is the organization's`);
    }
  });

  // ---- Scopes ----

  test('each scope opens its routes and what it implies, and no others (R-067, R-069, R-070, R-071, R-072, R-073)', async () => {
    const routes = [
      ['GET', '/v1/emails', 'emails'], ['GET', '/v1/sends', 'sends'], ['GET', '/v1/domains', 'domains'],
      ['GET', '/v1/analytics/events', 'emails'], ['GET', '/v1/analytics/overview', 'emails'],
      ['GET', '/v1/insights', 'emails'], ['GET', '/v1/insights/none', 'emails'],
      ['POST', '/v1/contacts/search', 'contacts'], ['GET', '/v1/audiences', 'audiences'],
      ['GET', '/v1/automations', 'automations'], ['POST', '/v1/brands', 'brands'],
    ];
    const satisfies = {
      emails: ['emails', 'sends'], sends: ['sends'], automations: ['automations'], contacts: ['contacts', 'domains', 'audiences'],
      domains: ['domains'], audiences: ['audiences'], brands: ['brands'],
      all: ['emails', 'sends', 'automations', 'contacts', 'domains', 'audiences', 'brands'],
    };
    for (const [scope, granted] of Object.entries(satisfies)) {
      const caller = await client('--scopes', scope);
      for (const [method, path, needed] of routes) {
        const answer = await caller.request(method, path, method === 'POST' ? {} : undefined, withBrand(brand));
        if (granted.includes(needed)) assert.notEqual(answer.status, 403, `${scope}: ${path}: ${JSON.stringify(answer.body)}`);
        else assertRefused(answer, 403, 'INSUFFICIENT_PERMISSIONS', needed);
      }
      assert.equal((await caller.get('/v1/usage')).status, 200, 'usage needs no scope');
    }
  });

  test('a refused permission leaves nothing behind, no idempotent answer either (R-074)', async () => {
    const reader = await client('--scopes', 'sends', '--brand', brand.brandId);
    const key = { 'idempotency-key': 'refused-first' };
    assertRefused(await reader.post('/v1/contacts', { email: 'never@example.com' }, key), 403, 'INSUFFICIENT_PERMISSIONS', 'contacts');
    const found = await own.post('/v1/contacts/search', { search: 'never@example.com', count: true });
    assert.equal(found.body.count, 0);
    assert.equal((await own.post('/v1/contacts', { email: 'later@example.com' }, key)).status, 201, 'the key is free');
  });

  test('what is not built answers 501, behind every check (R-081)', async () => {
    const unbuilt = endpoints.filter(({ available }) => !available);
    assert.ok(unbuilt.length > 0);
    const { paths } = (await nobody.get('/openapi.json')).body;
    for (const { method, path } of unbuilt) {
      const shown = paths[path][method.toLowerCase()].requestBody?.content['application/json'].examples;
      const body = ['GET', 'DELETE'].includes(method) ? undefined : Object.values(shown ?? {})[0]?.value ?? {};
      const answer = await organization.request(method, samplePath(path), body, withBrand(brand));
      assertRefused(answer, 501, 'NOT_IMPLEMENTED');
    }
    assertRefused(await organization.get('/v1/automations'), 400, 'BRAND_ID_REQUIRED');
  });

  // ---- Rate windows ----

  test('windows are a key\'s and a policy\'s own, and tell the truth (R-119, R-120, R-121, R-122, R-078, R-080)', async () => {
    const few = await client('--brand', brand.brandId, '--rate-multiplier', '0.05');
    for (let left = 4; left >= 0; left--) {
      const answer = await few.get('/v1/brand');
      assert.equal(answer.status, 200);
      assert.equal(answer.headers['x-ratelimit-limit'], '5');
      assert.equal(answer.headers['x-ratelimit-remaining'], String(left));
      assertHeaders(answer);
    }
    const refused = await few.get('/v1/brand');
    assertRefused(refused, 429, 'RATE_LIMITED');
    assert.equal(refused.body.error.type, 'rate_limit');
    assert.equal(refused.headers['x-ratelimit-remaining'], '0');
    const retryAfter = Number(refused.headers['retry-after']);
    assert.ok(retryAfter >= 1 && retryAfter <= 61, String(retryAfter));
    assert.equal(refused.body.error.retryAfter, retryAfter);

    assert.equal((await few.get('/v1/usage')).status, 200, 'another policy has a window of its own');
    const sibling = await client('--brand', brand.brandId, '--rate-multiplier', '0.05');
    assert.equal((await sibling.get('/v1/brand')).headers['x-ratelimit-remaining'], '4', 'and so has another key');
    assertRefused(await few.get('/v1/brand'), 429, 'RATE_LIMITED');
  });

  test('a batch and a single contact have different windows on one route; refusals and replays count (R-125, R-134)', async () => {
    const few = await client('--brand', brand.brandId, '--rate-multiplier', '0.3');
    const batch = (email, key) => few.post('/v1/contacts', { contacts: [{ email }] }, { 'idempotency-key': key });
    const first = await batch('rate@example.com', 'same');
    assert.equal(first.headers['x-ratelimit-limit'], '3');
    assert.deepEqual((await batch('rate@example.com', 'same')).body, first.body);
    assertRefused(await few.post('/v1/contacts', { contacts: [], nonsense: 1 }), 400, 'INVALID_REQUEST');
    assertRefused(await batch('rate@example.com', 'same'), 429, 'RATE_LIMITED');
    const single = await few.post('/v1/contacts', { email: 'rate@example.com' });
    assert.equal(single.headers['x-ratelimit-limit'], '30');
    assert.equal(single.headers['x-ratelimit-remaining'], '29');
  });

  // ---- Paths and methods ----

  test('unknown paths are not found, with any credential (R-002, R-037, R-038)', async () => {
    const unknown = [
      '/v1/nothing', '/v2/emails', '/emails', '/', '/v1', '/v1/', '/v1/emails/', '/v1//emails', '/v1/EMAILS', '/v1/emails/a/b/c',
    ];
    for (const path of unknown) {
      assertRefused(await organization.get(path), 404, 'NOT_FOUND');
      assertRefused(await nobody.get(path), 404, 'NOT_FOUND');
    }
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      assertRefused(await organization.request(method, '/v1/webhook-subscriptions'), 404, 'NOT_FOUND');
    }
  });

  test('a method that a path does not take is refused with those it does (R-036)', async () => {
    const allowed = new Map();
    for (const { method, path } of endpoints) allowed.set(samplePath(path), [...(allowed.get(samplePath(path)) ?? []), method]);
    for (const [path, methods] of allowed) {
      // Of paths that differ in a static part only, the sample may name either; the static ones win.
      const expected = [...new Set([...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'])].sort().join(', ');
      const options = await nobody.request('OPTIONS', path);
      assert.equal(options.status, 204, path);
      assert.equal(options.headers.allow, expected, path);
      const missing = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].find((method) => !methods.includes(method));
      const answer = await nobody.request(missing, path);
      assertRefused(answer, 405, 'METHOD_NOT_ALLOWED');
      assert.equal(answer.headers.allow, expected);
      assert.equal(answer.body.error.type, 'invalid_request');
    }
  });

  test('HEAD is GET without the body', async () => {
    for (const path of ['/v1/health', '/v1/help']) {
      const [get, head] = [await nobody.get(path), await nobody.request('HEAD', path)];
      assert.equal(head.status, 200);
      assert.equal(head.body, '');
      assert.equal(head.headers['content-length'], get.headers['content-length']);
    }
    assert.equal((await own.request('HEAD', '/v1/brand')).status, 200);
    assert.equal((await nobody.request('HEAD', '/v1/brand')).status, 401);
  });

  test('the endpoints of the help are the routes of the OpenAPI document, and all are served (R-180)', async () => {
    const { paths } = (await nobody.get('/openapi.json')).body;
    const documented = Object.entries(paths).flatMap(([path, methods]) => Object.keys(methods)
      .filter((name) => ['get', 'post', 'put', 'patch', 'delete'].includes(name)).map((method) => `${method.toUpperCase()} ${path}`));
    const helped = endpoints.map(({ method, path }) => `${method} ${path}`);
    assert.equal(new Set(helped).size, helped.length, 'each once');
    assert.deepEqual(helped.toSorted(), documented.map((route) => route.replace(/^(\w+) (?!\/v1)/, '$1 /v1')).sort());
    for (const { method, path } of endpoints) {
      const { status } = await nobody.request(method, samplePath(path), ['GET', 'DELETE'].includes(method) ? undefined : {});
      assert.ok(status === 200 || status === 401, `${method} ${path}: ${status}`);
    }
  });

  test('every answer has a request id of its own (R-035)', async () => {
    const paths = ['/v1/health', '/v1/brand', '/v1/nothing', '/v1/emails', '/v1/contacts'];
    const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => (i % 2 ? own : nobody).get(paths[i % paths.length])));
    answers.forEach(assertHeaders);
    assert.equal(new Set(answers.map(({ headers }) => headers['x-request-id'])).size, 100);
  });

  // ---- Names that are refused ----

  test('brandId is named in the header only (R-020, R-021)', async () => {
    const built = endpoints.filter(({ available, path }) => available && !['/v1/health', '/v1/help'].includes(path));
    const { cookie } = await installation.admin('session', 'create');
    const signedIn = server.client(undefined, { cookie: `__session=${cookie}` });
    clients.push(signedIn);
    for (const { method, path } of built) {
      const body = ['GET', 'DELETE'].includes(method) ? undefined : {};
      const caller = path.startsWith('/v1/api-keys') ? signedIn : organization;
      const answer = await caller.request(method, `${samplePath(path)}?brandId=${brand.brandId}`, body, withBrand(brand));
      assertRefused(answer, 400, 'INVALID_REQUEST', 'brandId');
    }
    assertRefused(await own.post('/v1/contacts', { email: 'b@example.com', brandId: brand.brandId }), 400, 'INVALID_REQUEST', 'brandId');
    assertRefused(await own.post('/v1/contacts/search', { brandId: brand.brandId }), 400, 'INVALID_REQUEST', 'brandId');
  });

  test('snake_case, unknown and retired keys are refused by name (R-003, R-004, R-005, R-008, R-022, R-027, R-029)', async () => {
    assertRefused(await own.post('/v1/contacts', { email: 'b@example.com', first_name: 'B' }), 400, 'INVALID_REQUEST', 'first_name');
    assertRefused(await own.post('/v1/contacts', { email: 'b@example.com', dry_run: true }), 400, 'INVALID_REQUEST', 'dry_run');
    assertRefused(await own.post('/v1/contacts/search', { page_size: 5 }), 400, 'INVALID_REQUEST', 'page_size');
    assertRefused(await own.get('/v1/emails?sort_by=createdAt'), 400, 'INVALID_REQUEST', 'sort_by');
    assertRefused(await own.get('/v1/emails?emailId=x'), 400, 'INVALID_REQUEST', 'emailId');
    assertRefused(await own.get('/v1/sends?sendId=x'), 400, 'INVALID_REQUEST', 'sendId');
    const retired = await own.get('/v1/domains?domainId=x');
    assertRefused(retired, 400, 'INVALID_REQUEST', 'domainId');
    assert.match(retired.body.error.message, /GET \/v1\/domains\/\{domainId\} reads one/);
    const beside = await own.post('/v1/contacts', { contacts: [{ email: 'b@example.com' }], email: 'c@example.com' });
    assertRefused(beside, 400, 'INVALID_REQUEST', 'email');
    assert.match(beside.body.error.message, /cannot be combined with contacts/);
    assertRefused(await own.post('/v1/sends', { test: true, audienceId: 'all' }), 400, 'INVALID_REQUEST', 'audienceId');
  });

  test('bodies are JSON and nothing else (R-001, R-006, R-007)', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    assertRefused(await own.post('/v1/contacts', 'email=a%40example.com', form), 400, 'INVALID_REQUEST');
    assertRefused(await own.post('/v1/contacts', '<email/>', { 'content-type': 'application/xml' }), 400, 'INVALID_REQUEST');
    assertRefused(await own.post('/v1/contacts', { email: 'a@example.com' }, form), 400, 'INVALID_REQUEST', 'Content-Type');
    for (const text of ['{', '{"email":}', 'nonsense', '{"email":"a@example.com"} x', '[]', '"x"', '']) {
      assertRefused(await own.post('/v1/contacts', text), 400, 'INVALID_REQUEST');
    }
    assertRefused(await own.post('/v1/contacts', { email: 5 }), 400, 'INVALID_REQUEST', 'email');
    const badTime = { email: 'b@example.com', consent: { capturedAt: 'yesterday' } };
    assertRefused(await own.post('/v1/contacts', badTime), 400, 'INVALID_REQUEST', 'consent.capturedAt');
  });

  // ---- Cursors ----

  test('a cursor serves its own list of its own brand only, unaltered (R-009, R-011, R-012)', async () => {
    for (let i = 0; i < 5; i++) for (const caller of [own, foreign]) await caller.post('/v1/contacts', { email: `cursor${i}@example.com` });
    const query = { search: 'cursor', sort: 'email', order: 'asc', limit: 2 };
    const search = (caller, cursor) => caller.post('/v1/contacts/search', { ...query, ...(cursor && { cursor }) });
    const seen = [];
    let cursor;
    do {
      const { status, body } = await search(own, cursor);
      assert.equal(status, 200, JSON.stringify(body));
      assert.equal(body.pagination.limit, 2);
      assert.equal(body.pagination.cursor === null, body.pagination.hasMore === false);
      seen.push(...body.data.map(({ email }) => email));
      cursor = body.pagination.cursor;
    } while (cursor !== null);
    assert.deepEqual(seen, [0, 1, 2, 3, 4].map((i) => `cursor${i}@example.com`));

    const good = (await search(own)).body.pagination.cursor;
    assert.equal((await search(own, good)).status, 200);
    const swap = (at) => good.slice(0, at) + (good[at] === 'A' ? 'B' : 'A') + good.slice(at + 1);
    for (const bad of ['x', 'AAAA', good.slice(0, -1), `${good}A`, swap(0), swap(good.length >> 1), good.slice(1)]) {
      assertRefused(await search(own, bad), 400, 'INVALID_REQUEST', 'cursor');
    }
    assertRefused(await search(foreign, good), 400, 'INVALID_REQUEST', 'cursor');
    assertRefused(await own.get(`/v1/emails?cursor=${encodeURIComponent(good)}`), 400, 'INVALID_REQUEST', 'cursor');
    assertRefused(await own.get(`/v1/sends?cursor=${encodeURIComponent(good)}`), 400, 'INVALID_REQUEST', 'cursor');
  });

  // ---- Idempotency keys ----

  test('an idempotency key is the organization\'s, and of POST only (R-079, R-141, R-144)', async () => {
    const key = { 'idempotency-key': 'shared' };
    assert.equal((await organization.post('/v1/brands', { name: 'Shared' }, key)).status, 201);
    const sibling = await client();
    assertRefused(await sibling.post('/v1/brands', { name: 'Different' }, key), 409, 'IDEMPOTENCY_CONFLICT');
    const { orgId } = await installation.admin('org', 'create', 'Elsewhere');
    const elsewhere = await client('--org', orgId);
    const made = await elsewhere.post('/v1/brands', { name: 'Different' }, key);
    assert.equal(made.status, 201, JSON.stringify(made.body));
    assert.equal((await organization.get('/v1/brands?limit=1', { 'idempotency-key': 'x'.repeat(500) })).status, 200);
  });
});
