// The programs that a bench runs: our binary on a fresh data folder, the peers, and the load drivers. cleanUp() ends every program
// that was started here.

import { execFile, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, chmodSync, existsSync, openSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { isRunning, processTreeOf } from './process_tree.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const built = path.join(root, 'build/bench');

// The shortest form of every bench: it shows that the bench works, and its figures are not measurements.
export const QUICK = process.env.BENCH_QUICK === '1';
export const ROUNDS = QUICK ? 1 : Math.max(3, Number(process.env.BENCH_ROUNDS ?? 5));
export const DURATION_MS = Math.round(1000 * Number(process.env.BENCH_SECONDS ?? (QUICK ? 0.2 : 3)));
export const WARMUP_MS = QUICK ? 50 : 500;

// A number of rows, calls or rounds. A quick run uses the second number.
export const sized = (full, quick) => (QUICK ? quick : full);
// The same with an environment variable that overrides both.
export const sizedBy = (variable, full, quick) => Number(process.env[variable] ?? sized(full, quick));

const READY_WAIT_MS = 30_000;
const COMMAND_WAIT_MS = 180_000; // an import of 100,000 contacts on a busy machine
const GOODBYE_WAIT_MS = 12_000; // a server may finish its calls in ten seconds

const log = process.env.BENCH_LOG ? openSync(process.env.BENCH_LOG, 'a') : 'ignore';

// The POSTHORN_ variables of the caller are removed, so they cannot change a measurement.
export const environment = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('POSTHORN_'))),
  RESEND_API_KEY: 're_dummy', // resend-mcp does not start without one; no call uses it
};

// Neither call reads the database. The overview is what an agent reads first, and stands for the product's longer replies. The topic
// has the shortest reply of all topics.
const STRUCTURED = '"structuredContent":{';
export const posthorn = {
  binary: path.resolve(root, process.env.POSTHORN_BIN ?? 'build/release/posthorn'),
  shortReply: { tool: 'get_capabilities', arguments: '{"topic":"analytics"}', marker: STRUCTURED },
  typicalReply: { tool: 'get_capabilities', arguments: '{}', marker: STRUCTURED },
};

const peer = (script, ...args) => [process.execPath, path.join(built, 'peers/node_modules', script), ...args];
const withEnvironment = (variables, command) =>
  ['/usr/bin/env', '-i', ...Object.entries(variables).map(([name, value]) => `${name}=${value}`), ...command];

// The reference server of MCP. Its tool get-env returns the variables of its environment as JSON text. So `padding` sets the size of
// the reply, while the request stays as short as ours. With echo the request would be as long as the reply, at the same or a higher
// processor time.
const EVERYTHING = '@modelcontextprotocol/server-everything/dist/index.js';
export const everything = {
  stdio: peer(EVERYTHING, 'stdio'),
  stdioPadded: (padding) => withEnvironment({ PADDING: padding }, peer(EVERYTHING, 'stdio')),
  http: (port, padding) => withEnvironment({ PORT: port, PADDING: padding }, peer(EVERYTHING, 'streamableHttp')),
  tool: { tool: 'get-env', arguments: '{}', marker: 'PADDING' },
};

export const resend = {
  stdio: peer('resend-mcp/dist/index.js'),
};

// ---- Ending programs ----

const running = new Set(); // functions that end a program, synchronously

export function cleanUp() {
  for (const end of [...running].reverse()) end();
  running.clear();
}

function registerEnd(end) {
  const once = () => {
    if (running.delete(once)) end();
  };
  running.add(once);
  return once;
}

// Blocks until `isDone` or the time is over. Programs are also ended while this process exits, when it can await nothing.
function waitFor(isDone) {
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  for (const deadline = Date.now() + GOODBYE_WAIT_MS; !isDone() && Date.now() < deadline;) Atomics.wait(sleeper, 0, 0, 20);
}

// ---- Drivers ----

