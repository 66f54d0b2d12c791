// Steps of automations over a relay, with a clock that the test moves: the process is killed at the writes of stepping transactions,
// and two workers step the runs of one database. Each visit happens once, and each message arrives once.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { awaitRunner, killEverything } from '../../faults/kills.mjs';
import { Mailing, addressesOf } from '../../faults/mailing.mjs';
import { addAutomation, link, mailNode, splitNode, startRuns, triggerNode, waitNode } from '../../lib/automation_fixture.mjs';
import { SqlSession } from '../../lib/database.mjs';
import { BINARY } from '../../lib/installation.mjs';
import { Postgres } from '../../lib/postgres.mjs';
import { kill, until } from '../../lib/processes.mjs';
import { Sink } from '../../lib/smtp_sink.mjs';

const LIMIT = { timeout: 600_000 };
const ENDS_MS = 60_000;
const DAY_S = 86_400;
const RUNS_OF_KILL = 6;
const WRITTEN_AT_THE_START = ['automation_sends', 'automation_steps', 'automation_counts'];
const WRITTEN_AT_THE_END = ['automation_carriers', 'events'];

/** A mailing whose automation mails, waits a day, and mails half of the people again. */
async function prepare(t, addresses, options = {}, begin = async () => {}) {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-stepping-'));
  const sink = await Sink.start({ recordFile: join(folder, 'record') });
  let clock;
  const start = async (installation) => {
    clock = installation.movableClock();
    await begin(installation);
  };
  const mailing = await Mailing.prepare({ addresses, sinks: [sink], options, start });
  t.after(async () => {
    const left = await mailing.dispose();
    await sink.stop();
    rmSync(folder, { recursive: true });
    assert.deepEqual(left, [], 'left behind');
  });
  const nodes = [triggerNode, await mailNode(mailing, 'welcome'), waitNode('pause', 1, 'days'), splitNode('half', 50), await mailNode(mailing, 'reminder')];
  await addAutomation(mailing, nodes, [link('start', 'welcome'), link('welcome', 'pause'), link('pause', 'half'), link('half', 'reminder', 'left')]);
  return { sink, clock, mailing };
}

const untilRows = (mailing, what, statement) => until(what, async () => (await mailing.sql(statement).catch(() => '')) === 't', ENDS_MS);
const untilWaiting = (mailing, count) =>
  untilRows(mailing, `${count} runs wait`, `select count(*) = ${count} from automation_runs where node_id = 'pause' and status = 'running'`);
const untilEnded = (mailing) => untilRows(mailing, 'all runs have ended', "select count(*) = 0 from automation_runs where status = 'running'");
const untilSent = (mailing) => untilRows(mailing, 'all messages have a result',
  'select count(*) = (select count(*) from automation_sends) from automation_sends s join send_results r on r.send_id = s.carrier_id and r.ordinal = s.ordinal');

/** Kills the runner while a stepping transaction waits to write into the table; a call brings another one, behind `calm`. */
async function killAtWrite(mailing, table, wake, calm = () => {}) {
  const session = await SqlSession.open(mailing.installation);
  await session.rows(`begin; lock table ${table} in share mode`);
  await wake();
  const blocked = `select count(*) > 0 from pg_locks where relation = 'posthorn.${table}'::regclass and not granted`;
  await untilRows(mailing, `a step waits for ${table}`, blocked);
  const killed = killEverything(mailing.installation, false);
  calm();
  await session.rows('rollback').catch(() => {});
  await session.close();
  await awaitRunner(mailing, killed);
}

