// The response budget of hosts: a page that does not fit is refused whole, and the error names a limit that would fit. A client that
// uses it reads all pages without missing a row. REST has no such budget.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { saveContacts } from '../../lib/campaign.mjs';
import { installationFor } from '../../lib/installation.mjs';
import { Random } from '../../lib/random.mjs';
import { makePlace, must, stdioTransport } from '../../lib/brand_fixture.mjs';

const LIMIT = { timeout: 600_000 };
const BUDGET = 6000; // characters of text and structured content together
const MAX_LIMIT = 100;
const installation = installationFor({ after });
let server;

before(async () => {
  server = await installation.serve('--response-budget', String(BUDGET));
});

const sizeOf = ({ body }) => 2 * JSON.stringify(body).length;

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
  const essay = 'x'.repeat(BUDGET / 3); // counted twice: text and structured content
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

test('R-419: one row that cannot fit is refused without a limit; what was done is told whatever its size', LIMIT, async () => {
  const place = await makeSmallPlace();
  const content = `<p>${'A long letter. '.repeat(BUDGET / 5)}</p>`;
  const { emailId } = await must(place.mcp.call('import_email', { content }));
  const { ok, body } = await place.mcp.call('get_email', { emailId, include: ['html'] });
  assert.ok(!ok && body.error.code === 'RESPONSE_TOO_LARGE');
  assert.equal(body.error.param, undefined);
  const light = await place.mcp.call('get_email', { emailId });
  assert.ok(light.ok, 'without its HTML it fits');
  assert.equal(light.links[0].uri, `posthorn://emails/${emailId}/html`);

  const rows = Array.from({ length: 100 }, () => ({ email: 'no address' }));
  const saved = await place.mcp.call('save_contact', { contacts: rows });
  assert.ok(saved.ok && sizeOf(saved) > BUDGET, 'an answer to a write is never refused for its size');
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