// Runs a load driver to its end and gives its figures. Options are { warmupMs: 500 } for --warmup-ms 500.
export async function drive(driver, options, command = []) {
  const flags = flagsOf(options);
  return JSON.parse(await runToEnd([path.join(built, driver), ...(command.length > 0 ? [...flags, '--', ...command] : flags)]));
}

// The same for a driver in JavaScript, beside the packages of the peers.
export async function drivePeer(script, options) {
  return JSON.parse(await runToEnd([process.execPath, path.join(built, 'peers', script), ...flagsOf(options)]));
}

const flagsOf = (options) => Object.entries(options).filter(([, value]) => value !== undefined)
  .flatMap(([name, value]) => [`--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`, String(value)]);

// Runs a program to its end and gives its output.
export async function runToEnd([program, ...args]) {
  const child = execFile(program, args, { env: environment, timeout: 2 * COMMAND_WAIT_MS, maxBuffer: 16 << 20 });
  const end = registerEnd(() => child.kill());
  try {
    return await outputOf(child, path.basename(program));
  } finally {
    end();
  }
}

function outputOf(child, name) {
  let out = '';
  let complaint = '';
  child.stdout.on('data', (text) => { out += text; });
  child.stderr.on('data', (text) => { complaint = (complaint + text).slice(-2000); });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status) => (status === 0 ? resolve(out) : reject(new Error(`${name}: ${complaint.trim() || `status ${status}`}`))));
  });
}

// Measures the sides in turns, A B A B, and gives the median of each figure of each side.
export async function interleaved(rounds, sides) {
  const found = Object.fromEntries(Object.keys(sides).map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, measure] of Object.entries(sides)) found[name].push(await measure());
  }
  return Object.fromEntries(Object.entries(found).map(([name, results]) => [name, medians(results)]));
}

function medians(results) {
  return Object.fromEntries(Object.keys(results[0]).map((key) => [key, median(results.map((result) => result[key]))]));
}

// The value that `share` of the values do not exceed.
export function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// ---- Servers ----

export async function freePort() {
  const listener = net.createServer();
  await new Promise((resolve) => { listener.listen(0, '127.0.0.1', resolve); });
  const { port } = listener.address();
  await new Promise((resolve) => { listener.close(resolve); });
  return port;
}

// Gives a process that is a session of its own a lower priority. Linux may count nice values within sessions only; the session then
// has one, too (autogroup, sched(7)).
export function lowerPriority(pid, nice) {
  os.setPriority(pid, nice);
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(nice));
  } catch {
    // This kernel has no groups of sessions.
  }
}

// Starts a server and waits until its port answers. Gives { pid, port, end }. As a service it is a session of its own.
export async function serve(port, [program, ...args]) {
  const child = spawn(program, args, { env: environment, stdio: ['ignore', log, log], detached: true });
  const end = registerEnd(() => {
    child.kill();
    waitFor(() => !isRunning(child.pid));
  });
  let gone;
  child.on('error', (error) => { gone = error.message; });
  child.on('exit', (status, signal) => { gone ??= `it ended with ${signal ?? `status ${status}`}`; });

  for (const deadline = Date.now() + READY_WAIT_MS; !(await answers(port)); await sleep(50)) {
    if (gone !== undefined) throw new Error(`${path.basename(program)} ${args.join(' ')}: ${gone} (BENCH_LOG=FILE keeps what it says)`);
    if (Date.now() > deadline) throw new Error(`${path.basename(program)}: no answer on port ${port} within ${READY_WAIT_MS / 1000} s`);
  }
  return { pid: child.pid, port, end };
}

function answers(port) {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.on('connect', () => { socket.destroy(); resolve(true); });
    socket.on('error', () => resolve(false));
  });
}

export async function serveEverything(padding) {
  const port = await freePort();
  return serve(port, everything.http(port, padding));
}

