// An installation of Posthorn for one test: a data folder and the programs that use it. Its end kills all of them, and fails the
// test when one was left behind.

import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { checkerOf } from '../openapi/replies.mjs';
import { Clock } from './clock.mjs';
import { HttpClient } from './http_client.mjs';
import { kill, parentOf, processesOf, until } from './processes.mjs';
import { StdioClient } from './stdio_client.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../..');
export const BINARY = process.env.POSTHORN_BIN ?? join(ROOT, 'build/release/posthorn');

const START_LIMIT_MS = 150_000;
const LOG_KEPT_LINES = 200;

export class Installation {
  #servers = [];
  #clients = [];
  #ends = [];
  #clock;

  /** `options` are environment variables without their prefix: {IDLE: 2, THREADS: 1}. */
  constructor(options = {}) {
    this.folder = realpathSync(mkdtempSync(join(tmpdir(), 'posthorn-integration-')));
    this.data = join(this.folder, 'data');
    // By this name the HTML process of this installation can be told from that of any other.
    const renderDir = join(this.folder, 'side');
    symlinkSync(join(ROOT, 'src/render/sidecar'), renderDir);
    const settings = { DATA: this.data, RENDER_DIR: renderDir, NODE: process.execPath, IDLE: 60, PG_BINDIR: process.env.POSTHORN_PG_BINDIR, ...options };
    this.environment = { PATH: process.env.PATH, HOME: this.folder };
    for (const [name, value] of Object.entries(settings)) {
      if (value !== undefined) this.environment[`POSTHORN_${name}`] = String(value);
    }
  }

  /** Gives a clock that moves the wall time of all that is started from now on, PostgreSQL included. */
  movableClock() {
    this.#clock = new Clock(`${this.folder}.clock`);
    Object.assign(this.environment, this.#clock.environment);
    return this.#clock;
  }

  /** Runs a command to its end: {code, stdout, stderr}. */
  run(...words) {
    return new Promise((resolve) => {
      const options = { env: this.environment, maxBuffer: 1 << 26 };
      const child = execFile(BINARY, words, options, (problem, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr }));
    });
  }

