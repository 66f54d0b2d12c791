// The response budget of hosts: a page that does not fit is refused whole, and the error names a limit that would fit. A client that
// uses it reads all pages without missing a row. REST has no such budget.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { saveContacts } from '../../lib/campaign.mjs';
import { installationFor } from '../../lib/installation.mjs';
import { Random } from '../../lib/random.mjs';
import { makePlace, must, stdioTransport } from '../../lib/brand_fixture.mjs';

const LIMIT = { timeout: 600_000 };
const BUDGET = 3000; // characters of a body, which a result contains as text and as structured content
const MAX_LIMIT = 100;
const installation = installationFor({ after });
let server;

before(async () => {
  server = await installation.serve('--response-budget', String(BUDGET));
});

const sizeOf = ({ body }) => JSON.stringify(body).length;

/** A brand and its two transports of tools, both with the small budget. */
async function makeSmallPlace() {
  const place = await makePlace(installation, server);
  const stdio = await stdioTransport(installation, '--brand', place.brandId, '--response-budget', String(BUDGET));
  return { ...place, transports: [place.mcp, stdio] };
}

/** A refusal as R-419 has it; gives the limit it proposes. */
function checkRefusal({ ok, body }, limit) {
  assert.ok(!ok && body.error.code === 'RESPONSE_TOO_LARGE', JSON.stringify(body));
  assert.deepEqual(Object.keys(body), ['error'], 'no rows, no cursor');
  assert.ok(!JSON.stringify(body).includes('cursor'));
  const { details, param, message } = body.error;
  assert.equal(param, 'limit');
  assert.equal(details.budget, BUDGET);
  assert.ok(details.characters > BUDGET);
  assert.ok(details.limit >= 1 && details.limit < limit, `limit ${details.limit} after ${limit}`);
  assert.ok(message.includes(String(details.limit)), message);
  return details.limit;
}

/** Reads a list from its first page to its last, always asking for too much first. */
async function walk(transport, tool, args, id) {
  const seen = [];
  let refusals = 0;
  let cursor;
  do {
    let limit = MAX_LIMIT;
    let answer;
    for (;;) {
      answer = await transport.call(tool, { ...args, limit, ...(cursor && { cursor }) });
      if (answer.ok) break;
      limit = checkRefusal(answer, limit);
      refusals++;
    }
    assert.ok(sizeOf(answer) <= BUDGET, `${sizeOf(answer)} characters`);
    seen.push(...answer.body.data.map((row) => row[id]));
    cursor = answer.body.pagination.cursor ?? undefined;
  } while (cursor !== undefined);
  assert.ok(refusals > 0, `${tool}: nothing was too large`);
  return seen;
}

/** Everything there is, as REST gives it: in one page, whatever its size. */
async function wholePage(place, method, path, id) {
  const { data, pagination } = await must(place.rest.call(method, path, method === 'POST' ? { limit: MAX_LIMIT } : undefined));
  assert.equal(pagination.hasMore, false);
  return data.map((row) => row[id]);
}

test('R-419, R-420: contacts: refused whole, and a walk with the proposed limits meets every row once', LIMIT, async () => {
  const place = await makeSmallPlace();
  await saveContacts(place.mcp.call, 'budget', MAX_LIMIT);
  const everybody = await wholePage(place, 'POST', '/v1/contacts/search', 'id');
  assert.equal(everybody.length, MAX_LIMIT);
  for (const transport of place.transports) assert.deepEqual(await walk(transport, 'search_contacts', {}, 'id'), everybody);
});

test('R-420: rows of very different sizes', LIMIT, async () => {
  const place = await makeSmallPlace();
  const random = new Random(7);
  const contacts = Array.from({ length: 60 }, (_, i) => ({
    email: `size-${i}@example.com`,
    customFields: random.below(3) === 0 ? { essay: '\u00fc'.repeat(random.below(2000)), quotes: '"\\'.repeat(random.below(100)) } : {},
  }));
  const saved = await must(place.mcp.call('save_contact', { contacts }));
  assert.equal(saved.summary.inserted, contacts.length);
  const everybody = await wholePage(place, 'POST', '/v1/contacts/search', 'id');
  for (const transport of place.transports) assert.deepEqual(await walk(transport, 'search_contacts', {}, 'id'), everybody);
});

