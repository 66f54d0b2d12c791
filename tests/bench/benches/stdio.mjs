// One cheap tool over stdio: a window of 16 calls, and one call at a time with both sides on one core, where no cross-core
// wake-up blurs the figure. Our get_capabilities beside the reference server's echo.

import { DURATION_MS, DataFolder, ROUNDS, drive, everything, interleaved, posthorn } from '../programs.mjs';

const PINNED_CORE = 1;

// Enough for a just-in-time compiler to have warmed up.
const WARMUP_CALLS = 20_000;

export async function run(report) {
  const folder = new DataFolder();
  const call = (command, tool, window, core) => drive('stdio_load',
    { ...tool, window, core, warmupCalls: WARMUP_CALLS, durationMs: DURATION_MS }, command);
  const compare = (window, core) => interleaved(ROUNDS, {
    ours: () => call(folder.stdio, posthorn.cheapTool, window, core),
    peer: () => call(everything.stdio, everything.cheapTool, window, core),
  });

  const wide = await compare(16);
  report.compare('window 16, server-everything echo', wide.ours.callsPerSecond, wide.peer.callsPerSecond, 'calls/s', { atLeast: 1.5, aim: 2.5 });
  report.compare('p99', wide.ours.p99Us, wide.peer.p99Us, 'µs');
  report.note(`the generator beside ours: ${wide.ours.driverCpu.toFixed(2)} cores`);

  const single = await compare(1, PINNED_CORE);
  report.compare('window 1, pinned to one core', single.ours.callsPerSecond, single.peer.callsPerSecond, 'calls/s', { atLeast: 2.5 });
  report.compare('p99', single.ours.p99Us, single.peer.p99Us, 'µs');
}
