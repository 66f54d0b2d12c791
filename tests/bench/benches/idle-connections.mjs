// 1,000 idle connections beside 64 busy ones (GET /v1/emails/{id}): the memory of the server, and the effect of the idle connections
// on the busy ones. Every reply must be correct, and no idle connection may be closed.

import { DURATION_MS, DataFolder, ROUNDS, drive, interleaved } from '../programs.mjs';
import { newsletter } from '../newsletter.mjs';

const IDLE = 1000;
const BUSY = 64;

export async function run(report) {
  const folder = new DataFolder();
  const server = await folder.serve();
  const { emailId } = await folder.command('call', 'import_email', JSON.stringify(newsletter()));
  const load = (idle) => drive('http_load', { port: server.port, header: server.header, get: `/v1/emails/${emailId}`, marker: emailId,
    serverPid: server.pid, durationMs: DURATION_MS, connections: BUSY, idle });
  const found = await interleaved(ROUNDS, { alone: () => load(0), beside: () => load(IDLE) });

  report.limit(`RSS of the server with ${IDLE} idle and ${BUSY} busy connections`, found.beside.serverRssKb / 1024, 'MB', { atMost: 64 });
  report.compare(`p99 of the ${BUSY}: beside the idle ones, alone`, found.beside.p99Us, found.alone.p99Us, 'µs', { atMost: 2 });
  report.compare(`calls of the ${BUSY}: beside the idle ones, alone`, found.beside.callsPerSecond, found.alone.callsPerSecond, 'calls/s');
}