  async #json(...words) {
    const { code, stdout, stderr } = await this.run(...words);
    if (code !== 0) throw new Error(`posthorn ${words.join(' ')}: ${stderr}`);
    return JSON.parse(stdout);
  }

  admin(...words) {
    return this.#json('admin', ...words);
  }

  call(tool, args = {}) {
    return this.#json('call', tool, JSON.stringify(args));
  }

  stop() {
    return this.#json('stop');
  }

  /** A key of the default organization; of a brand when the options name one. */
  async key(...options) {
    return (await this.admin('key', 'create', '--rate-multiplier', '100000', ...options)).key;
  }

  async brandId() {
    return (await this.admin('brand', 'list')).data[0].brandId;
  }

  stdio(...args) {
    const client = new StdioClient([BINARY, 'mcp', ...args], this.environment);
    this.#clients.push(client);
    return client;
  }

  /** Starts `posthorn serve` on a port of the system's choice and waits until it listens. */
  async serve(...args) {
    const options = { env: this.environment, stdio: ['ignore', 'ignore', 'pipe'] };
    const server = new Server(spawn(BINARY, ['serve', '--listen', '127.0.0.1:0', ...args], options));
    this.#servers.push(server);
    await server.listening;
    return server;
  }

  // ---- What it consists of ----

  /** 0 when there is none. */
  get runnerPid() {
    return this.#named('runner.pid', this.runners());
  }

  get postmasterPid() {
    return this.#named('pg/data/postmaster.pid', this.postmasters());
  }

  /** A number left in a file may be anybody's by now, and it is going to be killed: it must be one of ours. */
  #named(file, ours) {
    const path = join(this.data, file);
    const pid = existsSync(path) ? Number(readFileSync(path, 'latin1').split('\n')[0]) : 0;
    return ours.some((process) => process.pid === pid) ? pid : 0;
  }

  get runnerLog() {
    const path = join(this.data, 'runner.log');
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  }

  /** The names of the messages in the capture outbox. */
  outbox() {
    const path = join(this.data, 'outbox/new');
    return existsSync(path) ? readdirSync(path) : [];
  }

  readMessage(name) {
    return readFileSync(join(this.data, 'outbox/new', name), 'utf8');
  }

  processes() {
    return processesOf(this.folder);
  }

  runners() {
    return this.processes().filter(({ command }) => / runner( |$)/.test(command));
  }

  /** A session has the command line of its parent from the fork until it has set its own title, so a child of one is none. */
  postmasters() {
    const servers = this.processes().filter(({ command }) => /\/postgres /.test(command));
    return servers.filter(({ pid }) => !servers.some((other) => other.pid === parentOf(pid)));
  }

  renderers() {
    return this.processes().filter(({ command }) => command.includes('main.mjs'));
  }

  // ---- Its end ----

  /** Ends with the installation, before its processes. */
  atEnd(end) {
    this.#ends.push(end);
  }

  /** Ends everything. Gives what should not be: processes still alive, output that is no message, reports of a sanitizer. */
  async dispose() {
    for (const end of this.#ends.splice(0)) await end();
    for (const client of this.#clients) await client.kill();
    for (const server of this.#servers) await server.stop();
    if (existsSync(this.data)) await this.run('stop');
    const orphans = await until('all processes are gone', () => this.processes().length === 0, 3000).then(() => [], () => this.processes());
    for (const { pid } of orphans) kill(pid);
    await until('killed processes are gone', () => this.processes().length === 0).catch(() => {});
    const said = [this.runnerLog, ...this.#clients.map(({ diagnostics }) => diagnostics)].flatMap((text) => text.split('\n'));
    const lines = [...said, ...this.#servers.flatMap(({ log }) => log)];
    this.#clock?.dispose();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
    const strays = this.#clients.flatMap((client) => client.strays);
    return [...orphans, ...strays, ...lines.filter((line) => /Sanitizer|runtime error:/.test(line))];
  }
}

class Server {
  log = [];
  #child;

  constructor(child) {
    this.#child = child;
    this.ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)));
    this.listening = new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`the server does not listen: ${this.log.join('\n')}`)), START_LIMIT_MS);
      this.ended.then((how) => reject(new Error(`the server ended (${how}): ${this.log.join('\n')}`)));
      createInterface({ input: child.stderr }).on('line', (line) => {
        this.log.push(line);
        if (this.log.length > LOG_KEPT_LINES) this.log.shift();
        const port = /"event":"serve\.listening".*"port":(\d+)/.exec(line)?.[1];
        if (port === undefined) return;
        clearTimeout(timer);
        this.port = Number(port);
        resolve();
      });
    });
    this.listening.catch(() => {});
  }

  get pid() {
    return this.#child.pid;
  }

  client(key, headers = {}, connections = 1) {
    const sent = key === undefined ? headers : { authorization: `Bearer ${key}`, ...headers };
    return new HttpClient(this.port, sent, connections, checkerOf(BINARY));
  }

  /** Stops reading its standard error. */
  ignoreLog() {
    this.#child.stderr.pause();
  }

  kill() {
    this.#child.kill('SIGKILL');
    return this.ended;
  }

  async stop() {
    this.#child.kill('SIGTERM');
    const late = setTimeout(() => this.#child.kill('SIGKILL'), 15_000);
    const how = await this.ended;
    clearTimeout(late);
    return how;
  }
}

/** A test's installation, disposed of when the test ends; what it leaves behind fails the test. */
export function installationFor(test, options) {
  const installation = new Installation(options);
  test.after(async () => {
    const left = await installation.dispose();
    if (left.length > 0) throw new Error(`left behind: ${JSON.stringify(left)}`);
  });
  return installation;
}