test('R-420: rows of which only one fits are walked one by one', LIMIT, async () => {
  const place = await makeSmallPlace();
  const essay = 'x'.repeat((BUDGET * 2) / 3);
  const contacts = Array.from({ length: 5 }, (_, i) => ({ email: `one-${i}@example.com`, customFields: { essay } }));
  await must(place.mcp.call('save_contact', { contacts }));
  const everybody = await wholePage(place, 'POST', '/v1/contacts/search', 'id');
  assert.equal(everybody.length, contacts.length);
  for (const transport of place.transports) assert.deepEqual(await walk(transport, 'search_contacts', {}, 'id'), everybody);
});

test('R-419, R-420: designs, sends and events', LIMIT, async () => {
  const place = await makeSmallPlace();
  const { domainId } = (await must(place.rest.call('GET', '/v1/domains'))).data[0];
  const to = Array.from({ length: 30 }, (_, i) => `reader-${i}@example.com`);
  await must(place.rest.call('POST', '/v1/contacts', { contacts: to.map((email) => ({ email })) }));
  for (let i = 0; i < 30; i++) {
    const { emailId } = await must(place.rest.call('POST', '/v1/emails/import', { content: `<p>Letter ${i}</p>`, title: `Letter ${i}` }));
    const scheduledAt = i === 0 ? {} : { scheduledAt: new Date(Date.now() + 3600_000).toISOString() };
    await must(place.rest.call('POST', '/v1/sends', { emailId, domainId, to, subject: `Letter ${i}`, ...scheduledAt }));
  }
  const delivered = '/v1/analytics/events?limit=100&eventType=delivered';
  while ((await wholePage(place, 'GET', delivered, 'recipientEmail')).length < to.length) await new Promise((settle) => setTimeout(settle, 50));

  for (const [tool, args, path, id] of [
    ['list_emails', { sortBy: 'createdAt' }, '/v1/emails?limit=100&sortBy=createdAt', 'emailId'],
    ['get_email_analytics', { view: 'sends' }, '/v1/sends?limit=100', 'sendId'],
    ['get_email_analytics', { view: 'events', eventType: 'delivered' }, delivered, 'recipientEmail'],
  ]) {
    const expected = await wholePage(place, 'GET', path, id);
    assert.equal(expected.length, 30);
    for (const transport of place.transports) assert.deepEqual(await walk(transport, tool, args, id), expected, `${tool} ${JSON.stringify(args)}`);
  }
});

/** Reads the HTML of a design or template in windows; gives the whole and the number of calls. */
async function readInWindows(transport, tool, emailId, size) {
  let html = '';
  let calls = 0;
  for (let next = 0; next !== undefined; calls++) {
    const answer = await transport.call(tool, { emailId, htmlFrom: next, ...size });
    assert.ok(answer.ok && sizeOf(answer) <= BUDGET, JSON.stringify(answer.body).slice(0, 300));
    assert.equal(answer.body.htmlFrom, next);
    assert.deepEqual(answer.links, [], 'no link to what was read');
    html += answer.body.html;
    assert.equal(answer.body.nextHtmlFrom === undefined, [...html].length === answer.body.htmlTotalChars);
    next = answer.body.nextHtmlFrom;
  }
  return { html, calls };
}

test('R-419: HTML that does not fit is refused with the arguments that read it, and its windows join to the whole', LIMIT, async () => {
  const place = await makeSmallPlace();
  const content = `<p title="&quot;">${'A "long" letter \u00fc \u{1f600} {{ firstName }}. '.repeat(BUDGET / 8)}</p>`;
  const { emailId } = await must(place.mcp.call('import_email', { content }));
  const { html } = await must(place.rest.call('GET', `/v1/emails/${emailId}?include=html`));
  for (const transport of place.transports) {
    const { ok, body } = await transport.call('get_email', { emailId, include: ['html'] });
    assert.ok(!ok && body.error.code === 'RESPONSE_TOO_LARGE');
    const { param, message, details } = body.error;
    assert.equal(param, 'htmlFrom');
    assert.equal(details.resource, `posthorn://emails/${emailId}/html`);
    for (const named of ['htmlFrom 0', `htmlChars ${details.htmlChars}`, 'nextHtmlFrom', details.resource]) assert.ok(message.includes(named), message);
    const proposed = await readInWindows(transport, 'get_email', emailId, { htmlChars: details.htmlChars });
    assert.equal(proposed.html, html);
    const widest = await readInWindows(transport, 'get_email', emailId, {});
    assert.equal(widest.html, html);
    assert.ok(widest.calls <= proposed.calls);
    assert.equal((await transport.read(details.resource)).contents[0].text, html);
    const light = await transport.call('get_email', { emailId });
    assert.ok(light.ok, 'without its HTML it fits');
    assert.equal(light.links[0].uri, details.resource);
  }
  const behind = await place.mcp.call('get_email', { emailId, htmlFrom: [...html].length });
  assert.ok(!behind.ok && behind.body.error.param === 'htmlFrom');
});

