// One row by its id over Streamable HTTP, 16 connections: our get_email (without html). It has two peers. One is the get-env tool of
// the reference server, whose reply has the same number of bytes. The other is a bare libmicrohttpd program that answers each
// request from one prepared SELECT on the same database, with rows that hold exactly the bytes of our reply.

import path from 'node:path';

import { equalBytes, httpPeerOf } from '../equal_replies.mjs';
import { DURATION_MS, DataFolder, ROUNDS, WARMUP_MS, drive, everything, interleaved, serveBare, sized } from '../programs.mjs';
import { newsletter } from '../newsletter.mjs';

const CHOICE_MS = sized(1500, 100);

export async function run(report) {
  const folder = new DataFolder();
  const ours = await folder.serve();
  const { emailId } = await folder.command('call', 'import_email', JSON.stringify(newsletter()));
  const getEmail = { tool: 'get_email', arguments: JSON.stringify({ emailId }), marker: emailId };
  const call = (server, tool, durationMs = DURATION_MS) => drive('http_load',
    { port: server.port, header: server.header, ...tool, serverPid: server.pid, warmupMs: WARMUP_MS, durationMs });

  const reply = path.join(folder.parent, 'reply.json');
  await call(ours, { ...getEmail, saveReply: reply }, 200);
  const { database } = await folder.command('doctor');
  const bare = await fastestBare(reply, database.url, emailId);
  const peer = await httpPeerOf(ours, getEmail);

  const found = await interleaved(ROUNDS, {
    ours: () => call(ours, getEmail),
    peer: () => call(peer, everything.tool),
    bare: () => call(bare, { marker: emailId }),
  });

  const bytes = equalBytes(found.ours, found.peer);
  report.compare('calls, server-everything get-env', found.ours.callsPerSecond, found.peer.callsPerSecond, 'calls/s', { atLeast: 8, aim: 12 });
  report.compare('  p99', found.ours.p99Us, found.peer.p99Us, 'µs');
  report.note(`  ${bytes}`);
  report.compare(`calls, bare SELECT, pool ${bare.pool}`, found.ours.callsPerSecond, found.bare.callsPerSecond, 'calls/s', { atLeast: 0.6 });
  report.compare('  p99', found.ours.p99Us, found.bare.p99Us, 'µs');
  report.note(`processor without PostgreSQL: ours ${found.ours.serverCpu.toFixed(2)}, `
    + `bare ${found.bare.serverCpu.toFixed(2)}, the generator ${found.ours.driverCpu.toFixed(2)} cores`);
}

// It depends on the machine whether blocking SELECTs are faster with a pool of 4 or of 8 threads. The faster pool is the peer.
async function fastestBare(reply, database, marker) {
  const candidates = [];
  for (const pool of [4, 8]) {
    const server = await serveBare({ pool, reply, database });
    const { callsPerSecond } = await drive('http_load', { port: server.port, marker, durationMs: CHOICE_MS });
    server.end();
    candidates.push({ pool, callsPerSecond });
  }
  const { pool } = candidates.reduce((best, it) => (it.callsPerSecond > best.callsPerSecond ? it : best));
  return { ...await serveBare({ pool, reply, database }), pool };
}
