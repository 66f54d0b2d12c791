// The declared surface, built or not: the document that is served, the routes that are gone, and the refusals that every declaration
// gives before anything is built. The clients of all tests check their answers against the document (tests/openapi).

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { BINARY, installationFor } from '../../lib/installation.mjs';
import { makePlace } from '../../lib/brand_fixture.mjs';

const LIMIT = { timeout: 600_000 };
const T = '/v1/automations/triggers';
const installation = installationFor({ after });
let place;
let document;

before(async () => {
  place = await makePlace(installation, await installation.serve());
  document = (await place.rest.call('GET', '/openapi.json')).body;
});

async function refused(method, path, body, code, param) {
  const { status, body: said } = await place.rest.call(method, path, body);
  const what = `${method} ${path} ${JSON.stringify(body)?.slice(0, 200)}: ${status} ${JSON.stringify(said)}`;
  assert.equal(said.error?.code, code, what);
  if (param !== undefined) assert.equal(said.error.param, param, what);
}

const allOperations = () => Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })));
const sample = (path) => path.replace(/\{\w+\}/g, 'none');

test('R-410: the document is version 1.0.0 of an interface below /v1, and the one that the build made', LIMIT, async () => {
  const made = JSON.parse(readFileSync(join(dirname(BINARY), 'generated/catalogue/openapi.json'), 'utf8'));
  assert.deepEqual(document, made);
  assert.equal(document.openapi, '3.1.0');
  assert.equal(document.info.version, '1.0.0');
  assert.ok(Object.keys(document.paths).every((path) => path.startsWith('/v1/')));
});

test('R-181: operations that are not built say so in the document and in help, and answer 501 to what it shows', LIMIT, async () => {
  const { endpoints } = (await place.rest.call('GET', '/v1/help')).body;
  const available = new Map(endpoints.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint.available]));
  let unbuilt = 0;
  for (const { method, path, operation } of allOperations()) {
    assert.equal(operation['x-available'], available.get(`${method} ${path}`), `${method} ${path}`);
    const missing = operation['x-operations'].filter((one) => !one.available);
    assert.equal(operation.responses[501] !== undefined, missing.length > 0 || operation['x-errors'].includes('NOT_IMPLEMENTED'), path);
    if (operation.security.length === 1) continue; // of a signed-in administrator
    for (const { id, when } of missing) {
      const body = operation.requestBody?.content['application/json'].examples[id]?.value;
      const means = operation.parameters.some(({ name }) => name === when?.present) ? `?${when.present}=x` : '';
      await refused(method, sample(path) + means, body, 'NOT_IMPLEMENTED');
      unbuilt++;
    }
  }
  assert.equal(unbuilt, 1, `${unbuilt}`); // content.generate
});

// R-022 R-023 R-024 R-025 R-026 R-027 R-028 R-029
test('ids that once read a row of a list are refused there', LIMIT, async () => {
  for (const [path, key] of [
    ['/v1/emails', 'emailId'], ['/v1/audiences', 'audienceId'], ['/v1/automations', 'automationId'],
    ['/v1/automations/runs', 'automationRunId'], [T, 'triggerEventId'], ['/v1/sends', 'sendId'],
    ['/v1/automations/trigger-instances', 'triggerInstanceId'], ['/v1/domains', 'domainId'],
  ]) await refused('GET', `${path}?${key}=none`, undefined, 'INVALID_REQUEST', key);
});

test('R-030: filters that join stay legal', LIMIT, async () => {
  for (const key of ['automationId', 'automationRunId', 'audienceRunId', 'triggerInstanceId']) {
    const { body } = await place.rest.call('GET', `/v1/sends?${key}=none`);
    assert.notEqual(body.error?.code, 'INVALID_REQUEST', JSON.stringify(body));
  }
  for (const key of ['automationId', 'triggerInstanceId']) {
    const { body } = await place.rest.call('GET', `/v1/automations/runs?${key}=none`);
    assert.notEqual(body.error?.code, 'INVALID_REQUEST', JSON.stringify(body));
  }
});

