// Durable fires. Over 8 connections, each POST …/fire has an Idempotency-Key and a new address, so it saves a contact, seals a payload,
// starts a run, and writes an instance, two events, a key and an audit row. The peer is pgbench with 8 clients, which writes the same rows
// in one transaction of prepared statements, to tables with the same columns and indexes on the same server. fsync and
// synchronous_commit are on. On both sides a notification follows the commit and does not wait for the disk.

import { execFile } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

import { DURATION_MS, DataFolder, ROUNDS, drive, interleaved } from '../programs.mjs';

const run = promisify(execFile);
const CONNECTIONS = 8;
const SEALED_BYTES = 120;
const TABLES = ['contacts', 'trigger_payloads', 'automation_runs', 'trigger_instances', 'events', 'idempotency_keys', 'audit_log'];
const FIELDS = [
  { key: 'email', type: 'string', required: true },
  { key: 'firstName', type: 'string', required: false },
  { key: 'order', type: 'object', required: false },
];

export { bench as run };

async function bench(report) {
  const folder = new DataFolder();
  const server = await folder.serve();
  const { database } = await folder.command('doctor');
  const pg = new Server(database.url, folder.parent);
  await pg.prepare();
  const trigger = await listeningTrigger(server);
  const body = path.join(folder.parent, 'fire.json');
  writeFileSync(body, JSON.stringify({ payload: { email: 'person-@SEQ@@bench.example', firstName: 'Ada', order: { id: 7, total: 12.5 } } }));
  const fire = () => drive('http_writes', { port: server.port, path: `/v1/automations/triggers/${trigger}/fire`, header: server.header, body,
    marker: '"status":"triggered"', expect: 202, connections: CONNECTIONS, serverPid: server.pid, durationMs: DURATION_MS });

  const found = await interleaved(ROUNDS, { fire, peer: () => pg.bench() });
  report.compare('fire, pgbench with the same rows, 8 clients', found.fire.callsPerSecond, found.peer.callsPerSecond, 'calls/s', { atLeast: 0.8, aim: 1.3 });
  report.note(`fire: p50 ${found.fire.p50Us} µs, p99 ${found.fire.p99Us} µs; pgbench ${found.peer.meanUs} µs on average`);
  await pg.mustHoldEveryFire(report);
}

// A trigger and a published automation, whose runs wait for a week.
async function listeningTrigger(server) {
  const [name, value] = server.header.split(': ');
  async function call(method, target, content) {
    const response = await fetch(`http://127.0.0.1:${server.port}${target}`, { method, body: JSON.stringify(content),
      headers: { [name]: value, 'content-type': 'application/json' } });
    if (!response.ok) throw new Error(await response.text());
    return response.json();
  }
  const { triggerEventId } = await call('POST', '/v1/automations/triggers', { title: 'Order placed', payloadSchema: { fields: FIELDS } });
  const { automationId } = await call('POST', '/v1/automations', {
    name: 'Welcome',
    nodes: [{ id: 'start', type: 'trigger', config: { mode: 'event', triggerEventId } }, { id: 'pause', type: 'wait', config: { duration: 1, unit: 'weeks' } }],
    connections: [{ from: 'start', to: 'pause' }],
  });
  await call('PATCH', `/v1/automations/${automationId}`, { published: true });
  return triggerEventId;
}

// The PostgreSQL server of the installation, and the peer that writes to it.
class Server {
  constructor(url, scratch) {
    this.url = url;
    this.script = path.join(scratch, 'peer.sql');
    const [newest] = readdirSync('/usr/lib/postgresql').sort((a, b) => b - a);
    this.programs = `/usr/lib/postgresql/${newest}/bin`;
  }

  async sql(text) {
    const { stdout } = await run(path.join(this.programs, 'psql'), ['-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', this.url, '-c', text]);
    return stdout.trim();
  }

