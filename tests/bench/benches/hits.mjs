// Requests of tracked links: each is answered when its hit is durable. 16 connections follow a link of a captured message. The peer is
// pgbench's prepared INSERT into a table like hits, with 8 clients, on the same server. Then the database is stopped, and the same links
// are followed again: the hits go to the spool.

import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';

import { DURATION_MS, DataFolder, ROUNDS, drive, interleaved } from '../programs.mjs';
import { campaignEmail } from '../campaign_email.mjs';
import { insertsOfHits } from '../pgbench.mjs';
import { Postgres } from '../../lib/postgres.mjs';

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
  const insert = await insertsOfHits(folder, postgres.url);
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
