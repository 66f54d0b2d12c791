// An import of a million contacts. The peer is a bare COPY (binary, by psql) of the same prepared rows into the same table with the
// same indexes. There are three imports: all contacts are new, the same file again, and a file in which every second row has another
// value. The time runs from the command to its reply, so it includes reading, checking and deduplicating.
//
// BENCH_ROWS   contacts of the file (1,000,000)

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

import { DataFolder, ROUNDS, environment, interleaved, posthorn, sizedBy } from '../programs.mjs';

const ROWS = sizedBy('BENCH_ROWS', 1_000_000, 2_000);
const MEMORY_LIMIT_MB = 64;
const COMMAND_WAIT_MS = 180_000;
const COLUMNS = 'brand_id, email, email_key, first_name, last_name, user_id, source, subscribed, custom_fields, created_at, updated_at';
const execute = promisify(execFile);

export async function run(report) {
  const folder = new DataFolder();
  await folder.command('call', 'get_capabilities', '{"topic":"account"}');
  const { database } = await folder.command('doctor');
  const file = (name) => path.join(folder.parent, name);
  const psql = (...commands) => execute('psql', [database.url, '-qX', '-v', 'ON_ERROR_STOP=1', ...commands.flatMap((command) => ['-c', command])],
    { env: { ...environment, PGOPTIONS: '-c search_path=posthorn -c client_min_messages=warning' }, timeout: COMMAND_WAIT_MS });
  const emptied = () => psql('truncate contacts cascade', 'checkpoint');

  await writeFile(file('contacts.csv'), () => false);
  await writeFile(file('half.csv'), (i) => i % 2 === 0);
  await importFile(folder, 'contacts.csv', 'inserted', ROWS);
  await psql(`\\copy (select ${COLUMNS} from contacts order by substr(user_id, 3)::bigint) to '${file('rows')}' (format binary)`);
  const peakMb = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${runnerOf(folder)}/status`, 'utf8'))[1]) / 1024;

  const found = await interleaved(ROUNDS, {
    copy: async () => {
      await emptied();
      return rate(() => psql(`\\copy contacts (${COLUMNS}) from '${file('rows')}' (format binary)`));
    },
    fresh: async () => {
      await emptied();
      return rate(() => importFile(folder, 'contacts.csv', 'inserted', ROWS));
    },
    same: async () => {
      await psql('checkpoint');
      return rate(() => importFile(folder, 'contacts.csv', 'unchanged', ROWS));
    },
    half: async () => {
      await psql('checkpoint');
      return rate(() => importFile(folder, 'half.csv', 'updated', ROWS / 2));
    },
  });

  report.compare('new contacts, bare COPY', found.fresh.rows, found.copy.rows, 'rows/s', { atLeast: 0.55, aim: 0.85 });
  report.compare('the same file again', found.same.rows, found.copy.rows, 'rows/s', { atLeast: 0.35, aim: 0.5 });
  report.compare('half of it changed', found.half.rows, found.copy.rows, 'rows/s', { atLeast: 0.15 });
  report.limit('peak memory of the worker', peakMb, 'MB', { atMost: MEMORY_LIMIT_MB });
}

async function rate(work) {
  const began = performance.now();
  await work();
  return { rows: ROWS / ((performance.now() - began) / 1000) };
}

async function importFile(folder, name, outcome, count) {
  const words = ['call', 'import_contacts_csv', JSON.stringify({ path: name }), '--import-root', folder.parent, '--data', folder.path];
  const { stdout } = await execute(posthorn.binary, words, { env: environment, timeout: COMMAND_WAIT_MS });
  const { summary } = JSON.parse(stdout);
  if (summary[outcome] !== count) throw new Error(`the import says ${JSON.stringify(summary)}`);
}

const runnerOf = (folder) => Number.parseInt(readFileSync(path.join(folder.path, 'runner.pid'), 'utf8'), 10);

// Six columns, two of them custom. The addresses are in no order.
async function writeFile(name, isChanged) {
  const out = createWriteStream(name);
  const first = ['Ada', 'Bob', 'Cyd', 'Dan', 'Eve', 'Fay', 'Gus', 'Hal'];
  const last = ['Lovelace', 'Smith', 'Müller', 'Jones', 'García', 'Kim'];
  const plans = ['free', 'pro', 'team'];
  out.write('email,firstName,lastName,userId,plan,score\n');
  for (let i = 0; i < ROWS; i++) {
    const random = Math.imul(i, 2654435761) >>> 0;
    const score = (random % 1000) + (isChanged(i) ? 1000 : 0);
    const line = `reader${random}.${i}@example${random % 97}.com,${first[random % 8]},${last[random % 6]},u-${i},${plans[random % 3]},${score}\n`;
    if (!out.write(line)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'finish');
}