test('R-445: the HTML of a template is a resource, and is read in windows', LIMIT, async () => {
  const place = await makeSmallPlace();
  const { emailId } = (await must(place.mcp.call('search_templates', { limit: 1 }))).data[0];
  const { html } = await must(place.rest.call('GET', `/v1/templates/${emailId}`));
  for (const transport of place.transports) {
    const refused = await transport.call('get_template', { emailId, include: ['html'] });
    const { resource } = refused.body.error.details;
    assert.equal(resource, `posthorn://templates/${emailId}/html`);
    assert.equal((await transport.read(resource)).contents[0].text, html);
    assert.equal((await readInWindows(transport, 'get_template', emailId, {})).html, html);
  }
  const client = installation.stdio('--brand', place.brandId);
  await client.initialize();
  const { result } = await client.request('completion/complete', {
    ref: { type: 'ref/resource', uri: 'posthorn://templates/{templateId}/html' },
    argument: { name: 'templateId', value: emailId.slice(0, 6) },
  });
  assert.ok(result.completion.values.includes(emailId), 'the id of a template is completed');
  await client.close();
});

test('D-149: answers of tools are short, and whole with detail full', LIMIT, async () => {
  const place = await makeSmallPlace();
  await must(place.rest.call('POST', '/v1/contacts', { email: 'ada@example.com', firstName: 'Ada', subscribed: false }));
  const { emailId } = await must(place.mcp.call('import_email', { content: '<p>Hello</p>' }));
  for (const [tool, args, method, path, sent] of [
    ['search_contacts', { limit: 3 }, 'POST', '/v1/contacts/search', { limit: 3 }],
    ['list_emails', { limit: 3 }, 'GET', '/v1/emails?limit=3'],
    ['get_email', { emailId, include: ['versions'] }, 'GET', `/v1/emails/${emailId}?include=versions`],
  ]) {
    const whole = await must(place.rest.call(method, path, sent));
    for (const transport of place.transports) {
      assert.deepEqual(await must(transport.call(tool, { ...args, detail: 'full' })), whole, tool);
      const short = await must(transport.call(tool, args));
      assert.ok(!/null|""|createdAt|updatedAt/.test(JSON.stringify(short)), JSON.stringify(short));
    }
  }
  const [ada] = (await must(place.mcp.call('search_contacts', {}))).data;
  assert.deepEqual({ ...ada, id: 0, source: 0 }, { id: 0, email: 'ada@example.com', firstName: 'Ada', source: 0, subscribed: false });
  const none = await must(place.mcp.call('search_contacts', { search: 'nobody' }));
  assert.deepEqual(none.data, [], 'an empty page says that there is nothing');
  const wrong = await place.mcp.call('search_contacts', { detail: 'some' });
  assert.ok(!wrong.ok && wrong.body.error.param === 'detail');
});

test('D-149: included lists obey limit', LIMIT, async () => {
  const place = await makeSmallPlace();
  const { emailId } = await must(place.mcp.call('import_email', { content: '<p>Hello</p>' }));
  for (let i = 0; i < 12; i++) await must(place.mcp.call('restore_email_version', { emailId, version: 1 }));
  const { versions } = await must(place.rest.call('GET', `/v1/emails/${emailId}?include=versions`));
  for (const [limit, shown] of [[undefined, 10], [2, 2], [100, versions.length]]) {
    const body = await must(place.mcp.call('get_email', { emailId, include: ['versions'], ...(limit && { limit }) }));
    assert.deepEqual(body.versions, versions.slice(0, shown));
    assert.equal(body.hasMore, shown < versions.length ? true : undefined);
  }
});

