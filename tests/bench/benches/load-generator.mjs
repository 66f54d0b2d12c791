// The load generator itself. It must drive a bare libmicrohttpd server faster than any server measured here, and with less processor
// time than that server. Otherwise the benches would measure the generator.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { DURATION_MS, ROUNDS, drive, interleaved, serveBare } from '../programs.mjs';

export async function run(report) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'phb-'));
  try {
    const reply = path.join(folder, 'reply.json');
    writeFileSync(reply, JSON.stringify({ fixed: 'x'.repeat(185) }));
    const server = await serveBare({ pool: 2, reply });
    const { bare } = await interleaved(ROUNDS, {
      bare: () => drive('http_load', { port: server.port, marker: '"fixed":"xxx', serverPid: server.pid, durationMs: DURATION_MS }),
    });
    server.end();
    report.limit('fixed replies, 16 connections', bare.callsPerSecond, 'calls/s', { atLeast: 80_000 });
    report.limit('the same for each second of its processor', bare.callsPerSecond / bare.driverCpu, 'calls', { atLeast: 80_000 });
    report.compare('processor: generator, server', bare.driverCpu, bare.serverCpu, 'cores', { atMost: 1 });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
