// Requests of tracked links: each is answered when its hit is durable. 16 connections follow a link of a captured message. The peer is
// pgbench's prepared INSERT into a table like hits, with 8 clients, on the same server. Then the database is stopped, and the same links
// are followed again: the hits go to the spool.

import { execFile } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

import { DURATION_MS, DataFolder, ROUNDS, drive, interleaved } from '../programs.mjs';
import { campaignEmail } from '../campaign_email.mjs';
import { Postgres } from '../../lib/postgres.mjs';

const execute = promisify(execFile);
const SENT_WAIT_MS = 30_000;
const PUBLIC_URL = 'https://mail.example';

export async function run(report) {
  const postgres = new Postgres();
  try {
    await postgres.start();
    await measure(report, postgres);
  } finally {
    await postgres.dispose();
  }
}

async function measure(report, postgres) {
  const folder = new DataFolder({ POSTHORN_DATABASE: postgres.url, POSTHORN_PUBLIC_URL: PUBLIC_URL });
  const server = await folder.serve('--database', postgres.url, '--public-url', PUBLIC_URL);
  const link = await sentLink(folder);
  const insert = await preparePeer(folder, postgres.url);
  const follow = () => drive('http_load', { port: server.port, get: link, marker: '', expect: 302, serverPid: server.pid, durationMs: DURATION_MS });
  await follow();
  const found = await interleaved(ROUNDS, { hits: follow, insert });
  report.compare('hits, pgbench INSERT, 8 clients', found.hits.callsPerSecond, found.insert.callsPerSecond, 'hits/s', { atLeast: 0.5, aim: 1.5 });
  report.note(`p50 ${found.hits.p50Us} µs, p99 ${found.hits.p99Us} µs`);
  await postgres.end('SIGINT');
  await follow();
  const away = await interleaved(ROUNDS, { away: follow });
  report.compare('redirects without the database, with it', away.away.callsPerSecond, found.hits.callsPerSecond, 'redirects/s', { atLeast: 0.8 });
  server.end();
}

/** The path of a link in a message that was captured. */
async function sentLink(folder) {
  const call = (tool, args) => folder.command('call', tool, JSON.stringify(args));
  await call('save_contact', { email: 'ada@example.com', firstName: 'Ada' });
  const { emailId } = await call('import_email', campaignEmail());
  const { data: domains } = await folder.command('admin', 'domain', 'list');
  const { domainId } = domains.find(({ kind }) => kind === 'sandbox');
  const args = { emailId, domainId, subject: 'News', to: ['ada@example.com'] };
  await call('send_email', args);
  const outbox = path.join(folder.path, 'outbox/new');
  for (const end = Date.now() + SENT_WAIT_MS; Date.now() < end;) {
    const [name] = readdirSync(outbox, { withFileTypes: true }).map((entry) => entry.name);
    const text = name ? readFileSync(path.join(outbox, name), 'latin1').replaceAll('=\r\n', '') : '';
    const found = /https:\/\/mail\.example(\/c\/[\w-]{48})/.exec(text);
    if (found) return found[1];
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('no tracked message was captured');
}

async function preparePeer(folder, url) {
  const [newest] = readdirSync('/usr/lib/postgresql').sort((a, b) => b - a);
  const program = (name) => `/usr/lib/postgresql/${newest}/bin/${name}`;
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
