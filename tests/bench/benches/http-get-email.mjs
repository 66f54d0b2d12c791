// One row by its id over Streamable HTTP, 16 connections: our get_email (without html) beside the reference server's echo, and
// beside a bare libmicrohttpd program that answers each request from one prepared SELECT on the same database, with rows that
// hold the very bytes of our reply.

import path from 'node:path';

import { DURATION_MS, DataFolder, ROUNDS, drive, everything, interleaved, serveBare, serveEverything } from '../programs.mjs';
import { newsletter } from '../newsletter.mjs';

export async function run(report) {
  const folder = new DataFolder();
  const ours = await folder.serve();
  const { emailId } = await folder.command('call', 'import_email', JSON.stringify(newsletter()));
  const getEmail = { tool: 'get_email', arguments: JSON.stringify({ emailId }), marker: emailId };
  const call = (server, tool, durationMs = DURATION_MS) => drive('http_load',
    { port: server.port, header: server.header, ...tool, serverPid: server.pid, durationMs });

  const reply = path.join(folder.parent, 'reply.json');
  await call(ours, { ...getEmail, saveReply: reply }, 200);
  const { database } = await folder.command('doctor');
  const bare = await fastestBare(reply, database.url, emailId);
  const peer = await serveEverything();

  const found = await interleaved(ROUNDS, {
    ours: () => call(ours, getEmail),
    echo: () => call(peer, everything.cheapTool),
    bare: () => call(bare, { marker: emailId }),
  });

  report.compare('calls, server-everything echo', found.ours.callsPerSecond, found.echo.callsPerSecond, 'calls/s', { atLeast: 8, aim: 12 });
  report.compare('p99', found.ours.p99Us, found.echo.p99Us, 'µs');
  report.compare(`calls, bare SELECT, pool ${bare.pool}`, found.ours.callsPerSecond, found.bare.callsPerSecond, 'calls/s', { atLeast: 0.6 });
  report.compare('p99', found.ours.p99Us, found.bare.p99Us, 'µs');
  report.note(`replies of ${found.ours.replyBytes} bytes; processor without PostgreSQL: ours ${found.ours.serverCpu.toFixed(2)}, `
    + `bare ${found.bare.serverCpu.toFixed(2)}, the generator ${found.ours.driverCpu.toFixed(2)} cores`);
}

// A blocking SELECT in the callback is fastest with a pool of 4 or of 8, by machine: the better one is the opponent.
async function fastestBare(reply, database, marker) {
  const candidates = [];
  for (const pool of [4, 8]) {
    const server = await serveBare({ pool, reply, database });
    const { callsPerSecond } = await drive('http_load', { port: server.port, marker, durationMs: 1500 });
    server.end();
    candidates.push({ pool, callsPerSecond });
  }
  const { pool } = candidates.reduce((best, it) => (it.callsPerSecond > best.callsPerSecond ? it : best));
  return { ...await serveBare({ pool, reply, database }), pool };
}
