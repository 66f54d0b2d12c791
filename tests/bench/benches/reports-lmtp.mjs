// Reports of bounces over LMTP: each is answered 250 when it is durable. 16 connections deliver reports of messages that a campaign has
// captured, each report once. The peer is pgbench's prepared INSERT with 8 clients on the same server. The client is one process of
// Node.js beside the server, so on two cores it limits the rate, too.
//
// BENCH_REPORTS   reports of one measurement (3,000)

import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { campaignEmail } from '../campaign_email.mjs';
import { insertsOfHits } from '../pgbench.mjs';
import { DataFolder, ROUNDS, freePort, interleaved, sizedBy } from '../programs.mjs';
import { bounceReport } from '../../lib/bounce_report.mjs';
import { LmtpClient } from '../../lib/lmtp_client.mjs';
import { Postgres } from '../../lib/postgres.mjs';

const REPORTS = sizedBy('BENCH_REPORTS', 3_000, 100);
const RECIPIENTS = REPORTS * (ROUNDS + 1); // and once before
const CONNECTIONS = 16;
const CAPTURED_WAIT_MS = 300_000;

export async function run(out) {
  const postgres = new Postgres();
  try {
    await postgres.start();
    await measure(out, postgres);
  } finally {
    await postgres.dispose();
  }
}

async function measure(out, postgres) {
  const psql = (sql) => execFileSync('psql', [postgres.url, '-qXAt', '-v', 'ON_ERROR_STOP=1', '-c', `set search_path to posthorn; ${sql}`], { encoding: 'utf8' }).trim();
  const folder = new DataFolder({ POSTHORN_DATABASE: postgres.url });
  await folder.command('admin', 'brand', 'list');
  const lmtp = await freePort();
  const server = await folder.serve('--database', postgres.url, '--lmtp', `127.0.0.1:${lmtp}`);
  const messages = await captured(folder, psql);
  const insert = await insertsOfHits(folder, postgres.url);
  const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => LmtpClient.open(lmtp)));
  await Promise.all(clients.map((client) => client.command('LHLO mail.test')));
  const deliver = () => deliverAll(clients, messages.splice(-REPORTS));
  await deliver();
  const found = await interleaved(ROUNDS, { ours: deliver, insert });
  const bounced = psql("select count(*) from recipient_events where event_type = 'bounced'");
  if (bounced !== String(RECIPIENTS)) throw new Error(`${bounced} bounces of ${RECIPIENTS}`);
  out.compare('reports over LMTP, pgbench INSERT, 8 clients', found.ours.perSecond, found.insert.callsPerSecond, 'reports/s', { atLeast: 0.5 });
  for (const client of clients) client.close();
  server.end();
}

// Sends a campaign to the sandbox. Gives the address and the Message-ID of each message.
async function captured(folder, psql) {
  const call = (tool, args) => folder.command('call', tool, JSON.stringify(args));
  psql(`insert into contacts (brand_id, email, email_key, source, subscribed, created_at, updated_at)
    select b.id, t.email, t.email, 'CSV', true, now(), now() from brands b, generate_series(1, ${RECIPIENTS}) n, lateral (select 'reader' || n || '@readers.example') t (email)`);
  const { emailId } = await call('import_email', campaignEmail());
  const { data: domains } = await folder.command('admin', 'domain', 'list');
  const { domainId } = domains.find(({ kind }) => kind === 'sandbox');
  await call('send_email', { emailId, domainId, subject: 'News', audienceId: 'all' });
  const end = Date.now() + CAPTURED_WAIT_MS;
  while (psql('select delivered from send_stats') !== String(RECIPIENTS)) {
    if (Date.now() > end) throw new Error('the campaign did not end');
    await sleep(100);
  }
  const outbox = path.join(folder.path, 'outbox/new');
  return readdirSync(outbox).map((name) => {
    const text = readFileSync(path.join(outbox, name), 'latin1');
    return { to: /^To: .*?([^<\s]+@[^>\s]+)/m.exec(text)[1], id: /^Message-ID:\s*<([^>]+)>/im.exec(text)[1] };
  });
}

async function deliverAll(clients, messages) {
  const began = performance.now();
  let next = 0;
  await Promise.all(clients.map(async (client) => {
    while (next < messages.length) {
      const text = bounceReport(messages[next++]);
      client.write('MAIL FROM:<>\r\nRCPT TO:<fbl@bounce.bench.example>\r\nDATA\r\n'); // RFC 2033 requires pipelining
      for (let reply = 0; reply < 3; reply++) await client.reply();
      client.write(`${text}.\r\n`);
      const answer = await client.reply();
      if (!answer.startsWith('250')) throw new Error(answer);
    }
  }));
  return { perSecond: messages.length / ((performance.now() - began) / 1000) };
}
