// The system's SpamAssassin (spamd) as the spam filter of a test, on loopback: Debian's own rules, without network and without learning, so
// that the same message always has the same score. Its settings and home are its own, in a temporary folder.

import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './ports.mjs';
import { isAlive, kill, until } from './processes.mjs';

const SPAMD = '/usr/sbin/spamd';
const PLUGINS = [
  'Check', 'MIMEHeader', 'ReplaceTags', 'HTTPSMismatch', 'URIDetail', 'BodyEval', 'HTMLEval', 'HeaderEval', 'MIMEEval', 'RelayEval', 'URIEval',
  'DNSEval', 'WLBLEval', 'ImageInfo', 'FreeMail',
];
const START_LIMIT_MS = 60_000;

/** Why spamd cannot be run here; undefined when it can. */
export function missingSpamd() {
  return existsSync(SPAMD) && existsSync('/usr/bin/spamc') ? undefined : 'SpamAssassin is not installed (tests/setup.sh installs it)';
}

export class Spamd {
  #process;

  async start() {
    this.folder = mkdtempSync(join(tmpdir(), 'posthorn-spamd-'));
    this.port = await freePort();
    chmodSync(this.folder, 0o755);
    mkdirSync(join(this.folder, 'site'));
    writeFileSync(join(this.folder, 'site/init.pre'), PLUGINS.map((name) => `loadplugin Mail::SpamAssassin::Plugin::${name}\n`).join(''));
    writeFileSync(join(this.folder, 'site/local.cf'), 'use_bayes 0\n');
    const user = process.getuid() === 0 ? ['--username=nobody'] : [];
    const words = ['--local', '--nouser-config', `--siteconfigpath=${join(this.folder, 'site')}`, `--listen=127.0.0.1:${this.port}`,
      '--allowed-ips=127.0.0.1', '--min-children=1', '--max-children=1', '--syslog=stderr', ...user];
    this.#process = spawn(SPAMD, words, { env: { ...process.env, HOME: this.folder }, stdio: ['ignore', 'ignore', 'pipe'] });
    let log = '';
    this.#process.stderr.on('data', (chunk) => (log += chunk));
    await until('spamd is ready', () => log.includes('successfully spawned child process') || !isAlive(this.#process.pid), START_LIMIT_MS);
    if (!isAlive(this.#process.pid)) throw new Error(`spamd has ended: ${log}`);
  }

  /** What spamc prints about a message: the score, the threshold, and the points of each rule. */
  judge(message) {
    const { stdout } = spawnSync('spamc', ['-R', '-d', '127.0.0.1', '-p', String(this.port)], { input: message, encoding: 'utf8' });
    const [, score, threshold] = /^(-?[\d.]+)\/(-?[\d.]+)$/m.exec(stdout);
    const table = stdout.slice(stdout.lastIndexOf('---- '));
    const rules = [...table.matchAll(/^ {0,4}(-?[\d.]+) (\w+) /gm)].map(([, points, name]) => [name, Number(points)]);
    return { score: Number(score), threshold: Number(threshold), rules: Object.fromEntries(rules) };
  }

  /** Ends spamd with its children; the port stays free. */
  async stop() {
    if (!this.#process) return;
    const { pid } = this.#process;
    kill(pid, 'SIGTERM');
    await until('spamd has ended', () => !isAlive(pid));
    this.#process = undefined;
  }

  async dispose() {
    await this.stop();
    if (this.folder) rmSync(this.folder, { recursive: true, force: true });
  }
}
