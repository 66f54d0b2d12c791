// Organizations beside each other on one server: slow calls of one hold no call of another, and their server processes and threads
// leave the processor to quick work (R-084). Answers that one does not read are bounded.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import net from 'node:net';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { SqlSession } from '../../lib/database.mjs';
import { installationFor } from '../../lib/installation.mjs';
import { freePort } from '../../lib/ports.mjs';
import { until } from '../../lib/processes.mjs';
import { Mailing } from '../../faults/mailing.mjs';

const LIMIT = { timeout: 600_000 };
const LOW_NICE = 10;
const MOST_NICE = 19;
const SCHED_BATCH = 3;
const SLOW_CALLS = 12; // more than one organization has threads
const LARGE_CSV_BYTES = 300_000; // above HTTP_EXCHANGE_QUICK_CALL_BYTES
const WAITING = "select pid from pg_stat_activity where wait_event_type = 'Lock' and application_name like 'posthorn serve%'";

/** The fields of a process or thread (proc(5), stat) behind its name: the nice value is field 19, the policy field 41. */
function scheduling(path) {
  const text = readFileSync(`${path}/stat`, 'latin1');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { nice: Number(fields[16]), policy: Number(fields[38]) };
}

const niceOf = (pid) => scheduling(`/proc/${pid}`).nice;

function threadsNamed(pid, name) {
  const threads = readdirSync(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}`);
  return threads.filter((path) => readFileSync(`${path}/comm`, 'latin1').trim() === name).map(scheduling);
}

async function organization(installation, server, name) {
  const { orgId } = await installation.admin('org', 'create', name);
  const { brandId } = await installation.admin('brand', 'create', name, '--org', orgId);
  return server.client(await installation.key('--brand', brandId), {}, SLOW_CALLS);
}

const saveBatch = (client, email, firstName) => client.post('/v1/contacts', { contacts: [{ email, firstName }] });

test('slow calls of one organization neither hold nor outrank the calls of another (R-084)', LIMIT, async (t) => {
  const installation = installationFor(t);
  const server = await installation.serve();
  const busy = await organization(installation, server, 'Busy');
  const calm = await organization(installation, server, 'Calm');
  assert.equal((await saveBatch(busy, 'held@example.com', 'First')).status, 200);

  const holder = await SqlSession.open(installation);
  const watcher = await SqlSession.open(installation);
  try {
    await judge({ installation, server, busy, calm, holder, watcher });
  } finally {
    await Promise.all([holder.close(), watcher.close()]);
  }
});

async function judge({ installation, server, busy, calm, holder, watcher }) {
  await holder.rows('begin');
  await holder.rows("select id from contacts where email_key = 'held@example.com' for update");

  const order = [];
  const slow = Array.from({ length: SLOW_CALLS }, async (_, number) => {
    const answer = await saveBatch(busy, 'held@example.com', `Name ${number}`);
    order.push('busy');
    return answer;
  });
  const held = await until('a slow call waits for the row', async () => {
    const pids = await watcher.rows(WAITING);
    return pids.length > 0 && pids;
  });

  // The other organization is served in every pool while all calls of the first wait.
  const answers = [await saveBatch(calm, 'calm@example.com', 'Batch'), await calm.post('/v1/contacts', { email: 'calm2@example.com' }),
    await calm.get('/v1/brands')];
  order.push('calm');
  assert.deepEqual(answers.map(({ status }) => status), [200, 201, 200]);
  assert.deepEqual(order, ['calm']);

  const usual = niceOf(installation.postmasterPid);
  const low = Math.min(usual + LOW_NICE, MOST_NICE);
  // The kernel may ask for another try, which the next use of the connection makes.
  for (const pid of held) assert.ok([usual, low].includes(niceOf(pid)), `the nice value ${niceOf(pid)}`);
  await holder.rows('commit');
  for (const { status, body } of await Promise.all(slow)) assert.equal(status, 200, JSON.stringify(body));

  const sessions = (kind) => watcher.rows(`select pid from pg_stat_activity where application_name like 'posthorn ${kind}%'`);
  await until('the server processes of slow calls are low, and those of quick ones are not', async () => {
    await saveBatch(busy, 'held@example.com', 'Again');
    const nices = (await sessions('serve')).map(niceOf);
    return nices.includes(low) && nices.includes(usual);
  });
  await until('the server processes of jobs are low, and those of the sender are not', async () => {
    const nices = (await sessions('worker')).map(niceOf);
    return nices.includes(low) && nices.includes(usual);
  });
  await judgeLargeBody({ busy, holder, watcher, low });
  assert.ok(threadsNamed(server.pid, 'slow').every(({ policy }) => policy === SCHED_BATCH));
  assert.ok(threadsNamed(server.pid, 'slow').length > 0);
  for (const name of ['reads', 'writes']) {
    assert.ok(threadsNamed(server.pid, name).length > 0, name);
    assert.ok(threadsNamed(server.pid, name).every(({ policy }) => policy === 0), name);
  }
}

// The database works long on a very large body, so its whole call has the low priority, although the operation is a quick one.
async function judgeLargeBody({ busy, holder, watcher, low }) {
  await holder.rows('begin');
  await holder.rows('lock table imports in share mode');
  const imported = busy.post('/v1/contacts/import-csv', { csv: `email,firstName\nlarge@example.com,${'x'.repeat(LARGE_CSV_BYTES)}\n` });
  await until('the server process of the large call is low', async () => {
    const pids = await watcher.rows(WAITING);
    return pids.length > 0 && pids.map(niceOf).every((nice) => nice === low);
  });
  await holder.rows('commit');
  assert.notEqual((await imported).status, 503);
}

/** A relay that takes connections and says nothing, so that a send lasts until the end of the test. */
async function silentRelay(t) {
  const sockets = new Set();
  const relay = net.createServer((socket) => sockets.add(socket.on('error', () => {}))).listen(0, '127.0.0.1');
  await new Promise((resolve) => { relay.on('listening', resolve); });
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    relay.close();
  });
  return `smtp://127.0.0.1:${relay.address().port}?tls=none&timeout=300`;
}

