// Faults: PostgreSQL, the runner, the server and the HTML process are killed in the middle of work. Acknowledged writes are there once,
// other writes are refused with 503, and a campaign reaches every recipient once.
//
// POSTHORN_FAULT_ROUNDS is how often the runner is killed during a campaign (default 3), POSTHORN_FAULT_SEED repeats a run.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertDelivered, awaitSend, prepareSend, saveContacts, startSend } from '../../lib/campaign.mjs';
import { installationFor } from '../../lib/installation.mjs';
import { Writers, contactsOf } from '../../lib/writers.mjs';
import { Postgres } from '../../lib/postgres.mjs';
import { isAlive, kill, killGroup, pause, until } from '../../lib/processes.mjs';
import { Random } from '../../lib/random.mjs';

const LIMIT = { timeout: 600_000 };
const ROUNDS = Number(process.env.POSTHORN_FAULT_ROUNDS ?? 3);
const SEED = Number(process.env.POSTHORN_FAULT_SEED ?? Date.now() % 1_000_000);
const RECIPIENTS = 2000;
const CONNECTIONS = 8;
const RECOVERY_LIMIT_MS = 120_000;

/** Calls tools over stdio, as the local owner. */
async function assistant(installation) {
  const client = installation.stdio();
  await client.initialize();
  return (name, args) => client.tool(name, args);
}

/** Clients in a brand of their own, so that what they save is nobody's recipient. */
async function clientsOf(server, installation, count) {
  const { brandId } = await installation.admin('brand', 'create', 'Load');
  const key = await installation.key('--brand', brandId);
  return Array.from({ length: count }, () => server.client(key));
}

/** Writers that end with the test, however it ends. */
function writersOf(t, clients) {
  const writers = new Writers('load', clients.map((client) => () => client));
  t.after(() => writers.abandon());
  return writers;
}

async function assertAllThere(writers, client) {
  const found = await contactsOf(client, writers.tag);
  for (const { key, id } of writers.acknowledged) assert.equal(found.get(`${key}@example.com`)?.id, id, `${key} was acknowledged`);
  assert.equal(found.size, writers.acknowledged.length, 'nothing else is there');
}

// ---- PostgreSQL ----

for (const [what, signal] of [['killed', 'SIGKILL'], ['stopped at once', 'SIGQUIT'], ['stopped in good order', 'SIGINT']]) {
  test(`the private PostgreSQL is ${what} under load: honest refusals, recovery, nothing lost`, LIMIT, async (t) => {
    const installation = installationFor(t);
    const server = await installation.serve('--log-level', 'info');
    const clients = await clientsOf(server, installation, CONNECTIONS);
    const writers = writersOf(t, clients);
    await until('writes are acknowledged', () => writers.acknowledged.length > 100);

    const killed = installation.postmasterPid;
    kill(killed, signal);
    await until('the server has ended', () => !isAlive(killed));
    const endedAt = Date.now();
    await until('another server has come', () => installation.postmasterPid > 0);
    const recoveredMs = await writers.recovery(endedAt, RECOVERY_LIMIT_MS);
    const recovered = writers.acknowledged.length;
    await until('writes go on', () => writers.acknowledged.length > recovered + 100);
    await writers.end();
    t.diagnostic(`${writers.acknowledged.length} writes, ${writers.refusals.length} refused`);
    t.diagnostic(`back after ${recoveredMs} ms`);

    writers.assertHonest();
    assert.equal(writers.broken, 0, 'every call was answered');
    await assertAllThere(writers, clients[0]);
    assert.equal(installation.runners().length, 1);
    clients.forEach((client) => client.close());
  });
}

test('a named PostgreSQL is restarted under load, in the middle of a campaign', LIMIT, async (t) => {
  const postgres = new Postgres();
  t.after(() => postgres.dispose());
  await postgres.start();
  const installation = installationFor(t, { DATABASE: postgres.url });
  const server = await installation.serve('--log-level', 'info');
  const clients = await clientsOf(server, installation, CONNECTIONS);
  const call = await assistant(installation);
  await saveContacts(call, 'named', RECIPIENTS);
  const send = await prepareSend(call);
  const sendId = await startSend(call, send);
  const writers = writersOf(t, clients);

  for (const signal of ['SIGQUIT', 'SIGKILL']) {
    const before = writers.acknowledged.length;
    await until('writes are acknowledged', () => writers.acknowledged.length > before + 50);
    await postgres.end(signal);
    const refused = writers.refusals.length;
    await until('writes are refused', () => writers.refusals.length > refused + 2 * CONNECTIONS);
    const startedAt = Date.now();
    await postgres.start();
    t.diagnostic(`${signal}: back after ${await writers.recovery(startedAt, RECOVERY_LIMIT_MS)} ms`);
  }
  await writers.end();
  writers.assertHonest();
  assert.equal(writers.broken, 0, 'every call was answered');
  await assertAllThere(writers, clients[0]);
  await assertDelivered(call, installation, await awaitSend(call, sendId, 60_000), 'named', RECIPIENTS, []);
  clients.forEach((client) => client.close());
});