test('many faulty rows are grouped by code; what was done is told whatever its size', LIMIT, async () => {
  const place = await makeSmallPlace();
  const rows = Array.from({ length: 100 }, (_, i) => (i % 10 === 4 ? { firstName: 'No one' } : { email: `no address ${i}` }));
  const whole = await must(place.rest.call('POST', '/v1/contacts', { contacts: rows }));
  assert.equal(whole.errors.length, rows.length, 'REST lists every row');
  for (const transport of place.transports) {
    const { summary, errors, note } = await must(transport.call('save_contact', { contacts: rows }));
    assert.equal(summary.failed, rows.length);
    assert.deepEqual(errors.map(({ code, count }) => [code, count]).sort(), [['INVALID_EMAIL', 90], ['MISSING_EMAIL', 10]]);
    const missing = errors.find(({ code }) => code === 'MISSING_EMAIL');
    assert.equal(missing.rows, Array.from({ length: 10 }, (_, i) => 10 * i + 4).join(', '));
    for (const { samples } of errors) assert.equal(samples.length, 10);
    assert.match(note, /detail full/);
    const full = await transport.call('save_contact', { contacts: rows, detail: 'full' });
    assert.deepEqual(full.body, whole);
    assert.ok(full.ok && sizeOf(full) > BUDGET, 'an answer to a write is never refused for its size');
  }
  const few = await must(place.mcp.call('save_contact', { contacts: rows.slice(0, 10) }));
  assert.equal(few.errors.length, 10);
  assert.equal(few.errors[0].index, 0);
});

test('the errors of an import are counted over all rows, and their resource is named', LIMIT, async () => {
  const place = await makeSmallPlace();
  const csv = `email\n${Array.from({ length: 300 }, (_, i) => `no address ${i}\n`).join('')}`;
  for (const transport of place.transports) {
    const { importId, summary, errors, note } = await must(transport.call('import_contacts_csv', { csv }));
    assert.equal(summary.failed, 300);
    assert.deepEqual(errors.map(({ code, count, rows }) => [code, count, rows]), [['INVALID_EMAIL', 300, undefined]]);
    assert.ok(note.includes(`posthorn://imports/${importId}/errors`), note);
    const { text } = (await transport.read(`posthorn://imports/${importId}/errors`)).contents[0];
    assert.equal(text.trim().split('\r\n').length, 301);
  }
});

test('R-469: RESPONSE_TOO_LARGE never appears over REST', LIMIT, async () => {
  const place = await makeSmallPlace();
  await saveContacts(place.mcp.call, 'rest', MAX_LIMIT);
  const { emailId } = await must(place.mcp.call('import_email', { content: `<p>${'Long. '.repeat(BUDGET)}</p>` }));
  for (const [method, path, body] of [
    ['POST', '/v1/contacts/search', { limit: MAX_LIMIT }],
    ['GET', `/v1/emails/${emailId}?include=html`],
  ]) {
    const answer = await place.rest.call(method, path, body);
    assert.equal(answer.status, 200);
    assert.ok(sizeOf(answer) > BUDGET, `${path} would not have fitted`);
  }
});

const FAULTS = 400;

/** A graph in which every connection leaves a node that is not there: an_error_fits_the_budget. */
const faultyGraph = (audienceId) => ({
  nodes: [
    { id: 'start', type: 'trigger', config: { mode: 'manualAudience', audienceId } },
    { id: 'pause', type: 'wait', config: { duration: 1, unit: 'days' } },
  ],
  connections: Array.from({ length: FAULTS }, (_, number) => ({ from: `missing-${number}`, to: 'pause' })),
});

test('a refusal with many faults shows as many as fit, and REST shows all (R-118)', LIMIT, async () => {
  const { rest, transports } = await makeSmallPlace();
  const filters = { logic: 'and', filters: [{ field: 'email', operator: 'contains', value: '@' }] };
  const { audienceId } = await must(rest.call('POST', '/v1/audiences', { name: 'Everybody', filters }));
  const graph = faultyGraph(audienceId);
  const { body: whole } = await rest.call('POST', '/v1/automations', graph);
  assert.equal(whole.error.details.issues.length, FAULTS);
  for (const transport of transports) {
    const { ok, body } = await transport.call('save_automation', graph);
    assert.ok(!ok && body.error.code === 'AUTOMATION_GRAPH_INVALID', JSON.stringify(body));
    const { issues, omitted } = body.error.details;
    assert.ok(issues.length > 0 && JSON.stringify(body).length <= BUDGET, `${issues.length} issues`);
    assert.equal(issues.length + omitted, FAULTS);
    assert.deepEqual(issues, whole.error.details.issues.slice(0, issues.length));
    assert.ok(body.error.message.includes(`${FAULTS} faults`), body.error.message);
  }
});
