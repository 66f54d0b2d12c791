// A DNS server on loopback: dnsmasq with the zone "test", or with the records that a test publishes.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { freePort } from './ports.mjs';
import { isAlive, kill, until } from './processes.mjs';

// plain: an MX. long: so many that an answer over UDP is truncated. null: no mail at all. implicit: only an address.
// empty: a name without either. silent: a server that is not there is asked for it. xn--mnchen-3ya: münchen.
const ZONE = [
  'local=/test/',
  'mx-host=plain.test,mx.plain.test,10',
  'mx-host=xn--mnchen-3ya.test,mx.plain.test,10',
  ...Array.from({ length: 30 }, (_, i) => `mx-host=long.test,mx-number-${i}-of-a-long-list.long.test,${i}`),
  'dns-rr=null.test,15,000000',
  'host-record=implicit.test,192.0.2.1',
  'txt-record=empty.test,nothing else',
  'server=/silent.test/127.0.0.1#1',
];

export class NameServer {
  #process;

  /** `zone`: lines of its configuration. */
  static async prepare(zone = ZONE) {
    const server = new NameServer();
    server.port = await freePort();
    server.folder = mkdtempSync(join(tmpdir(), 'posthorn-dns-'));
    server.configuration = join(server.folder, 'dnsmasq.conf');
    server.#write(zone);
    return server;
  }

  #write(zone) {
    const lines = [`port=${this.port}`, 'listen-address=127.0.0.1', 'bind-interfaces', 'no-resolv', 'no-hosts', 'no-poll', `user=${userInfo().username}`, ...zone];
    writeFileSync(this.configuration, `${lines.join('\n')}\n`);
  }

  /** What --dns-servers takes. */
  get place() {
    return `127.0.0.1:${this.port}`;
  }

  async start() {
    const path = `${process.env.PATH}:/usr/sbin`;
    const options = { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, PATH: path } };
    this.#process = spawn('dnsmasq', ['--keep-in-foreground', '--log-facility=-', `--conf-file=${this.configuration}`], options);
    let log = '';
    this.#process.stderr.on('data', (chunk) => (log += chunk));
    await until('dnsmasq is ready', () => log.includes('started'));
  }

  /** From now on it knows this instead, under the same address. */
  async publish(zone) {
    await this.stop();
    this.#write(zone);
    await this.start();
  }

  async stop() {
    if (this.#process && isAlive(this.#process.pid)) {
      kill(this.#process.pid, 'SIGTERM');
      await until('dnsmasq has ended', () => !isAlive(this.#process.pid));
    }
  }

  async dispose() {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
