// Two servers over one database and one limit store behave as one: a caller begins at one and goes on at the other.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { prepareSend, saveContacts } from '../../lib/campaign.mjs';
import { holdOnceWritten, sql } from '../../lib/database.mjs';
import { until } from '../../lib/processes.mjs';
import { ServerPair } from './server_pair.mjs';
import { assertRefusedWithinASecond, makePlace, must, transportsOfKey } from '../../lib/brand_fixture.mjs';

const LIMIT = { timeout: 600_000 };
const COUNT = 4;

const pair = new ServerPair({ after });
const { installation } = pair;
let servers;

before(async () => {
  await pair.start();
  ({ servers } = pair);
});

/** A brand with one key, and its transports at both servers. */
async function makeTransports() {
  const place = await makePlace(installation, servers[0]);
  return { ...place, transports: servers.map((server) => transportsOfKey(server, place.key)) };
}

const keyed = (key) => ({ 'idempotency-key': key });
const distinct = (answers) => new Set(answers.map(({ body }) => JSON.stringify(body))).size;

test('an idempotency key is one key at both: replayed, in conflict, and worth waiting for (R-145, R-146, R-148)', LIMIT, async () => {
  const key = await installation.key();
  const clients = servers.map((server) => server.client(key, {}, 10));
  const make = (side, name, idempotencyKey) => clients[side].post('/v1/brands', { name }, keyed(idempotencyKey));
  const first = await make(0, 'Pair', 'pair-1');
  assert.equal(first.status, 201);
  const replay = await make(1, 'Pair', 'pair-1');
  assert.deepEqual([replay.status, replay.body], [201, first.body]);
  const conflict = await make(1, 'Another', 'pair-1');
  assert.deepEqual([conflict.status, conflict.body.error.code], [409, 'IDEMPOTENCY_CONFLICT']);

  const answers = await Promise.all(Array.from({ length: 20 }, (_, call) => make(call % 2, 'Pair of twenty', 'pair-20')));
  assert.deepEqual(answers.map(({ status }) => status), Array(20).fill(201));
  assert.equal(distinct(answers), 1, 'executed once');
  const { data } = await installation.admin('brand', 'list');
  assert.equal(data.filter(({ name }) => name === 'Pair of twenty').length, 1);
});

test('a job of one server is joined and its end awaited at the other (R-148)', LIMIT, async () => {
  const { transports } = await makeTransports();
  const letter = { source: { kind: 'content', content: '<p>once</p>' }, title: 'Once' };
  const answers = await Promise.all(Array.from({ length: 8 }, (_, call) =>
    transports[call % 2].rest.call('POST', '/v1/emails/import', letter, keyed('job'))));
  assert.deepEqual(answers.map(({ status }) => status), Array(8).fill(201));
  assert.equal(new Set(answers.map(({ body }) => body.emailId)).size, 1);
  for (const { rest } of transports) assert.equal((await must(rest.call('GET', '/v1/emails'))).data.length, 1);
});

test('a caller that leaves one server does not cancel the job that another awaits at the other (R-148)', LIMIT, async () => {
  const { key, transports } = await makeTransports();
  await saveContacts(transports[0].mcp.call, 'held', 1);
  const [leaving, staying] = servers.map((server) => server.client(key));
  const rows = 60_000;
  const csv = `email\n${Array.from({ length: rows }, (_, row) => `waiting-${row}@example.com`).join('\n')}\n`;
  const waiting = async () => Number((await sql(installation, 'select count(*) from job_waiters'))[0]);
  const contacts = await holdOnceWritten(installation, 'contacts');
  await contacts.held;
  const left = leaving.post('/v1/contacts/import-csv', { csv }, keyed('import')).catch(() => null);
  const stayed = staying.postToEnd('/v1/contacts/import-csv', { csv }, keyed('import'));
  await until('both wait', async () => await waiting() === 2, 60_000);
  leaving.close();
  await until('one has left', async () => await waiting() === 1, 60_000);
  await contacts.release();
  const { status, body } = await stayed;
  assert.deepEqual([status, body.status, body.summary?.inserted], [200, 'completed', rows], JSON.stringify(body));
  await left;
  staying.close();
});

test('a cursor of one server goes on at the other, over REST and over MCP', LIMIT, async () => {
  const { transports } = await makeTransports();
  await saveContacts(transports[0].mcp.call, 'page', 9);
  const walk = async (page) => {
    const found = [];
    for (let side = 0, cursor; ; side = 1 - side) {
      const { data, pagination } = await page(transports[side], cursor);
      found.push(...data.map(({ email }) => email));
      cursor = pagination.cursor ?? undefined;
      if (cursor === undefined) return found.sort();
    }
  };
  const wanted = Array.from({ length: 9 }, (_, index) => `page-${index}@example.com`);
  const search = (cursor) => ({ limit: 2, ...(cursor && { cursor }) });
  assert.deepEqual(await walk(({ rest }, cursor) => must(rest.call('POST', '/v1/contacts/search', search(cursor)))), wanted);
  assert.deepEqual(await walk(({ mcp }, cursor) => must(mcp.call('search_contacts', search(cursor)))), wanted);
});

test('a brand made at one is there at the other, and what is written to it', LIMIT, async () => {
  const key = await installation.key();
  const [first, second] = servers.map((server) => server.client(key));
  const { body } = await first.post('/v1/brands', { name: 'Seen' });
  const brand = { 'x-brand-id': body.brandId };
  assert.equal((await second.get('/v1/brand', brand)).body.name, 'Seen');
  assert.equal((await second.post('/v1/contacts', { email: 'seen@example.com' }, brand)).status, 201);
  const { body: found } = await first.post('/v1/contacts/search', {}, brand);
  assert.deepEqual(found.data.map(({ email }) => email), ['seen@example.com']);
});

test('a revoked key is refused by both within a second', LIMIT, async () => {
  const { key, keyId } = await installation.admin('key', 'create', '--rate-multiplier', '1000');
  const clients = servers.map((server) => server.client(key));
  for (const client of clients) assert.equal((await client.get('/v1/usage')).status, 200);
  await installation.admin('key', 'revoke', keyId);
  const revokedAt = Date.now();
  for (const client of clients) await assertRefusedWithinASecond(client, revokedAt);
});

test('a preview of one is confirmed at the other, sent once, and its end awaited at the first (R-101)', LIMIT, async () => {
  const { transports: [first, second] } = await makeTransports();
  await saveContacts(first.mcp.call, 'reader', COUNT);
  const order = await prepareSend(first.mcp.call);
  const asked = await must(first.mcp.call('send_email', order));
  assert.equal(asked.status, 'confirmation_required');
  const confirmed = { ...order, confirmationToken: asked.confirmationToken };
  const answers = await Promise.all([second, first, second].map(({ mcp }) => mcp.call('send_email', confirmed)));
  assert.equal(answers.filter(({ ok }) => ok).length, 1, 'of three confirmations at once, one sends');
  const { sendId } = answers.find(({ ok }) => ok).body;
  for (const { mcp } of [first, second]) {
    const send = await must(mcp.call('get_email_analytics', { view: 'send', sendId, waitSeconds: 50 }));
    assert.deepEqual([send.status, send.stats.sent], ['completed', COUNT]);
  }
});
