// What an assistant must copy is short: cursors and confirmation tokens. They belong to one caller and one brand, last a day, and
// are known to every process of the installation. A wrong one is refused with the tool that gives a new one.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { prepareSend, saveContacts } from '../../lib/campaign.mjs';
import { sql } from '../../lib/database.mjs';
import { installationFor } from '../../lib/installation.mjs';
import { until } from '../../lib/processes.mjs';
import { makePlace, must, stdioTransport, transportsOfKey } from '../../lib/brand_fixture.mjs';

const LIMIT = { timeout: 600_000 };
const DAY_S = 24 * 3600;
const SHORT = /^[a-z]{3}_[347acdefhjkmnprtwxy]{20}$/;

const installation = installationFor({ after });
const clock = installation.movableClock();
let server;
let other;

before(async () => {
  server = await installation.serve();
  other = await installation.serve();
});

async function makeListPlace() {
  const place = await makePlace(installation, server);
  await saveContacts(place.mcp.call, 'row', 5);
  const search = (args, transport = place.mcp) => transport.call('search_contacts', { limit: 2, ...args });
  const first = await must(search({}));
  return { ...place, search, first, cursor: first.pagination.cursor };
}

/** Refused as a cursor, with the tool that gives a new one. */
async function assertNoCursor(answer) {
  const { ok, body } = await answer;
  assert.ok(!ok, JSON.stringify(body));
  assert.deepEqual([body.error.code, body.error.param], ['INVALID_REQUEST', 'cursor']);
  assert.match(body.error.suggestion, /Call search_contacts without cursor/);
}

const emails = ({ data }) => data.map(({ email }) => email);

test('R-170: a walk by short cursors sees every row once, at any server', LIMIT, async () => {
  const place = await makeListPlace();
  const elsewhere = transportsOfKey(other, place.key);
  assert.match(place.cursor, SHORT);
  assert.doesNotMatch(place.cursor, /(.)\1/, 'no run of a letter');
  const second = await must(place.search({ cursor: place.cursor }, elsewhere.mcp));
  assert.match(second.pagination.cursor, SHORT);
  const third = await must(place.search({ cursor: second.pagination.cursor }));
  assert.deepEqual(third.pagination, { limit: 2, hasMore: false });
  assert.equal(new Set([place.first, second, third].flatMap(emails)).size, 5);
  elsewhere.close();
});

test('the same page has the same cursor, and repeating adds no row', LIMIT, async () => {
  const place = await makeListPlace();
  const rows = async () => Number((await sql(installation, 'select count(*) from short_tokens'))[0]);
  const before = await rows();
  for (let i = 0; i < 5; i++) assert.equal((await must(place.search({}))).pagination.cursor, place.cursor);
  assert.equal(await rows(), before);
  assert.equal((await sql(installation, `select count(*) from short_tokens where sealed like '%${place.cursor.slice(4)}%'`))[0], '0');
});

test('a cursor of another caller, brand or list is refused, as are wrong, cut and guessed ones', LIMIT, async () => {
  const place = await makeListPlace();
  const foreign = await makeListPlace();
  await assertNoCursor(place.search({ cursor: foreign.cursor }));
  const sameBrand = transportsOfKey(server, await installation.key('--brand', place.brandId));
  await assertNoCursor(place.search({ cursor: place.cursor }, sameBrand.mcp));
  await assertNoCursor(place.search({ cursor: place.cursor }, await stdioTransport(installation, '--brand', place.brandId)));
  await assertNoCursor(place.search({ cursor: place.cursor, search: 'row' }));
  const last = place.cursor.at(-1);
  const wrong = [place.cursor.slice(0, -1), `${place.cursor}a`, place.cursor.slice(0, -1) + (last === 'a' ? 'c' : 'a'), place.cursor.toUpperCase(),
    place.cursor.replace('cur_', 'yes_'), 'cur_', 'forged', 'x'.repeat(512)];
  for (const cursor of wrong) await assertNoCursor(place.search({ cursor }));
  for (let i = 0; i < 200; i++) await assertNoCursor(place.search({ cursor: `cur_${'347acdefhjkmnprtwxy'.repeat(3).slice(i % 19, (i % 19) + 20)}` }));
  assert.equal((await must(place.search({ cursor: place.cursor }))).data.length, 2, 'the right one still works');
});

test('REST keeps its sealed cursors, which are no cursors of a tool', LIMIT, async () => {
  const place = await makeListPlace();
  const sealed = (await must(place.rest.call('POST', '/v1/contacts/search', { limit: 2 }))).pagination.cursor;
  assert.ok(sealed.length > 40);
  assert.equal((await must(place.rest.call('POST', '/v1/contacts/search', { limit: 2, cursor: sealed }))).data.length, 2);
  const { status, body } = await place.rest.call('POST', '/v1/contacts/search', { limit: 2, cursor: place.cursor });
  assert.deepEqual([status, body.error.param], [400, 'cursor']);
  await assertNoCursor(place.search({ cursor: sealed }));
});

test('a confirmation token is short, and only its caller can use it at once or at another server', LIMIT, async () => {
  const place = await makeListPlace();
  const order = await prepareSend(place.mcp.call);
  const { confirmationToken } = await must(place.mcp.call('send_email', order));
  assert.match(confirmationToken, SHORT);
  const refused = [confirmationToken.slice(0, -1), `${confirmationToken}a`, confirmationToken.replace('yes_', 'cur_'), place.cursor, 'yes_347acdefhjkmnprtwxy3'];
  for (const token of refused) {
    const { ok, body } = await place.mcp.call('send_email', { ...order, confirmationToken: token });
    assert.ok(!ok && body.error.param === 'confirmationToken', JSON.stringify(body));
    assert.match(body.error.message, /call send_email without it/);
  }
  const changed = await place.mcp.call('send_email', { ...order, subject: 'Another', confirmationToken });
  assert.match(changed.body.error.message, /arguments differ/);
  const sameBrand = transportsOfKey(server, await installation.key('--brand', place.brandId));
  assert.ok(!(await sameBrand.mcp.call('send_email', { ...order, confirmationToken })).ok);
  const elsewhere = transportsOfKey(other, place.key);
  assert.equal((await must(elsewhere.mcp.call('send_email', { ...order, confirmationToken }))).status, 'queued');
  elsewhere.close();
});

test('a cursor ends after a day, a confirmation after a quarter of an hour', LIMIT, async () => {
  const place = await makeListPlace();
  const order = await prepareSend(place.mcp.call);
  const { confirmationToken } = await must(place.mcp.call('send_email', order));
  clock.advance(16 * 60);
  const late = await place.mcp.call('send_email', { ...order, confirmationToken });
  assert.match(late.body.error.message, /expired/);
  assert.equal((await must(place.search({ cursor: place.cursor }))).data.length, 2);
  clock.advance(DAY_S);
  await assertNoCursor(place.search({ cursor: place.cursor }));
  const expired = async () => (await sql(installation, 'select count(*) from short_tokens where expires_at < now()'))[0];
  await until('the expired tokens are deleted', async () => (await expired()) === '0', 300_000);
});
