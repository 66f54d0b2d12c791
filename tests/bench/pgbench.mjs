// pgbench of the newest installed PostgreSQL: one INSERT a transaction, prepared, with 8 clients. It measures durable commits.

import { execFile } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

import { DURATION_MS } from './programs.mjs';

const execute = promisify(execFile);

const [newest] = readdirSync('/usr/lib/postgresql').sort((a, b) => b - a);
const program = (name) => `/usr/lib/postgresql/${newest}/bin/${name}`;

// Makes bench.hits, a table like the hits, and gives the function that measures. `folder`: a data folder for the script.
export async function insertsOfHits(folder, url) {
  const script = path.join(folder.parent, 'insert.sql');
  await execute(program('psql'), ['-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', url, '-c',
    'create schema bench; create table bench.hits (like posthorn.hits including all)']);
  writeFileSync(script, `\\set n random(1, 9000000000000000)
insert into bench.hits (brand_id, occurred_at, id, send_id, ordinal, kind, link, method, agent, network, address, delay_ms) values (1, now(), :n, 1, 1, 'click', 0, 'GET', 'other', 'other', '203.0.113.0/24', 5);
`);
  return async () => {
    const { stdout } = await execute(program('pgbench'), ['-n', '-c', '8', '-j', '2', '-M', 'prepared',
      '-T', String(Math.max(1, Math.round(DURATION_MS / 1000))), '-f', script, url]);
    return { callsPerSecond: Number(/tps = ([\d.]+)/.exec(stdout)[1]) };
  };
}
