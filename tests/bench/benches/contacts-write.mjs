// Durable writes of contacts. Over 16 connections, each POST /v1/contacts has an Idempotency-Key and a new address, so it writes a
// contact, a key and an audit row. The peer is pgbench's prepared INSERT of such a contact with 8 clients. Batches of 1,000 are
// compared with a bare upsert from unnest of the same rows. The peers write to a table with the same columns and indexes on the same
// server. fsync and synchronous_commit are on.

import { execFile } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

import { DURATION_MS, DataFolder, ROUNDS, drive, interleaved } from '../programs.mjs';

const run = promisify(execFile);
const BATCH_ROWS = 1000;
const PERSON = { firstName: 'Ada', lastName: 'Lovelace', source: 'shop' };

export { bench as run };

async function bench(report) {
  const folder = new DataFolder();
  const ours = await folder.serve();
  const { database } = await folder.command('doctor');
  const pg = new Server(database.url, folder.parent);
  await pg.mustBeDurable();
  await pg.prepare();

  const save = writes(folder, ours, 'single', {
    body: { email: 'person-@SEQ@@bench.example', ...PERSON }, marker: '"email":"person-@SEQ@@bench.example"', expect: 201 });
  const saveFields = writes(folder, ours, 'fields', {
    body: { email: 'fields-@SEQ@@bench.example', ...PERSON, customFields: { plan: 'pro', seats: 12 } },
    marker: '"email":"fields-@SEQ@@bench.example"', expect: 201 });
  const rows = Array.from({ length: BATCH_ROWS }, (_, row) => ({ email: `batch-@SEQ@-${row}@bench.example`, ...PERSON }));
  const saveBatch = writes(folder, ours, 'batch', { body: { contacts: rows }, marker: `"inserted":${BATCH_ROWS}`, expect: 200 });

  const found = await interleaved(ROUNDS, {
    single: () => save(16),
    insert: () => pg.bench('insert', 8, 'prepared'),
    fields: () => saveFields(16),
    batch: () => saveBatch(2),
    upsert: () => pg.bench('upsert', 2, 'simple'),
  });

  report.compare('single, pgbench INSERT, 8 clients', found.single.callsPerSecond, found.insert.callsPerSecond, 'calls/s', { atLeast: 0.5, aim: 1.2 });
  report.compare('the same with two custom fields', found.fields.callsPerSecond, found.insert.callsPerSecond, 'calls/s');
  report.compare('batch of 1,000, unnest upsert', found.batch.callsPerSecond * BATCH_ROWS, found.upsert.callsPerSecond * BATCH_ROWS, 'rows/s', { atLeast: 0.5 });
  report.note(`single: p50 ${found.single.p50Us} µs, p99 ${found.single.p99Us} µs; pgbench ${found.insert.meanUs} µs on average; `
    + `processor without PostgreSQL: ours ${found.single.serverCpu.toFixed(2)}, the generator ${found.single.driverCpu.toFixed(2)} cores`);
  await pg.mustHoldEveryWrite(report);
}

// Calls that differ in their number only. Gives a function that measures them over a number of connections.
function writes(folder, server, name, { body, marker, expect }) {
  const file = path.join(folder.parent, `${name}.json`);
  writeFileSync(file, JSON.stringify(body));
  return (connections) => drive('http_writes', { port: server.port, path: '/v1/contacts', header: server.header, body: file, marker, expect,
    connections, serverPid: server.pid, durationMs: DURATION_MS });
}

// The PostgreSQL server of the installation, and the peers that write to it.
class Server {
  constructor(url, scratch) {
    this.url = url;
    this.scratch = scratch;
    const [newest] = readdirSync('/usr/lib/postgresql').sort((a, b) => b - a);
    this.programs = `/usr/lib/postgresql/${newest}/bin`;
  }

  async sql(text) {
    const { stdout } = await run(path.join(this.programs, 'psql'), ['-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', this.url, '-c', text]);
    return stdout.trim();
  }

  async mustBeDurable() {
    for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes']) {
      const value = await this.sql(`show ${setting}`);
      if (value !== 'on') throw new Error(`${setting} is ${value}: the writes would not be durable`);
    }
  }

  async prepare() {
    await this.sql('create schema bench; create table bench.contacts (like posthorn.contacts including all)');
    const columns = 'brand_id, email, email_key, first_name, last_name, source, subscribed, created_at, updated_at';
    this.script('insert', `\\set n random(1, 9000000000000000)
insert into bench.contacts (${columns})
values (1, 'person-' || :n || '@bench.example', 'person-' || :n || '@bench.example', 'Ada', 'Lovelace', 'shop', true, now(), now());`);
    // In the simple protocol, pgbench replaces :n inside the texts too.
    const list = (value) => `'{${Array.from({ length: BATCH_ROWS }, (_, row) => value(row)).join(',')}}'::text[]`;
    const email = list((row) => `batch-:n-${row}@bench.example`);
    this.script('upsert', `\\set n random(1, 9000000000000000)
insert into bench.contacts (${columns})
select 1, email, email_key, first_name, last_name, source, true, now(), now()
from unnest(${email}, ${email}, ${list(() => 'Ada')}, ${list(() => 'Lovelace')}, ${list(() => 'shop')})
as g(email, email_key, first_name, last_name, source)
on conflict (brand_id, email_key) do update set email = excluded.email, first_name = excluded.first_name,
last_name = excluded.last_name, source = excluded.source, updated_at = excluded.updated_at;`);
  }

  script(name, text) {
    writeFileSync(path.join(this.scratch, `${name}.sql`), `${text.replaceAll('\n', ' ').replace(/^(\\set [^)]*\)) /, '$1\n')}\n`);
  }

  async bench(name, clients, protocol) {
    const { stdout } = await run(path.join(this.programs, 'pgbench'), ['-n', '-c', String(clients), '-j', '2', '-M', protocol,
      '-T', String(Math.max(1, Math.round(DURATION_MS / 1000))), '-f', path.join(this.scratch, `${name}.sql`), this.url]);
    const failed = /number of failed transactions: (\d+)/.exec(stdout);
    if (failed && failed[1] !== '0') throw new Error(`pgbench: ${failed[0]}`);
    return {
      callsPerSecond: Number(/tps = ([\d.]+)/.exec(stdout)[1]),
      meanUs: Math.round(1000 * Number(/latency average = ([\d.]+)/.exec(stdout)[1])),
    };
  }

  // Every call must have left a contact, a key and an audit row.
  async mustHoldEveryWrite(report) {
    const counts = `select (select count(*) from posthorn.contacts where email_key like 'person-%' or email_key like 'fields-%'),
      (select count(*) from posthorn.idempotency_keys where operation = 'contacts.save' and status = 201),
      (select count(*) from posthorn.audit_log where operation = 'contacts.save' and cardinality(subjects) = 1)`;
    const [contacts, keys, audits] = (await this.sql(counts)).split('|').map(Number);
    if (contacts === 0 || keys !== contacts || audits !== contacts) throw new Error(`${contacts} contacts, ${keys} keys, ${audits} audit rows`);
    report.note(`${contacts} single writes, each with its contact, its key and its audit row`);
  }
}
