// Does the steps of tests/bench/benches/steps.mjs as jobs of graphile-worker: a job reads the contact, filters, splits, and writes the
// visits, the message and the run in one transaction. Prints { perSecond }.
//
//   graphile_steps.mjs --socket FOLDER --jobs N --concurrency N

import { createHash } from 'node:crypto';
import { parseArgs } from 'node:util';

import { Logger, run, runMigrations } from 'graphile-worker';
import pg from 'pg';

const { values: options } = parseArgs({ options: Object.fromEntries(['socket', 'jobs', 'concurrency'].map((name) => [name, { type: 'string' }])) });
const jobs = Number(options.jobs);
const pool = new pg.Pool({ host: options.socket, user: 'posthorn', database: 'postgres', max: Number(options.concurrency) + 2 });
const settings = { pgPool: pool, logger: new Logger(() => () => {}) };

let left = jobs;
let end;
const ended = new Promise((resolve) => { end = resolve; });

async function step({ contact }, { withPgClient }) {
  await withPgClient(async (client) => {
    const { rows: [person] } = await client.query({ name: 'contact', text: 'select email, first_name from posthorn.contacts where brand_id = 1 and id = $1', values: [contact] });
    const passes = person.first_name.includes('Name');
    const goesLeft = passes && createHash('sha256').update(`automation ${contact}`).digest()[0] < 128;
    await client.query('begin');
    await client.query({ name: 'visits', values: [contact, passes, goesLeft],
      text: "insert into peer_steps select $1, v.visit, v.branch, now() from (values (1, ''), (2, $2::boolean::text), (3, $3::boolean::text)) v (visit, branch)" });
    if (goesLeft) await client.query({ name: 'message', text: 'insert into peer_messages (run, email) values ($1, $2)', values: [contact, person.email] });
    await client.query({ name: 'run', text: 'insert into peer_runs values ($1, now())', values: [contact] });
    await client.query('commit');
  });
  if (--left === 0) end();
}

await runMigrations(settings);
await pool.query(`drop table if exists peer_steps, peer_messages, peer_runs;
  create table peer_steps (run bigint, visit integer, branch text, at timestamptz, primary key (run, visit));
  create table peer_messages (id bigint generated always as identity primary key, run bigint, email text);
  create table peer_runs (run bigint primary key, ended_at timestamptz);
  select graphile_worker.add_jobs(array(select json_populate_record(null::graphile_worker.job_spec, json_build_object('identifier', 'step', 'payload', json_build_object('contact', id)))
    from (select id from posthorn.contacts order by id limit ${jobs}) c))`);
const began = performance.now();
const runner = await run({ ...settings, concurrency: Number(options.concurrency), noHandleSignals: true, taskList: { step } });
await ended;
await runner.stop();
const seconds = (performance.now() - began) / 1000;
const { rows: [{ count }] } = await pool.query('select count(*)::integer from peer_runs');
if (count !== jobs) throw new Error(`${count} of ${jobs} runs have ended`);
await pool.end();
console.log(JSON.stringify({ perSecond: jobs / seconds }));
