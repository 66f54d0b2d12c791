// A PostgreSQL server for a test, beside the private one of Posthorn: --database names it, and the test may stop and start it.

import { execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive, kill, until } from './processes.mjs';

const VERSIONS = '/usr/lib/postgresql';

/** The newest PostgreSQL that Debian installed, or the one in PATH. */
function programs() {
  const versions = existsSync(VERSIONS) ? readdirSync(VERSIONS).map(Number).sort((a, b) => b - a) : [];
  const found = versions.map((version) => join(VERSIONS, String(version), 'bin')).find((folder) => existsSync(join(folder, 'initdb')));
  return (name) => (found ? join(found, name) : name);
}

/** PostgreSQL does not run as root. */
function serverUser() {
  if (process.getuid() !== 0) return {};
  const users = readFileSync('/etc/passwd', 'utf8').split('\n').map((line) => line.split(':'));
  const [, , uid, gid] = users.find(([name]) => name === 'postgres');
  return { uid: Number(uid), gid: Number(gid) };
}

export class Postgres {
  #program = programs();
  #user = serverUser();
  #process;
  /** What the server is started with. */
  environment = process.env;

  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'posthorn-pg-'));
    this.data = join(this.folder, 'data');
    mkdirSync(this.data, { mode: 0o700 });
    if (this.#user.uid !== undefined) for (const path of [this.folder, this.data]) chownSync(path, this.#user.uid, this.#user.gid);
    const options = ['-D', this.data, '--username=posthorn', '--auth=trust', '--no-locale', '--encoding=UTF8', '--no-sync'];
    execFileSync(this.#program('initdb'), options, { ...this.#user, cwd: this.folder, stdio: 'ignore' });
  }

  get url() {
    return `host='${this.folder}' dbname=postgres user=posthorn`;
  }

  get pid() {
    return this.#process?.pid;
  }

  async start() {
    this.#spawn();
    await until('PostgreSQL is ready', () => {
      // A new server refuses to start as long as a session of a killed one lives.
      if (!isAlive(this.pid)) this.#spawn();
      return this.#isReady();
    });
  }

  #spawn() {
    const options = ['-D', this.data, '-k', this.folder, '-c', 'listen_addresses='];
    this.#process = spawn(this.#program('postgres'), options, { ...this.#user, env: this.environment, cwd: this.folder, stdio: 'ignore' });
  }

  /** A killed server leaves its file behind. */
  #isReady() {
    const file = join(this.data, 'postmaster.pid');
    const lines = existsSync(file) ? readFileSync(file, 'latin1').split('\n') : [];
    return Number(lines[0]) === this.pid && lines.some((line) => line.startsWith('ready'));
  }

  /** Ends it by a signal: SIGINT is its fast shutdown, SIGQUIT the immediate one. */
  async end(signal) {
    if (!this.#process || !isAlive(this.pid)) return;
    kill(this.pid, signal);
    await until('PostgreSQL has ended', () => !isAlive(this.pid));
  }

  async dispose() {
    await this.end('SIGQUIT');
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
