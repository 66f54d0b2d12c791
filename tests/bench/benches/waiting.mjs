// What waiting runs cost: the processor time of the process that steps them and of its PostgreSQL sessions while nothing is due, and its
// memory. The peer is graphile-worker with as many jobs that are due in a week (peers/graphile_waiting.mjs).
//
// BENCH_RUNS           waiting runs, and jobs of the peer (1,000,000)
// BENCH_WAIT_SECONDS   seconds of the measurement (60)

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import { Postgres } from '../../lib/postgres.mjs';
import { Automations, link, waitNode } from '../automations.mjs';
import { processTreeOf } from '../process_tree.mjs';
import { drivePeer, sizedBy } from '../programs.mjs';

const RUNS = sizedBy('BENCH_RUNS', 1_000_000, 5_000);
const SECONDS = sizedBy('BENCH_WAIT_SECONDS', 60, 3);
const SETTLE_MS = 5_000;
const PEER_SECONDS = 5;
const TICKS_PER_S = 100; // of proc(5)

export async function run(report) {
  const automations = await Automations.prepare({ recipients: 1 });
  const { campaign } = automations;
  const trigger = await automations.trigger('Order placed');
  await automations.publish('Resting', [automations.triggerNode(trigger), waitNode('pause', 1, 'weeks')], [link('start', 'pause')]);
  automations.server.end();
  await sleep(SETTLE_MS);
  const idle = await processorShare(campaign, Math.min(SECONDS, 20));
  await insertWaiting(campaign);
  await sleep(SETTLE_MS);
  const waiting = await processorShare(campaign, SECONDS);
  report.limit(`${RUNS.toLocaleString('en-US')} waiting runs: process and sessions; without runs`, waiting, '% of a core', { atMost: 1 }, idle);
  const memory = memoryMb(campaign);
  const peer = await peerMemory();
  report.compare('  memory of the process, of graphile-worker', memory, peer.memoryMb, 'MB', { atMost: 1 / 3 });
  report.note(`graphile-worker's process takes ${(100 * peer.processorSeconds / PEER_SECONDS).toFixed(2)} % of a core`);
}

async function insertWaiting(campaign) {
  await campaign.psql(`with runs as (
      insert into automation_runs (brand_id, automation_id, version_id, email, email_key, node_id, visit, entered_at, due_at, started_at)
      select a.brand_id, a.id, a.live_version_id, 'p' || n || '@example.com', 'p' || n || '@example.com', 'pause', 2, now(),
             now() + interval '1 day' + n * interval '1 ms', now()
        from automations a cross join generate_series(1, ${RUNS}) n where a.name = 'Resting' returning brand_id, id
    )
    insert into automation_steps (brand_id, run_id, visit, node_id, node_type, status, started_at)
    select brand_id, id, 2, 'pause', 'wait', 'running', now() from runs`);
  await campaign.psql('vacuum analyze automation_runs', 'vacuum analyze automation_steps', 'checkpoint');
}

/** The processor time of the runner and of the sessions of the database, in percent of the time. */
async function processorShare(campaign, seconds) {
  const sessions = (await campaign.psql("select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()"))
    .split('\n').filter(Boolean).map(Number);
  const pids = [campaign.runner, ...sessions];
  const before = pids.map(processorSeconds);
  await sleep(1000 * seconds);
  const used = pids.map((pid, i) => processorSeconds(pid) - before[i]);
  return 100 * used.reduce((sum, value) => sum + value, 0) / seconds;
}

function processorSeconds(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const [user, system] = stat.slice(stat.lastIndexOf(')') + 2).split(' ').slice(11, 13).map(Number);
  return (user + system) / TICKS_PER_S;
}

function memoryMb(campaign) {
  return processTreeOf(campaign.folder.path).find(({ pid }) => pid === campaign.runner).pssKb / 1024;
}

async function peerMemory() {
  const postgres = new Postgres();
  try {
    await postgres.start();
    return await drivePeer('graphile_waiting.mjs', { socket: postgres.folder, jobs: RUNS, seconds: PEER_SECONDS });
  } finally {
    await postgres.dispose();
  }
}