// A server in JavaScript, beside the packages of the peers.
export function servePeer(script, port, ...args) {
  return serve(port, [process.execPath, path.join(built, 'peers', script), String(port), ...args.map(String)]);
}

export async function serveBare({ pool, reply, database }) {
  const port = await freePort();
  const flags = ['--port', port, '--pool', pool, '--reply', reply, ...(database ? ['--database', database] : [])];
  return serve(port, [path.join(built, 'bare_server'), ...flags.map(String)]);
}

// ---- The sink ----

// A mail server that accepts and counts every message. It is faster than the senders, so it does not limit their rates. A `record` is
// a file that gets a line for each message (tests/sink/record.c).
export class Sink {
  static async start({ record } = {}) {
    const binary = path.join(path.dirname(posthorn.binary), 'posthorn-sink');
    if (!existsSync(binary)) throw new Error(`there is no ${path.relative(root, binary)}; build it beside the release binary`);
    const child = spawn(binary, [...(record ? ['--record', record] : ['--count-only']), '--port', '0'], { env: environment, stdio: ['pipe', 'pipe', log] });
    const sink = new Sink(child);
    ({ port: sink.port } = JSON.parse(await sink.#line()));
    return sink;
  }

  constructor(child) {
    this.child = child;
    this.lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    this.end = registerEnd(() => child.kill());
  }

  // The messages it has accepted since its start: { messages, bytes, … }.
  async stats() {
    this.child.stdin.write('stats\n');
    return JSON.parse(await this.#line());
  }

  async #line() {
    const { value, done } = await this.lines.next();
    if (done) throw new Error('posthorn-sink ended (BENCH_LOG=FILE keeps what it says)');
    return value;
  }
}

// ---- Our binary ----

// A fresh data folder and the commands of the binary on it, with these settings (POSTHORN_…). Its end stops the runner and removes
// the folder.
export class DataFolder {
  constructor(settings = {}) {
    this.environment = { ...environment, ...settings };
    if (!existsSync(posthorn.binary)) throw new Error(`there is no ${path.relative(root, posthorn.binary)}; build it or set POSTHORN_BIN`);
    // Under root, the private cluster runs as another user, who needs access to the folder. Its socket path must be short.
    this.parent = mkdtempSync(path.join(os.tmpdir(), 'phb-'));
    chmodSync(this.parent, 0o755);
    this.path = path.join(this.parent, 'data');
    this.end = registerEnd(() => this.#remove());
  }

  get stdio() {
    return [posthorn.binary, 'mcp', '--data', this.path];
  }

  // Runs `posthorn ARGS --data DIR` and gives its JSON.
  async command(...args) {
    const { stdout } = await promisify(execFile)(posthorn.binary, [...args, '--data', this.path],
      { env: this.environment, timeout: COMMAND_WAIT_MS, maxBuffer: 16 << 20 });
    return JSON.parse(stdout);
  }

  // `posthorn serve` with these options, and a key with very high rate limits. Gives { pid, port, header, end }.
  async serve(...options) {
    const { data: brands } = await this.command('admin', 'brand', 'list');
    const { key } = await this.command('admin', 'key', 'create', '--scopes', 'all', '--rate-multiplier', '1000000',
      '--brand', brands[0].brandId);
    const port = await freePort();
    const server = await serve(port, [posthorn.binary, 'serve', '--data', this.path, '--listen', `127.0.0.1:${port}`, ...options]);
    return { ...server, header: `Authorization: Bearer ${key}` };
  }

  #remove() {
    spawnSync(posthorn.binary, ['stop', '--data', this.path], { env: environment, stdio: ['ignore', log, log], timeout: COMMAND_WAIT_MS });
    waitFor(() => processTreeOf(this.path).length === 0);
    for (const { pid, name } of processTreeOf(this.path)) {
      console.error(`${name} (${pid}) stayed after posthorn stop; it is killed`);
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended in the meantime.
      }
    }
    rmSync(this.parent, { recursive: true, force: true });
  }
}
