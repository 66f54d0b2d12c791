// A Valkey or Redis server for a test: the shared store of rate limits.

import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './ports.mjs';
import { isAlive, kill, until } from './processes.mjs';

export const PASSWORD = 'st0re-s3cret';

// Debian has the server in redis-tools too, under the name of its tool for checking files.
const PROGRAM = spawnSync('valkey-server', ['--version']).status === 0 ? 'valkey-server' : '/usr/bin/redis-check-rdb';

const accepts = (port) => new Promise((resolve) => {
  const socket = net.connect(port, '127.0.0.1');
  socket.on('connect', () => resolve(true) ?? socket.destroy());
  socket.on('error', () => resolve(false));
});

export class RedisServer {
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
