// The edges of the REST surface: where a resource is named, which of two matching paths is meant, routes of earlier versions of the
// contract, and what this version does not serve at all.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { RawConnection } from '../../lib/raw_http.mjs';
import { installationFor } from '../../lib/installation.mjs';
import { until } from '../../lib/processes.mjs';
import { makePlace, must } from '../../lib/brand_fixture.mjs';

const LIMIT = { timeout: 600_000 };
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const installation = installationFor({ after });
let place;
let server;
let endpoints;

before(async () => {
  server = await installation.serve('--log-level', 'error');
  place = await makePlace(installation, server);
  ({ endpoints } = await must(ask('GET', '/v1/help')));
});

const ask = (method, path, body = ['GET', 'DELETE'].includes(method) ? undefined : {}) => place.rest.call(method, path, body);

function assertRefused({ status, body }, wanted, code, param) {
  assert.deepEqual([status, body.error?.code, body.error?.param], [wanted, code, param], JSON.stringify(body));
}

const built = () => endpoints.filter(({ available }) => available);

test('a resource is named by its path alone: no list takes the id of one row (R-019)', LIMIT, async () => {
  let lists = 0;
  for (const { path } of built().filter(({ method }) => method === 'GET')) {
    const [, list, id] = /^(.+)\/\{(\w+)\}$/.exec(path) ?? [];
    if (!built().some((endpoint) => endpoint.method === 'GET' && endpoint.path === list)) continue;
    assertRefused(await ask('GET', `${list}?${id}=x`), 400, 'INVALID_REQUEST', id);
    lists++;
  }
  assert.ok(lists >= 5, `${lists} lists have rows that can be read`);
});

test('fixed words of a path win over parameters, for every method (R-412)', LIMIT, async () => {
  let overlaps = 0;
  const patterns = [...new Set(endpoints.map(({ path }) => path))];
  const fits = (pattern, path) => {
    const [wanted, given] = [pattern.split('/'), path.split('/')];
    return wanted.length === given.length && wanted.every((word, i) => word === given[i] || word.startsWith('{'));
  };
  for (const path of patterns.filter((other) => !other.includes('{'))) {
    for (const pattern of patterns.filter((other) => other !== path && fits(other, path))) {
      for (const method of METHODS) {
        if (endpoints.some((endpoint) => endpoint.method === method && endpoint.path === path)) continue;
        assertRefused(await ask(method, path), 405, 'METHOD_NOT_ALLOWED', undefined);
        overlaps += endpoints.some((endpoint) => endpoint.method === method && endpoint.path === pattern) ? 1 : 0;
      }
    }
  }
  assert.ok(overlaps >= 10, `${overlaps} methods of patterns are hidden by fixed words`);
  // What is fixed is what runs: an import is no design, and its answer is that of the import.
  assertRefused(await ask('POST', '/v1/emails/import', {}), 400, 'INVALID_REQUEST', 'content');
});

test('what moves a resource through its life is a path of its own; no PATCH takes a status (R-413)', LIMIT, async () => {
  const { emailId } = await must(ask('POST', '/v1/emails/import', { content: '<p>Hi</p>', title: 'Letter' }));
  const { audienceId } = await must(ask('POST', '/v1/audiences', { name: 'All', filters: { logic: 'and', filters: [] } }));
  const { groupId } = await must(ask('POST', '/v1/email-groups', { name: 'Group' }));
  const real = { emailId, audienceId, groupId, email: 'ada@example.com' };
  await must(ask('POST', '/v1/contacts', { email: real.email }));
  const patches = built().filter(({ method }) => method === 'PATCH');
  assert.ok(patches.length >= 4);
  for (const { path } of patches) {
    const answer = await ask('PATCH', path.replace(/\{(\w+)\}/g, (_, name) => real[name] ?? 'nothing'), { status: 'paused' });
    assertRefused(answer, 400, 'INVALID_REQUEST', 'status');
  }
  const actions = endpoints.filter(({ path }) => /\/(cancel|pause|resume|verify|restore)$/.test(path));
  assert.ok(actions.length >= 8 && actions.every(({ method }) => method === 'POST'));
});

test('paths of earlier versions are gone (R-287, R-411, R-414)', LIMIT, async () => {
  const gone = ['/v1/account', '/v1/content/host-image', '/v1/triggers', '/v1/triggers/x', '/v1/triggers/x/fire', '/v1/analytics/sends',
    '/v1/analytics/campaigns', '/v1/analytics/trigger-instances', '/v1/automations/audience-runs/x/control', '/v1/chats/x', '/v1/data',
    '/v1/content/generate-image', '/contacts/find', '/contacts/create', '/events/send', '/contacts/import'];
  for (const path of gone) {
    for (const method of METHODS) {
      const { status, body } = await ask(method, path);
      assert.equal(status, 404, `${method} ${path}`);
      if (path.startsWith('/v1')) assert.equal(body.error.code, 'NOT_FOUND');
    }
  }
  const others = [['POST', '/v1/sends/test'], ['PATCH', '/v1/automations/runs'], ['GET', '/v1/automations/triggers/x/fire']];
  for (const [method, path] of others) assertRefused(await ask(method, path), 405, 'METHOD_NOT_ALLOWED', undefined);
});

test('nothing calls out and nothing streams: no webhooks, no server-sent events, no WebSocket (R-409, R-038)', LIMIT, async () => {
  for (const method of METHODS) assertRefused(await ask(method, '/v1/webhook-subscriptions'), 404, 'NOT_FOUND', undefined);
  assert.deepEqual(endpoints.filter(({ path }) => /webhook|subscri|stream|socket/i.test(path)), []);
  const events = await place.rest.call('GET', '/v1/usage', undefined, { accept: 'text/event-stream' });
  assert.match(events.headers['content-type'], /^application\/json/);
  const socket = new RawConnection(server.port);
  await socket.send(`GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
    'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n');
  await until('the server has answered', () => socket.statuses().length > 0, 30_000);
  assert.deepEqual(socket.statuses(), [200], 'an answer, and no other protocol');
  socket.close();
});

test('the description says which version of the contract it is; the paths carry the first number (R-410)', LIMIT, async () => {
  const { info, paths } = await must(ask('GET', '/openapi.json'));
  assert.equal(info.version, '1.0.0');
  assert.ok(Object.keys(paths).length > 50 && Object.keys(paths).every((path) => path.startsWith('/v1/')));
});
