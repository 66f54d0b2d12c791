// Launches of automations over a relay, with a clock that the test moves: tranches, a pause and a resume, a cancel, figures. The
// automation is saved, published and launched by tools; each message arrives once, and at its time.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { awaitRunner, killEverything } from '../../faults/kills.mjs';
import { Mailing, addressesOf } from '../../faults/mailing.mjs';
import { link, mailNode, waitNode } from '../../lib/automation_fixture.mjs';
import { stateOf } from '../../lib/automation_state.mjs';
import { SqlSession } from '../../lib/database.mjs';
import { until } from '../../lib/processes.mjs';
import { Sink } from '../../lib/smtp_sink.mjs';

const LIMIT = { timeout: 600_000 };
const ENDS_MS = 60_000;
const DAY_S = 86_400;
const PEOPLE = 10;
const HALF = 5;

/** A published automation on all contacts: a welcome, a day of rest, a reminder. */
async function prepare(t) {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-launch-'));
  const sink = await Sink.start({ recordFile: join(folder, 'record') });
  let clock;
  const start = async (installation) => { clock = installation.movableClock(); };
  const mailing = await Mailing.prepare({ addresses: addressesOf(PEOPLE), sinks: [sink], start });
  t.after(async () => {
    const left = await mailing.dispose();
    await sink.stop();
    rmSync(folder, { recursive: true });
    assert.deepEqual(left, [], 'left behind');
  });
  const call = (tool, args) => mailing.installation.call(tool, args);
  const { audienceId } = await call('create_audience', { name: 'Everybody', filters: [{ field: 'email', operator: 'exists' }] });
  const nodes = [
    { id: 'start', type: 'trigger', config: { mode: 'manualAudience', audienceId } },
    await mailNode(mailing, 'welcome'), waitNode('rest', 1, 'days'), await mailNode(mailing, 'reminder'),
  ];
  const connections = [link('start', 'welcome'), link('welcome', 'rest'), link('rest', 'reminder')];
  const { automationId } = await call('save_automation', { name: 'Welcome', nodes, connections });
  await call('save_automation', { automationId, published: true });
  return { sink, clock, mailing, call, automationId };
}

const holds = async (mailing, what, condition) => {
  const isTrue = async () => (await mailing.sql(`select ${condition}`).catch(() => '')) === 't';
  await until(what, isTrue, ENDS_MS).catch(async (problem) => { throw new Error(`${problem.message}\n${await stateOf(mailing)}`); });
};
const settled = (count) => `(select count(*) from automation_sends m join send_results r on r.send_id = m.carrier_id and r.ordinal = m.ordinal) = ${count}
  and (select count(*) from automation_sends) = ${count}`;
const held = (count) => `(select count(*) from automation_runs where is_held) = ${count}`;
const waiting = (count) => `(select count(*) from automation_runs where node_id = 'rest' and status = 'running') = ${count}`;

const read = (call, audienceRunId) => call('list_automation_runs', { view: 'audience_run', audienceRunId });
const untilStatus = (call, audienceRunId, status) => until(`the launch is ${status}`, async () => {
  const launch = await read(call, audienceRunId);
  return launch.status === status && launch;
}, ENDS_MS);

