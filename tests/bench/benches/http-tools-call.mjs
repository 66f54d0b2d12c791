// One cheap tool over Streamable HTTP, 16 connections with a session each: our get_capabilities, with authentication and rate
// gate, beside the reference server's echo.

import { DURATION_MS, DataFolder, ROUNDS, drive, everything, interleaved, posthorn, serveEverything } from '../programs.mjs';

export async function run(report) {
  const folder = new DataFolder();
  const ours = await folder.serve();
  const peer = await serveEverything();

  const call = (server, tool) => drive('http_load',
    { port: server.port, header: server.header, ...tool, serverPid: server.pid, durationMs: DURATION_MS });
  const found = await interleaved(ROUNDS, {
    ours: () => call(ours, posthorn.cheapTool),
    peer: () => call(peer, everything.cheapTool),
  });

  report.compare('calls, server-everything echo', found.ours.callsPerSecond, found.peer.callsPerSecond, 'calls/s', { atLeast: 15, aim: 25 });
  report.compare('p50', found.ours.p50Us, found.peer.p50Us, 'µs');
  report.compare('p99', found.ours.p99Us, found.peer.p99Us, 'µs', { atMost: 1 / 20 });
  report.note(`replies of ${found.ours.replyBytes} and ${found.peer.replyBytes} bytes; processor: ours ${found.ours.serverCpu.toFixed(2)}, `
    + `the generator beside it ${found.ours.driverCpu.toFixed(2)} cores`);
}
