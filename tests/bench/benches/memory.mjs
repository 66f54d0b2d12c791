// Memory of the stdio server when idle and after many calls, and of all processes of one data folder.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import readline from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

import { stdioPeerOf } from '../equal_replies.mjs';
import { newsletter } from '../newsletter.mjs';
import { processTreeOf } from '../process_tree.mjs';
import { DataFolder, drive, environment, everything, interleaved, posthorn, sized } from '../programs.mjs';

const ROUNDS = sized(3, 1);
const CALLS = sized(100_000, 500);
const WARMUP_CALLS = sized(1000, 100);
const ANSWER_WAIT_MS = 60_000;
const GOODBYE_WAIT_MS = 3_000;

export async function run(report) {
  const folder = new DataFolder();
  const peer = await stdioPeerOf(folder.stdio, posthorn.typicalReply);
  const measure = (command, tool) => drive('stdio_load',
    { ...tool, window: 16, idleMs: 1000, warmupCalls: WARMUP_CALLS, calls: CALLS }, command);
  const found = await interleaved(ROUNDS, {
    ours: () => measure(folder.stdio, posthorn.typicalReply),
    peer: () => measure(peer, everything.tool),
  });
  const growth = ({ endRssKb, warmRssKb }) => (endRssKb - warmRssKb) / 1024;
  report.limit('idle RSS after tools/list (peer: server-everything)', found.ours.idleRssKb / 1024, 'MB', { atMost: 16 }, found.peer.idleRssKb / 1024);
  report.limit(`growth over ${CALLS.toLocaleString('en-US')} calls`, growth(found.ours), 'MB', { atMost: 2 }, growth(found.peer));

  const processes = await processesAtWork(folder);
  const total = processes.reduce((sum, { pssKb }) => sum + pssKb, 0);
  report.limit('PSS of all processes of one data folder', total / 1024, 'MB', {});
  report.note(byName(processes));
}

// The processes that run one second after a client has saved a contact and imported an email.
async function processesAtWork(folder) {
  const client = new StdioClient(folder.stdio);
  try {
    await client.request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'memory', version: '1' } });
    client.notify('notifications/initialized');
    await client.call('save_contact', { email: 'a@example.com' });
    await client.call('import_email', newsletter());
    await sleep(1000);
    return processTreeOf(folder.path);
  } finally {
    await client.close();
  }
}

function byName(processes) {
  return Object.entries(Object.groupBy(processes, (it) => it.name)).map(([name, members]) => {
    const mb = members.reduce((sum, { pssKb }) => sum + pssKb, 0) / 1024;
    return `${name}${members.length > 1 ? ` ×${members.length}` : ''} ${mb.toFixed(1)} MB`;
  }).join(' · ');
}

// A client that makes one call at a time.
class StdioClient {
  #nextId = 1;

  constructor([program, ...args]) {
    this.child = spawn(program, args, { env: environment, stdio: ['pipe', 'pipe', 'ignore'] });
    this.lines = readline.createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }

  notify(method) {
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method })}\n`);
  }

  async request(method, params) {
    const id = this.#nextId++;
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    for (;;) {
      const { value: line, done } = await Promise.race([this.lines.next(), sleep(ANSWER_WAIT_MS, { done: true }, { ref: false })]);
      if (done) throw new Error(`${method}: no answer`);
      const message = JSON.parse(line);
      if (message.id !== id) continue;
      if (message.result === undefined) throw new Error(`${method}: ${message.error?.message}`);
      return message.result;
    }
  }

  async call(name, args) {
    const result = await this.request('tools/call', { name, arguments: args });
    if (result.isError) throw new Error(`${name}: ${result.content?.[0]?.text}`);
    return result;
  }

  // Closes the server's input and waits until the server has ended.
  async close() {
    this.child.stdin.end();
    await Promise.race([once(this.child, 'exit'), sleep(GOODBYE_WAIT_MS, undefined, { ref: false })]);
    this.child.kill('SIGKILL');
  }
}
