// Calls of one tool over Streamable HTTP, over 16 connections with a session each. Posthorn's get_capabilities, with authentication
// and rate limits, is compared with the get-env tool of the reference server, whose reply has the same number of bytes.

import { equalBytes, httpPeerOf } from '../equal_replies.mjs';
import { DURATION_MS, DataFolder, ROUNDS, WARMUP_MS, drive, everything, interleaved, posthorn } from '../programs.mjs';

export async function run(report) {
  const folder = new DataFolder();
  const server = await folder.serve();
  const call = ({ port, header, pid }, tool) => drive('http_load',
    { port, header, ...tool, serverPid: pid, warmupMs: WARMUP_MS, durationMs: DURATION_MS });
  for (const [size, tool] of [['short', posthorn.shortReply], ['typical', posthorn.typicalReply]]) {
    const peer = await httpPeerOf(server, tool);
    const found = await interleaved(ROUNDS, { ours: () => call(server, tool), peer: () => call(peer, everything.tool) });
    peer.end();
    print(report, `${size} reply, 16 connections`, found);
  }
}

function print(report, name, { ours, peer }) {
  const bytes = equalBytes(ours, peer);
  report.compare(name, ours.callsPerSecond, peer.callsPerSecond, 'calls/s', { atLeast: 15, aim: 25 });
  report.compare('  p50', ours.p50Us, peer.p50Us, 'µs');
  report.compare('  p99', ours.p99Us, peer.p99Us, 'µs', { atMost: 1 / 20 });
  report.compare('  processor time of the server for a call', ours.serverCpuUs, peer.serverCpuUs, 'µs');
  report.note(`  ${bytes}, without headers; processor: ours ${ours.serverCpu.toFixed(2)}, `
    + `the generator beside it ${ours.driverCpu.toFixed(2)} cores`);
}
