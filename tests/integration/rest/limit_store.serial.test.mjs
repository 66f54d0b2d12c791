// The rate windows of two servers that share a limit store, also while the store is down.
//
// Serial: a server waits 250 ms for the store and then lets the call pass uncounted. Beside other tests the store may be later
// than that, and the numbers of these tests would be wrong.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { PASSWORD } from '../../lib/redis_server.mjs';
import { ServerPair } from './server_pair.mjs';
import { until } from '../../lib/processes.mjs';
import { makePlace, must } from '../../lib/brand_fixture.mjs';

const LIMIT = { timeout: 600_000 };
const WAIT_MS = 60_000;
const TENTH = ['--rate-multiplier', '0.1']; // of 100 calls

const pair = new ServerPair({ after });
const { installation, store } = pair;
let servers;

before(async () => {
  await pair.start();
  ({ servers } = pair);
});

/** One key and its client at both servers. */
async function clientsOf(...options) {
  const { key } = await makePlace(installation, servers[0], ...options);
  return servers.map((server) => server.client(key));
}

const rateOf = ({ headers }) => ['limit', 'remaining', 'reset'].map((name) => Number(headers[`x-ratelimit-${name}`]));

test('two servers count in one window, a key\'s and a policy\'s own (R-119, R-120, R-121, R-122)', LIMIT, async () => {
  const clients = await clientsOf(...TENTH);
  const [, , reset] = rateOf(await clients[0].get('/v1/usage'));
  for (let call = 1; call < 10; call++) {
    const answer = await clients[call % 2].get('/v1/usage');
    assert.equal(answer.status, 200);
    assert.deepEqual(rateOf(answer), [10, 9 - call, reset], 'the window is told alike by both');
  }
  for (const client of clients) {
    const refused = await client.get('/v1/usage');
    assert.equal(refused.status, 429);
    assert.deepEqual(rateOf(refused), [10, 0, reset]);
    assert.equal(Number(refused.headers['retry-after']), refused.body.error.retryAfter);
    assert.ok(refused.body.error.retryAfter > 0 && refused.body.error.retryAfter <= 61);
    assert.equal(rateOf(await client.get('/v1/brand'))[0], 10, 'another policy');
  }
  const [other] = await clientsOf(...TENTH);
  assert.equal(rateOf(await other.get('/v1/usage'))[1], 9, 'another key');
});

test('tools count in the same windows, wherever they are called', LIMIT, async () => {
  const place = await makePlace(installation, servers[0], ...TENTH);
  await must(place.mcp.call('list_emails'));
  assert.equal(rateOf(await servers[1].client(place.key).get('/v1/emails'))[1], 8);
});

test('of many calls at once to both, as many pass as the window holds', LIMIT, async () => {
  const { key } = await makePlace(installation, servers[0], '--rate-multiplier', '0.5');
  const clients = servers.map((server) => server.client(key, {}, 8));
  const answers = await Promise.all(Array.from({ length: 120 }, (_, call) => clients[call % 2].get('/v1/usage')));
  const statuses = answers.map(({ status }) => status);
  assert.deepEqual([200, 429].map((status) => statuses.filter((it) => it === status).length), [50, 70]);
});

const isOpen = (answer) => answer.status === 200 && rateOf(answer)[1] === rateOf(answer)[0];
const linesAbout = (event, words) => servers.map(({ log }) => log.filter((line) => line.includes(event) && line.includes(words)).length);

/** Both count again: each call leaves less. */
async function untilCounted(clients) {
  for (const client of clients) await until('calls are counted again', async () => !isOpen(await client.get('/v1/usage')), WAIT_MS);
}

test('without the store the gate is open, and it closes when the store is back (R-123)', LIMIT, async () => {
  const clients = await clientsOf(...TENTH);
  for (let call = 0; call < 10; call++) await clients[0].get('/v1/usage');
  assert.equal((await clients[1].get('/v1/usage')).status, 429);
  await store.kill();
  for (let call = 0; call < 60; call++) {
    const before = Math.floor(Date.now() / 1000);
    const answer = await clients[call % 2].get('/v1/usage');
    const [limit, remaining, reset] = rateOf(answer);
    assert.deepEqual([answer.status, limit, remaining], [200, 10, 10]);
    assert.ok(reset >= before + 60 && reset <= Math.floor(Date.now() / 1000) + 60, 'now and 60 seconds');
  }
  assert.deepEqual(linesAbout('limits.store', 'does not answer'), [1, 1], 'each server says so once');
  await store.begin();
  await untilCounted(clients);
  await until('each server says that it is back', () => linesAbout('limits.store', 'answers.').every((count) => count === 1), WAIT_MS);
});

test('a store that is silent is asked once by each server (R-123)', LIMIT, async () => {
  const clients = await clientsOf('--rate-multiplier', '1');
  await untilCounted(clients);
  const [, left] = rateOf(await clients[0].get('/v1/usage'));
  store.signal('SIGSTOP');
  for (let call = 0; call < 50; call++) assert.ok(isOpen(await clients[call % 2].get('/v1/usage')));
  store.signal('SIGCONT');
  // The store now counts what it was asked while it was silent, so it shows how often that was.
  const counted = await until('calls are counted again', async () => {
    const answer = await clients[0].get('/v1/usage');
    return !isOpen(answer) && answer;
  }, WAIT_MS);
  assert.ok(rateOf(counted)[1] >= left - servers.length - 1, `${left} were left before, ${rateOf(counted)[1]} are`);
  await untilCounted(clients);
});

test('the doctor shows the store without its password, and misses one where two servers share a database', LIMIT, async () => {
  const doctor = async (...words) => JSON.parse((await installation.run('doctor', ...words)).stdout).limitStore;
  const shown = await doctor();
  assert.deepEqual({ ...shown, server: undefined }, {
    kind: 'shared', ok: true, address: `redis://127.0.0.1:${store.port}/1`, server: undefined, servers: 2,
  });
  assert.match(shown.server, /^(redis|valkey) \d/);
  const wrong = await doctor('--limit-store', store.address.replace(PASSWORD, 'wrong-s3cret'));
  assert.equal(wrong.ok, false);
  assert.match(wrong.problem, /WRONGPASS/);

  const named = installation.environment;
  const { POSTHORN_LIMIT_STORE: _, ...environment } = named;
  installation.environment = environment;
  const alone = await doctor();
  installation.environment = named;
  assert.deepEqual([alone.kind, alone.ok, alone.servers], ['memory', true, 2]);
  assert.match(alone.warning, /--limit-store/);

  const said = JSON.stringify([shown, wrong, servers.map(({ log }) => log)]);
  assert.ok(!said.includes('s3cret'), 'no password anywhere');
});

test('an address that cannot be used is refused at the start, by the name of its option', LIMIT, async () => {
  for (const address of ['rediss://me:s3cret@127.0.0.1', 'redis://me:s3cret@127.0.0.1:0', 'memcached://127.0.0.1', 'redis://h/x']) {
    const { code, stderr } = await installation.run('serve', '--listen', '127.0.0.1:0', '--limit-store', address);
    assert.equal(code, 1, address);
    assert.match(stderr, /"param":"--limit-store"/);
    assert.ok(!stderr.includes('s3cret'), stderr);
  }
});
