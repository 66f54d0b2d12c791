// Stepping the runs of an automation: a filter by the contact, a split, and a message for half of the people. Batches of 500 beside one
// transaction for each run, by the same code, on a PostgreSQL of their own with durable commits; and batches while a session holds a
// snapshot from before, so that no dead row or index entry can be removed. The peer is graphile-worker with ten jobs at a time, which does
// the same steps for the same people (peers/graphile_steps.mjs). Nothing delivers meanwhile.
//
// BENCH_RUNS    due runs of a batch measurement (100,000)
// BENCH_ALONE   runs that are stepped alone, and jobs of the peer: their rates are compared (2,000)

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Mailing } from '../../faults/mailing.mjs';
import { addAutomation, link, mailNode, splitNode, triggerNode } from '../../lib/automation_fixture.mjs';
import { BINARY } from '../../lib/installation.mjs';
import { Postgres } from '../../lib/postgres.mjs';
import { kill } from '../../lib/processes.mjs';
import { ROUNDS, drivePeer, interleaved, runToEnd, sizedBy } from '../programs.mjs';

const RUNS = sizedBy('BENCH_RUNS', 100_000, 2_000);
const ALONE = sizedBy('BENCH_ALONE', 2_000, 100);
const BATCH = 500;
const PEER_JOBS = 10;
const DRIVER = join(BINARY, '../step_time');
const FORGET = 'truncate automation_runs, automation_steps, automation_sends, automation_counts, send_recipients, send_ranges, events, email_usage';

export async function run(report) {
  const postgres = new Postgres();
  await postgres.start();
  const mailing = await prepare(postgres);
  try {
    const found = await interleaved(ROUNDS, {
      ours: () => step(mailing, postgres, RUNS, BATCH),
      alone: () => step(mailing, postgres, ALONE, 1),
      held: () => step(mailing, postgres, RUNS, BATCH, holdSnapshot),
      peer: () => drivePeer('graphile_steps.mjs', { socket: postgres.folder, jobs: ALONE, concurrency: PEER_JOBS }),
    });
    report.compare(`filter, split and mail for ${RUNS.toLocaleString('en-US')} due runs, a transaction each`, found.ours.runs, found.alone.runs, 'runs/s', { atLeast: 4, aim: 8 });
    report.compare('the same steps, graphile-worker', found.ours.runs, found.peer.perSecond, 'runs/s', { atLeast: 3, aim: 6 });
    report.compare('the same with an old snapshot held open, without', found.held.runs, found.ours.runs, 'runs/s', { atLeast: 0.8 });
  } finally {
    await mailing.dispose();
    await postgres.dispose();
  }
}

// A worker imports the designs, and is gone when runs are stepped.
async function prepare(postgres) {
  let worker;
  const mailing = await Mailing.prepare({
    addresses: [], options: { DATABASE: postgres.url }, isSandbox: true,
    start: (installation) => { worker = spawn(BINARY, ['worker'], { env: installation.environment, stdio: 'ignore' }); },
  });
  const filter = { id: 'first', type: 'filter', config: { logicalOperator: 'AND', conditions: [{ field: 'contact.firstName', operator: 'contains', value: 'Name' }] } };
  const nodes = [triggerNode, filter, splitNode('half', 50), await mailNode(mailing, 'letter')];
  await addAutomation(mailing, nodes, [link('start', 'first'), link('first', 'half', 'true'), link('half', 'letter', 'left')]);
  kill(worker.pid, 'SIGTERM');
  await once(worker, 'exit');
  await mailing.sql(`insert into contacts (brand_id, email, email_key, source, subscribed, first_name, created_at, updated_at)
    select 1, 'p' || n || '@example.com', 'p' || n || '@example.com', 'api', true, 'Name' || n, now(), now() from generate_series(1, ${RUNS}) n`);
  await mailing.sql('vacuum analyze contacts');
  return mailing;
}

/** A session with a snapshot; the function that ends it. */
async function holdSnapshot(postgres) {
  const session = spawn('psql', [postgres.url, '-qXAt'], { stdio: ['pipe', 'pipe', 'inherit'] });
  session.stdin.write("begin isolation level repeatable read; select 'held';\n");
  await once(session.stdout, 'data');
  return () => {
    session.stdin.end('commit;\n');
    return once(session, 'close');
  };
}

async function step(mailing, postgres, count, batch, hold = async () => async () => {}) {
  await mailing.sql(FORGET);
  await mailing.sql(`insert into automation_runs (brand_id, automation_id, version_id, contact_id, email, email_key, node_id, due_at, started_at)
    select 1, 51, 501, id, email, email_key, 'start', now(), now() from contacts order by id limit ${count}`);
  await mailing.sql('vacuum analyze automation_runs');
  await mailing.sql('checkpoint');
  const release = await hold(postgres);
  const [stepped, seconds] = (await runToEnd([DRIVER, postgres.url, mailing.installation.data, String(batch)])).trim().split(' ').map(Number);
  await release();
  const sent = Number(await mailing.sql('select count(*) from automation_sends'));
  if (stepped !== count || sent < count * 0.3 || sent > count * 0.7) throw new Error(`${stepped} of ${count} runs were stepped, ${sent} mail`);
  return { runs: stepped / seconds };
}