// ---- The runner ----

/** Waits for a random place of the campaign: so many messages, but no longer than a random time. */
async function someProgress(installation, before, random) {
  const target = random.below(RECIPIENTS);
  const deadline = Date.now() + random.below(1500);
  let delivered;
  do {
    await new Promise(setImmediate);
    delivered = installation.outbox().length - before;
  } while (delivered < target && Date.now() < deadline);
  return delivered;
}

/** Kills the runner with its process group, and in some rounds its server first. */
function killRunner(installation, random) {
  const runner = installation.runnerPid;
  const withServer = random.below(3) === 0;
  if (withServer) kill(installation.postmasterPid);
  killGroup(runner);
  return { runner, what: `runner ${runner}${withServer ? ' and server' : ''}` };
}

test(`the runner is killed during campaigns of ${RECIPIENTS}, ${ROUNDS} rounds: nobody missing, nobody twice`,
  { timeout: 600_000 + ROUNDS * 20_000 }, async (t) => {
    t.diagnostic(`POSTHORN_FAULT_SEED=${SEED}`);
    const random = new Random(SEED);
    const installation = installationFor(t);
    const call = await assistant(installation);
    await saveContacts(call, 'crash', RECIPIENTS);

    for (let round = 1; round <= ROUNDS; round++) {
      const before = installation.outbox();
      const sendId = await startSend(call, await prepareSend(call, `round ${round}`));
      for (let kills = 1 + random.below(3); kills > 0; kills--) {
        const delivered = await someProgress(installation, before.length, random);
        const { runner, what } = killRunner(installation, random);
        t.diagnostic(`round ${round}: at ${delivered} messages killed ${what}`);
        // A call starts another one, but not while the old server still answers.
        const isReplaced = () => installation.runnerPid > 0 && installation.runnerPid !== runner;
        await until('another runner has come', async () => (await call('get_capabilities', { topic: 'account' })).ok && isReplaced());
      }
      const ended = await awaitSend(call, sendId, 60_000);
      await assertDelivered(call, installation, ended, 'crash', RECIPIENTS, before);
    }
  });

// ---- The server ----

test('serve is killed in the middle of idempotent writes: the same keys afterwards give one row each (R-145, R-148)', LIMIT, async (t) => {
  const installation = installationFor(t);
  let server = await installation.serve('--log-level', 'error');
  const key = await installation.key();
  let clients = Array.from({ length: CONNECTIONS }, () => server.client(key));
  const attempt = (client, name) => client.post('/v1/brands', { name }, { 'idempotency-key': name }).catch(() => null);

  t.diagnostic(`POSTHORN_FAULT_SEED=${SEED}`);
  const random = new Random(SEED);
  const known = new Map();
  for (let round = 1; round <= 3; round++) {
    const names = Array.from({ length: 12 * CONNECTIONS }, (_, i) => `round ${round} brand ${i}`);
    const share = (index) => names.filter((_, i) => i % CONNECTIONS === index);
    const writing = clients.map(async (client, index) => {
      for (const name of share(index)) {
        const answer = await attempt(client, name);
        if (answer?.status === 201) known.set(name, answer.body.brandId);
      }
    });
    const target = known.size + 1 + random.below(names.length / 2);
    await until(`${target} writes are acknowledged`, () => known.size >= target);
    await server.kill();
    await Promise.all(writing);
    t.diagnostic(`round ${round}: ${known.size} acknowledged so far`);

    server = await installation.serve('--log-level', 'error');
    clients.forEach((client) => client.close());
    clients = Array.from({ length: CONNECTIONS }, () => server.client(key));
    await Promise.all(clients.map(async (client, index) => {
      for (const name of share(index)) {
        const answer = await attempt(client, name);
        assert.equal(answer?.status, 201, JSON.stringify(answer?.body));
        if (known.has(name)) assert.equal(answer.body.brandId, known.get(name), 'the first answer again');
        known.set(name, answer.body.brandId);
      }
    }));
  }
  const { data } = await installation.admin('brand', 'list');
  const made = data.filter(({ name }) => known.has(name));
  assert.equal(made.length, known.size, 'one brand a key');
  assert.deepEqual(new Set(made.map(({ brandId }) => brandId)), new Set(known.values()));
  clients.forEach((client) => client.close());
});

// ---- The HTML process ----

