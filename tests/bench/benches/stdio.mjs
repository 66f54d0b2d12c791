// Calls of one tool over stdio. Posthorn's get_capabilities is compared with the get-env tool of the reference server, whose reply
// has the same number of bytes. One comparison has 16 calls in flight. The other has one call in flight and runs both processes on
// one core, so that wake-ups between cores do not change the figure.

import { equalBytes, stdioPeerOf } from '../equal_replies.mjs';
import { DURATION_MS, DataFolder, ROUNDS, drive, everything, interleaved, posthorn, sized } from '../programs.mjs';

const PINNED_CORE = 1;
const WARMUP_CALLS = sized(20_000, 100); // after them, the just-in-time compiler of the peer has done its work

export async function run(report) {
  const folder = new DataFolder();
  for (const [size, tool] of [['short', posthorn.shortReply], ['typical', posthorn.typicalReply]]) {
    const peer = await stdioPeerOf(folder.stdio, tool);
    const compare = async (name, window, core, bounds) => {
      const call = (command, called) => drive('stdio_load',
        { ...called, window, core, warmupCalls: WARMUP_CALLS, durationMs: DURATION_MS }, command);
      const found = await interleaved(ROUNDS, { ours: () => call(folder.stdio, tool), peer: () => call(peer, everything.tool) });
      print(report, name, found, bounds);
    };
    await compare(`${size} reply, window 16`, 16, undefined, { atLeast: 1.5, aim: 2.5 });
    await compare(`${size} reply, window 1, one core`, 1, PINNED_CORE, { atLeast: 2.5 });
  }
}

// On one core and with one call in flight, a quiet machine needs about this time for a call. Unlike the rate it hardly depends on
// other load.
const bothUs = ({ serverCpuUs, driverCpu, callsPerSecond }) => serverCpuUs + (driverCpu * 1e6) / callsPerSecond;

function print(report, name, { ours, peer }, bounds) {
  const bytes = equalBytes(ours, peer);
  report.compare(name, ours.callsPerSecond, peer.callsPerSecond, 'calls/s', bounds);
  report.compare('  p99', ours.p99Us, peer.p99Us, 'µs');
  report.compare('  processor time of the server for a call', ours.serverCpuUs, peer.serverCpuUs, 'µs');
  report.compare('  processor time of server and generator for a call', bothUs(ours), bothUs(peer), 'µs');
  report.note(`  ${bytes}`);
}