/** No visit twice, none left out, and each message once. */
async function assertOnce(mailing, sink, addresses) {
  const wrong = await mailing.sql(`select run_id, count(*) from automation_steps group by 1
    having count(*) <> max(visit) or count(*) <> count(*) filter (where status = 'completed')`);
  assert.equal(wrong, '', 'runs with visits that are missing or open');
  const [runs, ended, started] = (await mailing.sql(`select count(*), count(*) filter (where status = 'completed'),
    (select sum(count) from automation_counts where kind = 'started') from automation_runs`)).split('|').map(Number);
  assert.deepEqual([runs, ended, started], [addresses.length, addresses.length, addresses.length]);
  const left = (await mailing.sql(`select r.email from automation_runs r join automation_steps s on s.run_id = r.id where s.branch = 'left'`)).split('\n').filter(Boolean);
  assert.ok(left.length > 0 && left.length < addresses.length, `${left.length} of ${addresses.length} went left`);
  const received = sink.takeRecords().map(({ recipient }) => recipient);
  assert.deepEqual(received.sort(), [...addresses, ...left].sort());
  assert.equal(await mailing.sql('select count(*) from (select run_id, visit from automation_sends group by 1, 2 having count(*) > 1) as twice'), '0');
  assert.equal(await mailing.sql('select sum(sent) from email_usage'), String(addresses.length + left.length));
}

//
test('a process that is killed at a write of a stepping transaction has done all of it or nothing', LIMIT, async (t) => {
  const stages = WRITTEN_AT_THE_START.length + 1;
  const addresses = addressesOf(stages * RUNS_OF_KILL);
  const { sink, clock, mailing } = await prepare(t, addresses);
  for (const [index, table] of WRITTEN_AT_THE_START.entries()) {
    const group = addresses.slice(index * RUNS_OF_KILL, (index + 1) * RUNS_OF_KILL);
    await killAtWrite(mailing, table, () => startRuns(mailing, group));
    await untilWaiting(mailing, (index + 1) * RUNS_OF_KILL);
    await untilSent(mailing);
  }

  // Killed behind the commit, before the message has left: the relay holds its replies.
  await sink.behave('stall on');
  await startRuns(mailing, addresses.slice(-RUNS_OF_KILL));
  await untilWaiting(mailing, addresses.length);
  const killed = killEverything(mailing.installation, false);
  await sink.behave('stall off');
  await awaitRunner(mailing, killed);
  await untilSent(mailing);

  // The wait: a clock that goes ahead and back before its end repeats nothing.
  clock.advance(DAY_S / 2);
  clock.advance(-DAY_S / 4);
  assert.equal(await mailing.sql("select count(*) from automation_runs where node_id <> 'pause'"), '0');
  for (const table of WRITTEN_AT_THE_END) {
    const isLast = table === WRITTEN_AT_THE_END.at(-1);
    await killAtWrite(mailing, table, async () => {
      clock.setSeconds(DAY_S + 60);
      await mailing.sql("select pg_notify('posthorn_step', '1')");
    }, () => isLast || clock.setSeconds(DAY_S / 2)); // else the next runner would end the runs
  }
  await untilEnded(mailing);
  await untilSent(mailing);
  await assertOnce(mailing, sink, addresses);
});

/** Two workers on the database of the installation. */
function startWorkers(installation) {
  const start = () => spawn(BINARY, ['worker'], { env: installation.environment, stdio: 'ignore', cwd: installation.folder });
  const children = [start(), start()];
  const ended = children.map((child) => new Promise((resolve) => child.once('exit', resolve)));
  return { children, stop: () => { children.forEach((child) => kill(child.pid, 'SIGTERM')); return Promise.all(ended); } };
}