  async prepare() {
    for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes']) {
      if (await this.sql(`show ${setting}`) !== 'on') throw new Error(`${setting} is off: the writes would not be durable`);
    }
    await this.sql(`create schema bench; ${TABLES.map((table) => `create table bench.${table} (like posthorn.${table} including all)`).join('; ')}`);
    const email = "'person-' || :n || '@bench.example'";
    writeFileSync(this.script, [
      '\\set n random(1, 9000000000000000)',
      'begin;',
      `insert into bench.idempotency_keys (organization_id, key_hash, fingerprint, operation, created_at) values (1, decode(md5(:n::text), 'hex'), decode(md5(:n::text), 'hex'), 'triggers.fire', now());`,
      `select 1 from posthorn.automations a where a.live_version_id is not null for share;`,
      `insert into bench.contacts (brand_id, email, email_key, first_name, source, subscribed, created_at, updated_at) values (1, ${email}, ${email}, 'Ada', 'API', true, now(), now()) on conflict (brand_id, email_key) do update set first_name = excluded.first_name;`,
      `insert into bench.trigger_payloads (brand_id, sealed, created_at) values (1, decode(repeat('ab', ${SEALED_BYTES}), 'hex'), now());`,
      `insert into bench.automation_runs (brand_id, automation_id, version_id, trigger_id, trigger_instance_id, payload_id, contact_id, email, email_key, node_id, due_at, started_at) values (1, 1, 1, 1, :n, :n, :n, ${email}, ${email}, 'start', now(), now());`,
      `insert into bench.events (brand_id, occurred_at, domain, event_type, recipient_email, recipient_key, automation_id, automation_run_id, trigger_instance_id) values (1, now(), 'automation', 'started', ${email}, ${email}, 1, :n, :n);`,
      `insert into bench.trigger_instances (brand_id, occurred_at, id, trigger_id, source, state, contact_id, email_key, matched, runs, processed_at) values (1, now(), :n, 1, 'api', 'fired', :n, ${email}, '{1}', '{1}', now());`,
      `insert into bench.events (brand_id, occurred_at, domain, event_type, recipient_email, recipient_key, trigger_instance_id) values (1, now(), 'trigger', 'fired', ${email}, ${email}, :n);`,
      `insert into bench.audit_log (occurred_at, organization_id, brand_id, door, request_id, operation, subjects) values (now(), 1, 1, 'rest', :n::text, 'triggers.fire', '{a,b,c}');`,
      `update bench.idempotency_keys set status = 202, body = repeat('x', 200) where organization_id = 1 and key_hash = decode(md5(:n::text), 'hex');`,
      'commit;',
      `select set_config('synchronous_commit', 'off', true), pg_notify('posthorn_bench', '');`,
    ].join('\n'));
  }

  async bench() {
    const { stdout } = await run(path.join(this.programs, 'pgbench'), ['-n', '-c', String(CONNECTIONS), '-j', '2', '-M', 'prepared',
      '-T', String(Math.max(1, Math.round(DURATION_MS / 1000))), '-f', this.script, this.url]);
    const failed = /number of failed transactions: (\d+)/.exec(stdout);
    if (failed && failed[1] !== '0') throw new Error(`pgbench: ${failed[0]}`);
    return {
      callsPerSecond: Number(/tps = ([\d.]+)/.exec(stdout)[1]),
      meanUs: Math.round(1000 * Number(/latency average = ([\d.]+)/.exec(stdout)[1])),
    };
  }

  // Every fire must have left an instance, a run, a key and its events.
  async mustHoldEveryFire(report) {
    const counts = await this.sql(`select (select count(*) from posthorn.trigger_instances), (select count(*) from posthorn.automation_runs),
      (select count(*) from posthorn.idempotency_keys where operation = 'triggers.fire' and status = 202),
      (select count(*) from posthorn.events where event_type = 'fired'), (select count(*) from posthorn.audit_log where operation = 'triggers.fire')`);
    const [fires, ...others] = counts.split('|').map(Number);
    if (fires === 0 || others.some((count) => count !== fires)) throw new Error(`instances, runs, keys, events, audit rows: ${counts}`);
    report.note(`${fires} fires, each with its run, its events, its key and its audit row`);
  }
}
