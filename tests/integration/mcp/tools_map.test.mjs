// The tool map of the contract: each built tool does the same as its route.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { awaitSend } from '../../lib/campaign.mjs';
import { installationFor } from '../../lib/installation.mjs';
import { makePlace, must } from '../../lib/brand_fixture.mjs';
import { assertReports } from '../../lib/report.mjs';

const LIMIT = { timeout: 600_000 };
const HTML = `<!doctype html><html><head><title>Map</title></head><body>
<p>Hello {{ firstName | default: 'there' }}</p><p><a href="https://example.com/map">Map</a></p><script>alert(1)</script></body></html>`;
const HOUR_MS = 3600_000;

const installation = installationFor({ after });
let server;

before(async () => {
  server = await installation.serve();
});

/** A brand with a short function for each transport; each fails unless the call succeeds. */
async function makeMapPlace() {
  const place = await makePlace(installation, server);
  return {
    ...place,
    tool: (name, args) => must(place.mcp.call(name, args)),
    /** A tool that reads, with everything that REST answers. */
    read: (name, args) => must(place.mcp.call(name, { ...args, detail: 'full' })),
    get: (path) => must(place.rest.call('GET', path)),
    post: (path, body) => must(place.rest.call('POST', path, body)),
  };
}

async function makeSend(place) {
  const { emailId } = await place.tool('import_email', { content: HTML, title: 'Map' });
  const { domainId } = (await place.get('/v1/domains')).data[0];
  return { emailId, domainId, to: ['ada@example.com'], subject: 'Map for {{ firstName }}' };
}

async function bothRefuse(place, code, [name, args], [path, body]) {
  const overTool = await place.mcp.call(name, args);
  const overRest = await place.rest.call('POST', path, body);
  assert.deepEqual(overTool.body, overRest.body);
  assert.equal(overTool.body.error.code, code);
}

test('R-465: save_contact is POST /v1/contacts, search_contacts is POST /v1/contacts/search', LIMIT, async () => {
  const place = await makeMapPlace();
  const saved = await place.tool('save_contact', { email: 'ada@example.com', firstName: 'Ada', customFields: { plan: 'pro' } });
  const batch = await place.tool('save_contact', { contacts: [{ email: 'bob@example.com' }, { email: 'nobody' }] });
  assert.deepEqual(batch.summary, { inserted: 1, updated: 0, failed: 1 });
  await place.post('/v1/contacts', { email: 'Ada@Example.com', lastName: 'Lovelace' });

  const search = { filters: { logic: 'and', filters: [{ field: 'plan', operator: 'equals', value: 'pro' }] } };
  const { data } = await place.read('search_contacts', search);
  assert.deepEqual(data.map(({ id, firstName, lastName }) => [id, firstName, lastName]), [[saved.id, 'Ada', 'Lovelace']]);
  assert.deepEqual((await place.post('/v1/contacts/search', search)).data, data);
  assert.deepEqual(await place.tool('search_contacts', { count: true }), { count: 2 });
});

test('R-429: import_email is POST /v1/emails/import', LIMIT, async () => {
  const place = await makeMapPlace();
  const overTool = await place.tool('import_email', { content: HTML, groupName: 'Folder', subjectLine: 'Hi' });
  const overRest = await place.post('/v1/emails/import', { source: { kind: 'content', content: HTML }, groupName: 'Folder', subjectLine: 'Hi' });
  assert.deepEqual(Object.keys(overTool), Object.keys(overRest));
  assert.deepEqual(overTool.group, overRest.group, 'the folder was made once');
  assert.deepEqual(overTool.assetReport, overRest.assetReport);
  const [one, other] = await Promise.all([overTool, overRest].map(({ emailId }) => place.get(`/v1/emails/${emailId}?include=html`)));
  assert.equal(one.html, other.html);
  assert.ok(one.html.includes('{{ firstName') && !one.html.includes('<script'));
});

test('R-426: list_emails is GET /v1/emails, with a cursor of its own', LIMIT, async () => {
  const place = await makeMapPlace();
  for (const title of ['A', 'B', 'C']) await place.tool('import_email', { content: HTML, title });
  const first = await place.read('list_emails', { limit: 2, sortBy: 'createdAt' });
  assert.deepEqual(first.data.map(({ title }) => title), ['C', 'B']);
  const query = new URLSearchParams({ limit: 2, sortBy: 'createdAt' });
  const overRest = await place.get(`/v1/emails?${query}`);
  assertReports(first, overRest);
  const next = { limit: 2, sortBy: 'createdAt', cursor: first.pagination.cursor };
  assert.deepEqual((await place.tool('list_emails', next)).data.map(({ title }) => title), ['A']);
  assert.deepEqual((await place.tool('list_emails', { status: 'failed' })).data, []);
});