// D-114
test('a gradual launch reaches everybody once, across a pause', LIMIT, async (t) => {
  const { sink, clock, mailing, call, automationId } = await prepare(t);
  const counted = await call('run_automation', { automationId, dryRun: true });
  assert.deepEqual([counted.recipientCount, counted.sendNodeCount], [PEOPLE, 2]);
  const gradualSend = { startingPercentage: 50, incrementPercentage: 50, interval: { value: 1, unit: 'day' }, timeZone: 'Europe/Berlin' };
  const { audienceRunId } = await call('run_automation', { automationId, gradualSend });
  await holds(mailing, 'the first tranche has its welcome', `${settled(HALF)} and ${waiting(HALF)}`);
  assert.equal((await sink.stats()).messages, HALF);
  assert.equal((await call('list_automation_runs', { automationId, limit: 100 })).data.length, PEOPLE);

  assert.equal((await call('control_audience_run', { audienceRunId, action: 'pause' })).status, 'paused');
  clock.advance(1.25 * DAY_S); // the second tranche is due, and the reminders of the first
  await mailing.sql("select pg_notify('posthorn_step', '1')");
  await holds(mailing, 'all runs are held', held(PEOPLE));
  assert.equal((await sink.stats()).messages, HALF);

  const resumed = await call('control_audience_run', { audienceRunId, action: 'resume' });
  assert.deepEqual([resumed.status, resumed.resumedFrom], ['running', 'start']);
  await holds(mailing, 'the rest has its welcome, the first half its reminder', settled(PEOPLE + HALF));
  assert.equal((await sink.stats()).messages, PEOPLE + HALF);
  clock.advance(1.25 * DAY_S);
  await mailing.sql("select pg_notify('posthorn_step', '1')");
  const ended = await untilStatus(call, audienceRunId, 'completed');
  await holds(mailing, 'all messages have a result', settled(2 * PEOPLE));
  assert.equal((await sink.stats()).messages, 2 * PEOPLE);
  assert.equal(ended.totalRecipients, PEOPLE);
  const { sentCount, nodeStats } = await read(call, audienceRunId);
  assert.equal(sentCount, 2 * PEOPLE);
  assert.deepEqual(nodeStats.map(({ nodeId, sent }) => [nodeId, sent]), [['reminder', PEOPLE], ['welcome', PEOPLE]]);

  const wrong = await mailing.sql(`select email, node_id, count(*) from automation_sends m join send_recipients r
    on r.send_id = m.carrier_id and r.ordinal = m.ordinal group by 1, 2 having count(*) <> 1`);
  assert.equal(wrong, '', 'a message came twice');
  const [run] = (await call('list_automation_runs', { automationId, recipientEmail: mailing.addresses[0] })).data;
  const { logs } = await call('list_automation_runs', { view: 'run', automationRunId: run.automationRunId, include: ['logs'] });
  assert.deepEqual(logs.map(({ nodeId, status }) => `${nodeId} ${status}`),
    ['start completed', 'welcome completed', 'rest completed', 'reminder completed']);
  const figures = (await call('get_email_analytics', { view: 'automations' })).data[0];
  assert.deepEqual([figures.runs, figures.completed, figures.sent, figures.delivered, figures.successRate], [PEOPLE, PEOPLE, 2 * PEOPLE, 2 * PEOPLE, 1]);
  const events = await mailing.sql(`select event_type, count(*) from events where domain = 'automation' and audience_run_id is not null
    and automation_run_id is not null group by 1 order by 1`);
  assert.equal(events, `completed|${PEOPLE}\nstarted|${PEOPLE}`);
});

//
test('a canceled launch sends nothing more', LIMIT, async (t) => {
  const { sink, clock, mailing, call, automationId } = await prepare(t);
  const { audienceRunId } = await call('run_automation', { automationId });
  await holds(mailing, 'everybody has the welcome', `${settled(PEOPLE)} and ${waiting(PEOPLE)}`);
  const [run] = (await call('list_automation_runs', { automationId, limit: 1 })).data;
  const canceled = await call('cancel_automation_run', { automationRunId: run.automationRunId });
  assert.deepEqual([canceled.status, canceled.previousStatus], ['canceled', 'running']);
  assert.equal((await call('control_audience_run', { audienceRunId, action: 'cancel' })).status, 'canceled');

  clock.advance(2 * DAY_S);
  // A later launch is stepped behind the clock's move, so whatever the canceled one could do is done.
  await call('run_automation', { automationId });
  await holds(mailing, 'the second launch has sent its welcome', `${settled(2 * PEOPLE)} and ${waiting(PEOPLE)}`);
  assert.equal((await sink.stats()).messages, 2 * PEOPLE);
  const left = await mailing.sql("select status, count(*) from automation_runs group by 1 order by 1");
  assert.equal(left, `canceled|${PEOPLE}\nrunning|${PEOPLE}`);
  assert.equal((await read(call, audienceRunId)).status, 'canceled');
});

// tests/full.sh repeats it.
const KILLS = Number(process.env.POSTHORN_LAUNCH_KILLS ?? 1);

//
for (let kill = 0; kill < KILLS; kill++) test(`a launch whose process is killed in its transaction starts each run once (${kill + 1})`, LIMIT, async (t) => {
  const { sink, mailing, call, automationId } = await prepare(t);
  const session = await SqlSession.open(mailing.installation);
  await session.rows('begin; lock table events in share mode');
  const { audienceRunId } = await call('run_automation', { automationId });
  await holds(mailing, 'the launch waits to write its events', "count(*) > 0 from pg_locks where relation = 'posthorn.events'::regclass and not granted");
  const killed = killEverything(mailing.installation, false);
  await session.rows('rollback').catch(() => {});
  await session.close();
  await awaitRunner(mailing, killed);
  await holds(mailing, 'everybody has the welcome', `${settled(PEOPLE)} and ${waiting(PEOPLE)}`);
  assert.equal((await sink.stats()).messages, PEOPLE);
  const runs = await mailing.sql('select count(*), count(distinct email_key) from automation_runs');
  assert.equal(runs, `${PEOPLE}|${PEOPLE}`);
  const { status, totalRecipients } = await read(call, audienceRunId);
  assert.deepEqual([status, totalRecipients], ['running', PEOPLE]);
});
