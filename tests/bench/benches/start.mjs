// The time from spawning the process to the first tools/list on stdio, and to the first tool call ever, which creates the database.

import { DataFolder, drive, everything, interleaved, median, resend, ROUNDS, sized } from '../programs.mjs';

const FIRST_CALLS = sized(3, 1);
const STARTS = sized(Math.max(7, ROUNDS), 1);

export async function run(report) {
  const folder = new DataFolder();
  const start = (command) => () => drive('stdio_load', {}, command);
  const found = await interleaved(STARTS, {
    ours: start(folder.stdio),
    everything: start(everything.stdio),
    resend: start(resend.stdio),
  });
  report.compare('to tools/list, server-everything', found.ours.startMs, found.everything.startMs, 'ms', { atMost: 1 / 10 });
  report.compare('to tools/list, resend-mcp', found.ours.startMs, found.resend.startMs, 'ms', { atMost: 1 / 25 });

  const firstCalls = [];
  for (let i = 0; i < FIRST_CALLS; i++) firstCalls.push(await firstCallEver());
  report.limit('first tool call ever, initdb included', median(firstCalls), 's', { atMost: 5 });
}

async function firstCallEver() {
  const folder = new DataFolder();
  const { sinceSpawnMs } = await drive('stdio_load',
    { tool: 'save_contact', arguments: '{"email":"a@example.com"}', calls: 1 }, folder.stdio);
  folder.end();
  return sinceSpawnMs / 1000;
}