const SLOW_THREADS = 4; // that one organization has alone
const SEEN_FOR_MS = 5_500; // what a slow call has seen is forgotten then
const SHARE_BESIDE = Math.max(1, Math.min(SLOW_THREADS, availableParallelism() - 1));

test('an organization whose campaign is delivered counts as a neighbour of slow calls, without calls of its own (R-084)', LIMIT, async (t) => {
  const mailing = await Mailing.prepare({ addresses: ['reader@readers.example'], sinks: [await silentRelay(t)] });
  t.after(async () => assert.deepEqual(await mailing.dispose(), [], 'left behind'));
  const { installation } = mailing;
  const port = await freePort();
  const server = await installation.serve('--metrics', `127.0.0.1:${port}`);
  const busy = await organization(installation, server, 'Busy');
  assert.equal((await saveBatch(busy, 'held@example.com', 'First')).status, 200);
  const holder = await SqlSession.open(installation);
  const rowHolder = await SqlSession.open(installation);
  const watcher = await SqlSession.open(installation); // a transaction sees the sessions as they were at its first look
  // A slow call looks for campaigns when nobody did so lately.
  const untilSeen = (what) => until(`a slow call has seen ${what}`, async () => {
    await saveBatch(busy, 'held@example.com', 'Again');
    const held = await waitingBeside({ busy, holder: rowHolder, watcher, port });
    return held === SLOW_CALLS - SHARE_BESIDE;
  });
  try {
    await startHeld({ mailing, holder, watcher, meanwhile: () => untilSeen('the beginning: a_send_that_begins_is_a_neighbour') });
    await until('a range is leased', async () => (await watcher.rows('select 1 from send_ranges where lease_until > clock_timestamp()')).length > 0);
    await new Promise((resolve) => { setTimeout(resolve, SEEN_FOR_MS); });
    await untilSeen('the delivery');
  } finally {
    await Promise.all([holder.close(), rowHolder.close(), watcher.close()]);
  }
});

const IMPORTED_ROWS = 40; // both shards of an import have some
const IMPORTS_WAITING = "select pid from pg_stat_activity where wait_event_type = 'Lock' and application_name like 'posthorn worker%'";

test('the chunks of the imports of an organization take turns beside another (R-084)', LIMIT, async (t) => {
  const installation = installationFor(t);
  const server = await installation.serve();
  const busy = await organization(installation, server, 'Busy');
  const calm = await organization(installation, server, 'Calm');
  const emails = Array.from({ length: IMPORTED_ROWS }, (_, row) => `row${row}@example.com`);
  assert.equal((await busy.post('/v1/contacts', { contacts: emails.map((email) => ({ email })) })).status, 200);
  const holder = await SqlSession.open(installation);
  const watcher = await SqlSession.open(installation);
  try {
    // A call of an organization is noted, about once a second.
    const noted = "select 1 from active_organizations a join brands b using (organization_id) where b.name = 'Calm'";
    await until('the calls of an organization are noted', async () => (await calm.get('/v1/brands')).status === 200 &&
      (await watcher.rows(noted)).length > 0);

    const waiting = async () => (await watcher.rows(IMPORTS_WAITING)).length;
    const importHeld = async (word, judgeWaiting) => {
      await holder.rows('begin');
      await holder.rows('select id from contacts order by id for update');
      const imports = [1, 2].map((number) => busy.post('/v1/contacts/import-csv',
        { csv: `email,firstName\n${emails.map((email) => `${email},${word}${number}`).join('\n')}\n` }));
      await judgeWaiting();
      await holder.rows('commit');
      for (const { status, body } of await Promise.all(imports)) assert.ok(status === 200 || status === 202, JSON.stringify(body));
      await until('no import waits', async () => await waiting() === 0);
    };
    await watcher.rows('delete from active_organizations');
    await importHeld('Alone', () => until('two shards wait when nobody else is active', async () => await waiting() > 1));

    await watcher.rows("insert into active_organizations values (0, 'infinity')");
    await importHeld('Beside', async () => {
      await until('one shard waits', async () => await waiting() === 1);
      for (let sample = 0; sample < 50; sample++) {
        assert.ok(await waiting() <= 1);
        await new Promise((resolve) => { setTimeout(resolve, 20); });
      }
    });
  } finally {
    await Promise.all([holder.close(), watcher.close()]);
  }
});