test('brandId is no key of a query or a body, and a snake_case key none at all (R-020, R-021, R-004)', LIMIT, async () => {
  for (const { method, path, operation } of allOperations()) {
    // health and help read nothing; api-keys and the making of brands are not for this key
    if (operation.security.length !== 3 || operation['x-errors'].includes('ORG_SCOPE_REQUIRED')) continue;
    await refused(method, `${sample(path)}?brandId=none`, ['GET', 'DELETE'].includes(method) ? undefined : {}, 'INVALID_REQUEST', 'brandId');
    if (['GET', 'DELETE'].includes(method)) continue;
    await refused(method, sample(path), { brandId: 'none' }, 'INVALID_REQUEST', 'brandId');
    await refused(method, sample(path), { dry_run: true }, 'INVALID_REQUEST', 'dry_run');
  }
});

test('R-413: no body changes a status', LIMIT, async () => {
  for (const { method, path } of allOperations().filter((one) => one.method === 'PATCH' || one.path.endsWith('/cancel'))) {
    await refused(method, sample(path), { status: 'canceled' }, 'INVALID_REQUEST', 'status');
  }
});

test('what was renamed or removed is gone (R-287, R-411, R-414)', LIMIT, async () => {
  for (const [method, path, code] of [
    ['GET', '/v1/analytics/sends', 'NOT_FOUND'], ['GET', '/v1/analytics/campaigns', 'NOT_FOUND'],
    ['GET', '/v1/analytics/trigger-instances', 'NOT_FOUND'], ['GET', '/v1/account', 'NOT_FOUND'],
    ['POST', '/v1/content/host-image', 'NOT_FOUND'], ['GET', '/v1/triggers', 'NOT_FOUND'], ['POST', '/v1/triggers', 'NOT_FOUND'],
    ['POST', '/v1/triggers/x/fire', 'NOT_FOUND'], ['POST', '/v1/sends/test', 'METHOD_NOT_ALLOWED'],
    ['PATCH', '/v1/automations/runs', 'METHOD_NOT_ALLOWED'], ['POST', '/v1/automations/audience-runs/x/control', 'NOT_FOUND'],
    ['GET', `${T}/x/fire`, 'METHOD_NOT_ALLOWED'],
  ]) await refused(method, path, method === 'GET' ? undefined : {}, code);
});

test('R-412: fixed words win over parameters', LIMIT, async () => {
  for (const [method, path, id] of [
    ['POST', '/v1/emails/import', 'emails.import'], ['GET', '/v1/automations/runs', 'runs.list'],
    ['GET', '/v1/automations/triggers', 'triggers.list'], ['POST', '/v1/audiences/from-events', 'audiences.createFromEvents'],
  ]) assert.equal(document.paths[path][method.toLowerCase()].operationId, id);
  // As a design's id, import could be patched but not imported; as itself it wants a source.
  await refused('POST', '/v1/emails/import', { prompt: 'x' }, 'INVALID_REQUEST', 'prompt');
  await refused('GET', '/v1/automations/runs?status=sent', undefined, 'INVALID_REQUEST', 'status');
});

test('R-409: nothing is pushed: no webhook, callback or stream is described, and no connection is upgraded', LIMIT, async () => {
  assert.equal(document.webhooks, undefined);
  const text = JSON.stringify(document);
  assert.ok(!text.includes('text/event-stream') && !text.includes('"callbacks"'));
  const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==' };
  const { status } = await place.rest.call('GET', '/v1/sends', undefined, headers);
  assert.equal(status, 200);
});