test('the HTML process is killed during imports: a design or a clear error, and the same key repeats it', LIMIT, async (t) => {
  t.diagnostic(`POSTHORN_FAULT_SEED=${SEED}`);
  const random = new Random(SEED);
  const installation = installationFor(t);
  const server = await installation.serve('--log-level', 'error');
  const [client] = await clientsOf(server, installation, 1);
  const rows = Array.from({ length: 700 }, (_, i) => `<tr><td style="color:#333;padding:${i % 9}px">Row ${i} <b>bold</b></td></tr>`);
  const content = `<html><body><table>${rows.join('')}</table></body></html>`;
  const source = { kind: 'content', content };
  const importOnce = (title) => client.post('/v1/emails/import', { source, title }, { 'idempotency-key': title });

  const began = Date.now();
  assert.equal((await importOnce('warm')).status, 201);
  const durationMs = Date.now() - began;
  const killRenderers = () => installation.renderers().forEach(({ pid }) => kill(pid));
  const titles = ['warm'];
  for (let round = 1; round <= 5; round++) {
    const title = `killed once ${round}`;
    titles.push(title);
    const answering = importOnce(title);
    const offsetMs = random.below(durationMs);
    await pause(offsetMs);
    killRenderers();
    const { status, body } = await answering;
    t.diagnostic(`killed after ${offsetMs} of ${durationMs} ms → ${status}`);
    assert.equal(status, 201, JSON.stringify(body));
    // A kill behind the answer would be the first one of the next import, which is tried twice.
    titles.push(`not killed ${round}`);
    assert.equal((await importOnce(`not killed ${round}`)).status, 201);
  }

  // One that never gets through is given up with an error that says so, and leaves nothing.
  titles.push('killed again and again');
  const hopeless = importOnce('killed again and again');
  let answer;
  hopeless.then((settled) => (answer = settled));
  while (answer === undefined) {
    killRenderers();
    await pause(5);
  }
  assert.equal(answer.status, 503, JSON.stringify(answer.body));
  assert.equal(answer.body.error.code, 'SERVICE_UNAVAILABLE');
  assert.ok(answer.body.error.retryAfter >= 1);
  assert.equal((await client.get('/v1/emails')).body.data.length, titles.length - 1);
  assert.equal((await importOnce('killed again and again')).status, 201, 'the refusal released the key');
  const { body } = await client.get('/v1/emails');
  assert.deepEqual(body.data.map(({ title }) => title).sort(), titles.sort(), 'each design once, no half ones');
  assert.ok(body.data.every(({ status }) => status === 'ready'));
  await until('one HTML process at most', () => installation.renderers().length <= 1);
  client.close();
});

// ---- Duplicates ----

test('twenty duplicates at once are executed once and answered alike (R-145, R-148)', LIMIT, async (t) => {
  const installation = installationFor(t);
  const server = await installation.serve('--log-level', 'error');
  const client = server.client(await installation.key(), {}, 20);
  const post = (path, body, key) => client.post(path, body, { 'idempotency-key': key });

  for (const key of ['one', 'two', 'three']) {
    const answers = await Promise.all(Array.from({ length: 20 }, () => post('/v1/brands', { name: `brand ${key}` }, key)));
    const refused = answers.filter(({ status }) => status !== 201).map(({ body }) => body);
    assert.deepEqual(refused, []);
    assert.equal(new Set(answers.map(({ body }) => JSON.stringify(body))).size, 1, 'the very same answer');
    assert.equal(new Set(answers.map(({ headers }) => headers['x-request-id'])).size, 20, 'with a request id of its own');
  }
  const brandId = await installation.brandId();
  const imported = { source: { kind: 'content', content: '<p>once</p>' }, title: 'Once' };
  const scoped = (body) => client.post('/v1/emails/import', body, { 'idempotency-key': 'job', 'x-brand-id': brandId });
  const jobs = await Promise.all(Array.from({ length: 20 }, () => scoped(imported)));
  assert.deepEqual(jobs.map(({ status }) => status), Array(20).fill(201), 'duplicates of a job join it');
  assert.equal(new Set(jobs.map(({ body }) => body.emailId)).size, 1);

  const { data } = await installation.admin('brand', 'list');
  const names = data.map(({ name }) => name).filter((name) => name.startsWith('brand '));
  assert.deepEqual(names.sort(), ['brand one', 'brand three', 'brand two']);
  const emails = await client.get('/v1/emails', { 'x-brand-id': brandId });
  assert.equal(emails.body.data.length, 1);
  client.close();
});

test('the same key with another body is a conflict, and with another key a new execution (R-146, R-147)', LIMIT, async (t) => {
  const installation = installationFor(t);
  const server = await installation.serve('--log-level', 'error');
  const client = server.client(await installation.key());
  const post = (body, key) => client.post('/v1/brands', body, { 'idempotency-key': key });
  const first = await post({ name: 'first' }, 'k');
  assert.equal(first.status, 201);
  const conflict = await post({ name: 'another' }, 'k');
  assert.equal(conflict.status, 409);
  assert.equal(conflict.body.error.code, 'IDEMPOTENCY_CONFLICT');
  assert.deepEqual((await post({ name: 'first' }, 'k')).body, first.body);
  const other = await post({ name: 'first' }, 'k2');
  assert.equal(other.status, 201);
  assert.notEqual(other.body.brandId, first.body.brandId);
  assert.equal((await post({ name: 'long' }, 'x'.repeat(101))).status, 400);
  client.close();
});
