// A Valkey or Redis server of a test's own, and two servers of ours that count their calls in it.

import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installationFor } from './installation.mjs';
import { Postgres } from './postgres.mjs';
import { isAlive, kill, until } from './processes.mjs';

export const PASSWORD = 'st0re-s3cret';

// Debian has the server in redis-tools too, under the name of its tool for checking files.
const PROGRAM = spawnSync('valkey-server', ['--version']).status === 0 ? 'valkey-server' : '/usr/bin/redis-check-rdb';

async function freePort() {
  const listener = net.createServer();
  await new Promise((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address();
  await new Promise((resolve) => listener.close(resolve));
  return port;
}

const accepts = (port) => new Promise((resolve) => {
  const socket = net.connect(port, '127.0.0.1');
  socket.on('connect', () => resolve(true) ?? socket.destroy());
  socket.on('error', () => resolve(false));
});

export class LimitStore {
  #process;

  folder = mkdtempSync(join(tmpdir(), 'posthorn-limits-'));

  get address() {
    return `redis://:${PASSWORD}@127.0.0.1:${this.port}/1`;
  }

  /** Starts it, empty, where it was before. */
  async begin() {
    this.port ??= await freePort();
    const options = { '--port': this.port, '--bind': '127.0.0.1', '--requirepass': PASSWORD, '--save': '', '--dir': this.folder };
    this.#process = spawn(PROGRAM, Object.entries(options).flat().map(String), { argv0: 'redis-server', stdio: 'ignore' });
    await until('the limit store listens', () => accepts(this.port), 60_000);
  }

  signal(name) {
    kill(this.#process.pid, name);
  }

  async kill() {
    this.signal('SIGKILL');
    await until('the limit store is gone', () => !isAlive(this.#process.pid), 60_000);
  }

  async dispose() {
    if (this.#process) await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Two servers on one database and one limit store. Made where a test's end can be told of, started before the first test. */
export class Pair {
  #postgres = new Postgres();
  store = new LimitStore();

  constructor(test) {
    test.after(() => this.#postgres.dispose());
    test.after(() => this.store.dispose());
    this.installation = installationFor(test, { DATABASE: this.#postgres.url });
  }

  async start() {
    await Promise.all([this.store.begin(), this.#postgres.start()]);
    this.installation.environment.POSTHORN_LIMIT_STORE = this.store.address;
    this.servers = [await this.installation.serve(), await this.installation.serve()];
  }
}
