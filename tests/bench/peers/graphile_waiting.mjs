// graphile-worker with jobs that are due in a week. Prints its memory and the processor time of its process while it waits, as
// { memoryMb, processorSeconds }.
//
//   graphile_waiting.mjs --socket FOLDER --jobs N --seconds N

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { Logger, run, runMigrations } from 'graphile-worker';
import pg from 'pg';

const SETTLE_MS = 3000;
const { values: options } = parseArgs({ options: Object.fromEntries(['socket', 'jobs', 'seconds'].map((name) => [name, { type: 'string' }])) });
const pool = new pg.Pool({ host: options.socket, user: 'posthorn', database: 'postgres', max: 12 });
const settings = { pgPool: pool, logger: new Logger(() => () => {}) };

await runMigrations(settings);
const add = `select count(*) from graphile_worker.add_jobs(array(
    select json_populate_record(null::graphile_worker.job_spec, json_build_object('identifier', 'step', 'run_at', now() + interval '1 week', 'payload', json_build_object('contact', n)))
      from generate_series($1::integer, $2::integer) n))`;
const BATCH = 50_000;
for (let from = 1; from <= Number(options.jobs); from += BATCH) await pool.query(add, [from, Math.min(from + BATCH - 1, Number(options.jobs))]);
const runner = await run({ ...settings, concurrency: 10, noHandleSignals: true, taskList: { step: async () => {} } });
await sleep(SETTLE_MS);
const before = process.cpuUsage();
await sleep(1000 * Number(options.seconds));
const used = process.cpuUsage(before);
const memoryMb = Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync('/proc/self/smaps_rollup', 'utf8'))[1]) / 1024;
await runner.stop();
await pool.end();
console.log(JSON.stringify({ memoryMb, processorSeconds: (used.user + used.system) / 1e6 }));