// R-302, D-109
test('two workers step the runs of one database together, and a paused automation holds its runs', LIMIT, async (t) => {
  const postgres = new Postgres();
  await postgres.start();
  const addresses = addressesOf(400);
  let workers;
  const { sink, clock, mailing } = await prepare(t, addresses, { DATABASE: postgres.url }, async (installation) => {
    workers = startWorkers(installation);
    const { dispose } = installation;
    installation.dispose = async function disposeWorkers() {
      await workers.stop();
      const left = await dispose.call(this);
      await postgres.dispose();
      return left;
    };
  });
  await startRuns(mailing, addresses.slice(0, 200));
  await startRuns(mailing, addresses.slice(200));
  await untilWaiting(mailing, addresses.length);
  await untilSent(mailing);

  await mailing.sql('update automations set is_paused = true');
  clock.advance(DAY_S + 60);
  await untilRows(mailing, 'all runs are held', 'select count(*) = 0 from automation_runs where not is_held');
  assert.equal(await mailing.sql("select count(*) from automation_runs where node_id <> 'pause'"), '0');
  await mailing.sql('update automations set is_paused = false; update automation_runs set is_held = false');
  await untilEnded(mailing);
  await untilSent(mailing);
  await assertOnce(mailing, sink, addresses);
});

/** REST calls, whose failures fail the test. */
async function apiOf(mailing) {
  const { installation } = mailing;
  const server = await installation.serve('--relay', installation.environment.POSTHORN_RELAY);
  const client = server.client(await installation.key('--brand', await installation.brandId()));
  return async (method, path, body) => {
    const answer = await client.request(method, path, body);
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
}

//
test('fired runs mail, wait, decide by their payload, and leave no payload', LIMIT, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-fired-'));
  const sink = await Sink.start({ recordFile: join(folder, 'record') });
  let clock;
  const mailing = await Mailing.prepare({ addresses: ['first@example.com'], sinks: [sink], start: async (installation) => { clock = installation.movableClock(); } });
  t.after(async () => {
    const left = await mailing.dispose();
    await sink.stop();
    rmSync(folder, { recursive: true });
    assert.deepEqual(left, [], 'left behind');
  });
  const api = await apiOf(mailing);
  const { triggerEventId } = await api('POST', '/v1/automations/triggers', {
    title: 'Signed up',
    payloadSchema: { type: 'object', fields: [{ key: 'email', type: 'string', required: true }, { key: 'plan', type: 'string', required: true }] },
  });
  const nodes = [
    { id: 'start', type: 'trigger', config: { mode: 'event', triggerEventId } },
    await mailNode(mailing, 'welcome'), waitNode('pause', 1, 'days'),
    { id: 'pro', type: 'filter', config: { logicalOperator: 'AND', conditions: [{ field: 'payload.plan', operator: 'equals', value: 'MARKER-pro' }] } },
    await mailNode(mailing, 'reminder'),
  ];
  const connections = [link('start', 'welcome'), link('welcome', 'pause'), link('pause', 'pro'), link('pro', 'reminder', 'true')];
  const { automationId } = await api('POST', '/v1/automations', { name: 'Welcome', nodes, connections });
  await api('PATCH', `/v1/automations/${automationId}`, { published: true });
  const plans = { 'ada@example.com': 'MARKER-pro', 'bob@example.com': 'MARKER-free', 'first@example.com': 'MARKER-pro' };
  for (const [email, plan] of Object.entries(plans)) await api('POST', `/v1/automations/triggers/${triggerEventId}/fire`, { payload: { email, plan } });
  await untilWaiting(mailing, 3);
  await untilSent(mailing);
  assert.equal(await mailing.sql('select count(*) from trigger_payloads'), '3');

  clock.advance(DAY_S + 60);
  await untilEnded(mailing);
  await untilSent(mailing);
  assert.deepEqual(sink.takeRecords().map(({ recipient }) => recipient).sort(),
    ['ada@example.com', 'ada@example.com', 'bob@example.com', 'first@example.com', 'first@example.com']);
  assert.equal(await mailing.sql('select count(*) from trigger_payloads'), '0');
  assert.equal(await mailing.sql("select count(*) from automation_steps where facts::text like '%MARKER%' or error like '%MARKER%'"), '0');
  assert.equal(await mailing.sql("select string_agg(branch, ',' order by branch) from automation_steps where node_id = 'pro'"), 'false,true,true');
});
