// One row by its id over REST, 16 connections: our GET /v1/emails/{id}, with authentication, rate limits and all headers. The peer
// is a bare libmicrohttpd program that answers each request from one prepared SELECT on the same database, with rows that hold
// exactly the bytes of our reply.

import path from 'node:path';

import { DURATION_MS, DataFolder, ROUNDS, WARMUP_MS, drive, interleaved, serveBare, sized } from '../programs.mjs';
import { newsletter } from '../newsletter.mjs';

const CHOICE_MS = sized(1500, 100);

export async function run(report) {
  const folder = new DataFolder();
  const server = await folder.serve();
  const { emailId } = await folder.command('call', 'import_email', JSON.stringify(newsletter()));
  const get = (of, durationMs = DURATION_MS, more = {}) => drive('http_load',
    { port: of.port, header: of.header, get: `/v1/emails/${emailId}`, marker: emailId, serverPid: of.pid, warmupMs: WARMUP_MS, durationMs, ...more });

  const reply = path.join(folder.parent, 'reply.json');
  await get(server, 200, { saveReply: reply });
  const { database } = await folder.command('doctor');
  const bare = await fastestBare(get, reply, database.url);

  const found = await interleaved(ROUNDS, { ours: () => get(server), bare: () => get(bare) });
  report.compare(`calls, bare SELECT, pool ${bare.pool}`, found.ours.callsPerSecond, found.bare.callsPerSecond, 'calls/s', { atLeast: 0.6 });
  report.compare('  p99', found.ours.p99Us, found.bare.p99Us, 'µs');
  report.note(`replies of ${found.ours.replyBytes} bytes; processor without PostgreSQL: ours ${found.ours.serverCpu.toFixed(2)}, `
    + `bare ${found.bare.serverCpu.toFixed(2)}, the generator ${found.ours.driverCpu.toFixed(2)} cores`);
}

// It depends on the machine whether blocking SELECTs are faster with a pool of 4 or of 8 threads. The faster pool is the peer.
async function fastestBare(get, reply, database) {
  const candidates = [];
  for (const pool of [4, 8]) {
    const server = await serveBare({ pool, reply, database });
    const { callsPerSecond } = await get(server, CHOICE_MS);
    server.end();
    candidates.push({ pool, callsPerSecond });
  }
  const { pool } = candidates.reduce((best, it) => (it.callsPerSecond > best.callsPerSecond ? it : best));
  return { ...await serveBare({ pool, reply, database }), pool };
}