// What declarations alone refuse, whether or not anything behind them is built. [rule, method, path, body, param]
const EMAIL = { key: 'email', type: 'string', required: true };
const DECLARED = [
  ['R-210', 'POST', '/v1/emails', { category: 'welcome' }, 'prompt'],
  ['R-211', 'POST', '/v1/emails', { prompt: 'x', contentUrls: Array(9).fill('https://example.com/') }, 'contentUrls'],
  ['R-212', 'POST', '/v1/emails', { prompt: 'x', category: 'spam' }, 'category'],
  ['R-229', 'POST', '/v1/emails/audit', { sendingPurpose: 'marketing' }, 'emailId'],
  ['R-232', 'POST', '/v1/emails/x/client-previews', { clients: 'all' }, 'clients'],
  ['R-283', 'GET', '/v1/analytics/events?recipientEmail=ada@example.com', undefined, 'recipientEmail'],
  ['R-289', 'POST', '/v1/automations', { connections: [] }, 'nodes'],
  ['R-292', 'POST', '/v1/automations', { nodes: [{ id: 'a', type: 'trigger' }], connections: [] }, 'nodes.0.config'],
  ['R-292', 'POST', '/v1/automations', { nodes: [], connections: [{ from: 'a' }] }, 'connections.0.to'],
  ['R-295', 'GET', '/v1/automations?include=html', undefined, 'include'],
  ['R-296', 'PATCH', '/v1/automations/x', { published: 'yes' }, 'published'],
  ['R-304', 'POST', '/v1/automations/x/test', { testRecipient: 7 }, 'testRecipient'],
  ['R-305', 'POST', '/v1/automations/x/test', { scenario: { splits: [{ nodeId: 'a', branch: 'up' }] } }, 'scenario.splits.0.branch'],
  ['R-307', 'POST', '/v1/automations/x/run', { gradualSend: {} }, 'gradualSend.startingPercentage'],
  ['R-311', 'POST', T, { payloadSchema: { fields: [EMAIL] } }, 'title'],
  ['R-314', 'POST', T, { title: 'x', payloadSchema: { fields: [EMAIL] }, provider: 'api' }, 'provider'],
  ['R-315', 'GET', `${T}/x?include=html`, undefined, 'include'],
  ['R-318', 'POST', `${T}/x/fire`, {}, 'payload'],
  ['R-333', 'GET', `${T}/x/contract?format=xml`, undefined, 'format'],
  ['R-336', 'PUT', `${T}/x/contract`, { enforcement: 'loose' }, 'enforcement'],
  ['R-343', 'POST', `${T}/x/contract/validate`, { payload: {}, enforcement: 'loose' }, 'enforcement'],
  ['R-344', 'POST', '/v1/payload-contracts/infer', {}, 'example'],
  ['R-346', 'GET', '/v1/automations/runs?from=yesterday', undefined, 'from'],
  ['R-347', 'GET', '/v1/automations/runs/x?include=graph', undefined, 'include'],
  ...['sent', 'sending', 'partially_sent', 'pending', 'streaming', 'complete', 'cancelled'].flatMap((old) => [
    ['R-355', 'GET', `/v1/automations/runs?status=${old}`, undefined, 'status'],
    ['R-355', 'GET', `/v1/automations/audience-runs?status=${old}`, undefined, 'status'],
  ]),
  ['R-388', 'POST', '/v1/content/html-to-png', {}, 'html'],
  ['R-389', 'POST', '/v1/content/gif', { from: 'thought' }, 'from'],
  ['R-390', 'POST', '/v1/content/transform', { operation: 'blur', imageUrl: 'https://example.com/a.png' }, 'operation'],
  ['R-391', 'POST', '/v1/content/add-image', { imageUrls: [] }, 'imageUrls'],
  ['R-392', 'POST', '/v1/content/generate', { prompt: '' }, 'prompt'],
  ['R-393', 'GET', '/v1/insights?severity=high', undefined, 'severity'],
  ['R-396', 'GET', '/v1/insights?include=gossip', undefined, 'include'],
];

test('what declarations refuse is refused before it is built', LIMIT, async () => {
  const problems = [];
  for (const [rule, method, path, body, param] of DECLARED) {
    await refused(method, path, body, 'INVALID_REQUEST', param).catch((problem) => problems.push(`${rule}: ${problem.message}`));
  }
  assert.deepEqual(problems, []);
});