test('R-425: get_email is GET /v1/emails/{emailId}, its HTML a link unless asked for', LIMIT, async () => {
  const place = await makeMapPlace();
  const { emailId } = await place.tool('import_email', { content: HTML });
  const plain = await place.mcp.call('get_email', { emailId, detail: 'full' });
  assert.deepEqual(plain.body, await place.get(`/v1/emails/${emailId}`));
  assert.equal(plain.body.html, undefined);
  const whole = await place.mcp.call('get_email', { emailId, include: ['html'], detail: 'full' });
  assert.deepEqual(whole.body, await place.get(`/v1/emails/${emailId}?include=html`));
  assert.deepEqual(whole.links, []);
  const { contents } = await place.mcp.read(plain.links[0].uri);
  assert.equal(contents[0].text, whole.body.html);
  assert.equal(contents[0].mimeType, 'text/html');
});

test('R-442: send_email is POST /v1/sends', LIMIT, async () => {
  const place = await makeMapPlace();
  await place.tool('save_contact', { email: 'ada@example.com', firstName: 'Ada' });
  const send = await makeSend(place);
  const trial = { emailId: send.emailId, to: ['me@example.com'], subject: 'Trial', test: true };
  assert.deepEqual(Object.keys(await place.tool('send_email', trial)), Object.keys(await place.post('/v1/sends', trial)));

  const accepted = await place.tool('send_email', send);
  const { sendId } = accepted;
  const done = await awaitSend(place.mcp.call, sendId, 20_000);
  assert.equal(done.status, 'completed');
  assertReports(done, await place.get(`/v1/sends/${sendId}`));
  await bothRefuse(place, 'EMAIL_ALREADY_SENT', ['send_email', send], ['/v1/sends', send]);
  const { emailId } = await place.tool('import_email', { content: HTML });
  assert.deepEqual(Object.keys(await place.post('/v1/sends', { ...send, emailId })), Object.keys(accepted));
});

test('R-443: control_email_send is POST /v1/sends/{sendId}/cancel, pause and resume', LIMIT, async () => {
  const place = await makeMapPlace();
  await place.tool('save_contact', { email: 'ada@example.com' });
  const scheduledAt = new Date(Date.now() + HOUR_MS).toISOString();
  const [first, second] = [await makeSend(place), await makeSend(place)];
  const { sendId } = await place.tool('send_email', { ...first, scheduledAt });
  const canceled = await place.tool('control_email_send', { action: 'cancel', sendId });
  assert.equal(canceled.status, 'canceled');
  assertReports(canceled, await place.get(`/v1/sends/${sendId}`));
  assert.equal(canceled.stats, null, 'it never began');

  const other = await place.tool('send_email', { ...second, scheduledAt });
  const overRest = await place.post(`/v1/sends/${other.sendId}/cancel`);
  assertReports(await place.read('get_email_analytics', { view: 'send', sendId: other.sendId }), overRest);

  const third = await place.tool('send_email', await makeSend(place));
  await awaitSend(place.mcp.call, third.sendId, 20_000);
  const cancel = `/v1/sends/${third.sendId}/cancel`;
  await bothRefuse(place, 'SEND_NOT_CANCELLABLE', ['control_email_send', { action: 'cancel', sendId: third.sendId }], [cancel]);
  for (const [action, code] of [['pause', 'SEND_NOT_PAUSABLE'], ['resume', 'SEND_NOT_RESUMABLE']])
    await bothRefuse(place, code, ['control_email_send', { action, sendId }], [`/v1/sends/${sendId}/${action}`]);
});

test('R-444: get_email_analytics reads overview, sends and events', LIMIT, async () => {
  const place = await makeMapPlace();
  await place.tool('save_contact', { email: 'ada@example.com' });
  const { sendId } = await place.tool('send_email', await makeSend(place));
  await awaitSend(place.mcp.call, sendId, 20_000);
  const window = { from: new Date(Date.now() - HOUR_MS).toISOString(), to: new Date(Date.now() + HOUR_MS).toISOString() };
  const reads = [
    [{ view: 'overview', ...window }, '/v1/analytics/overview', window],
    [{ view: 'sends', status: 'completed' }, '/v1/sends', { status: 'completed', limit: 10 }],
    [{ view: 'send', sendId, include: ['events'] }, `/v1/sends/${sendId}`, { include: 'events' }],
    [{ view: 'events', recipient: 'ada@example.com', ...window }, '/v1/analytics/events', { recipient: 'ada@example.com', ...window, limit: 10 }],
  ];
  for (const [args, path, query] of reads) {
    const body = await place.read('get_email_analytics', args);
    assertReports(body, await place.get(`${path}?${new URLSearchParams(query)}`), args.view);
    assert.ok(JSON.stringify(body).includes('"delivered'), `${args.view} reports the delivery`);
  }
  const foreign = await place.mcp.call('get_email_analytics', { view: 'overview', sendId });
  assert.ok(!foreign.ok && foreign.body.error.param === 'sendId', 'an argument of another view is refused');
});