/** Starts a send whose beginning waits for a lock meanwhile: its server process has the usual priority, because the sender waits for it. */
async function startHeld({ mailing, holder, watcher, meanwhile }) {
  await holder.rows('begin');
  await holder.rows('lock table send_recipients in share mode');
  await mailing.start();
  const waiting = await until('the beginning of the send waits', async () => {
    const pids = await watcher.rows("select pid from pg_stat_activity where wait_event_type = 'Lock' and application_name like 'posthorn worker%'");
    return pids.length > 0 && pids;
  });
  assert.deepEqual(waiting.map(niceOf), waiting.map(() => niceOf(mailing.installation.postmasterPid)));
  await meanwhile();
  await holder.rows('commit');
}

/** The slow calls that wait in the queue while all that run wait for a row. */
async function waitingBeside({ busy, holder, watcher, port }) {
  await holder.rows('begin');
  await holder.rows("select id from contacts where email_key = 'held@example.com' for update");
  const calls = Array.from({ length: SLOW_CALLS }, (_, number) => saveBatch(busy, 'held@example.com', `Name ${number}`));
  const counts = [SLOW_CALLS - SHARE_BESIDE, SLOW_CALLS - SLOW_THREADS];
  const waiting = await until('all calls wait', async () => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const count = Number(/posthorn_calls_waiting\{lane="slow"\} (\d+)/.exec(text)[1]);
    return counts.includes(count) && (await watcher.rows(WAITING)).length === SLOW_CALLS - count && count;
  });
  await holder.rows('commit');
  for (const { status } of await Promise.all(calls)) assert.equal(status, 200);
  return waiting;
}

// ---- Answers ----

const MIB = 1024 * 1024;
const ANSWERS_MIB = 48; // of one organization, with a body memory of 96 MiB
const READS_NOTHING = 40;
const TRIGGERS = 60;
const FIELDS = 480;

/** Triggers whose list is an answer of several megabytes, which no socket takes as a whole. */
async function makeLongList(client) {
  const fields = [{ key: 'email', type: 'string', required: true }];
  for (let i = 0; i < FIELDS; i++) fields.push({ key: `field_with_a_long_name_${i}`, type: 'string', required: false, description: '"text" '.repeat(35) });
  for (let i = 0; i < TRIGGERS; i++) {
    const { status, body } = await client.post('/v1/automations/triggers', { title: `Event ${i}`, payloadSchema: { type: 'object', fields } });
    assert.equal(status, 201, JSON.stringify(body).slice(0, 500));
  }
}

/** Sends a request for the list, and reads no more than the first bytes of its answer: their status. */
function askForList(port, key) {
  const socket = net.connect({ port, host: '127.0.0.1', highWaterMark: 1024 });
  const status = new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.once('readable', () => resolve(Number(socket.read(12).toString('latin1').split(' ')[1])));
  });
  socket.write(`GET /v1/automations/triggers?limit=100 HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${key}\r\n\r\n`);
  return { socket, status };
}

test('answers that one organization does not read are bounded, and hold up no other', LIMIT, async (t) => {
  const installation = installationFor(t);
  const port = await freePort();
  const server = await installation.serve('--body-memory', '96', '--metrics', `127.0.0.1:${port}`);
  const heldBytes = async () => Number(/posthorn_http_answer_bytes (\d+)/.exec(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text())[1]);
  const { orgId } = await installation.admin('org', 'create', 'Silent');
  const { brandId } = await installation.admin('brand', 'create', 'Silent', '--org', orgId);
  const key = await installation.key('--brand', brandId);
  const silent = server.client(key, {}, 1);
  const calm = await organization(installation, server, 'Calm');
  await makeLongList(silent);

  const asked = Array.from({ length: READS_NOTHING }, () => askForList(server.port, key));
  const statuses = await Promise.all(asked.map(({ status }) => status));
  assert.deepEqual([...new Set(statuses)].sort(), [200, 503]);
  const held = await heldBytes();
  t.diagnostic(`${statuses.filter((status) => status === 200).length} answers hold ${Math.round(held / MIB)} MiB`);
  assert.ok(held >= ANSWERS_MIB * MIB && held < 2 * ANSWERS_MIB * MIB, `${held} bytes`);

  const refused = await silent.post('/v1/contacts', { email: 'refused@example.com' });
  assert.equal(refused.status, 503);
  assert.match(refused.body.error.message, /wait to be read/);
  assert.equal(refused.headers['retry-after'], '2');
  assert.equal((await calm.post('/v1/contacts', { email: 'calm@example.com' })).status, 201);

  asked.forEach(({ socket }) => socket.destroy());
  await until('the answers are let go', async () => (await heldBytes()) === 0);
  assert.equal((await silent.post('/v1/contacts', { email: 'refused@example.com' })).status, 201, 'it was not saved before');
});
