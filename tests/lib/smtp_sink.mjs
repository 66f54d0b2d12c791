// The SMTP sink (tests/sink) as a relay of a test: the kernel chooses its port, commands change how it behaves, and it reports the
// messages that it accepted. It ends with its standard input, so it never outlives the test.

import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { BINARY } from './installation.mjs';

export class Sink {
  #child;
  #waiting = [];
  #recordFile;
  #readBytes = 0;

  /** Writes what it takes into `recordFile`, or counts only. */
  static async start({ recordFile, seed = 1, port = 0, options = [] } = {}) {
    const sink = new Sink();
    const words = ['--port', port, '--seed', seed, ...(recordFile ? ['--record', recordFile] : ['--count-only']), ...options];
    sink.#recordFile = recordFile;
    sink.#child = spawn(join(dirname(BINARY), 'posthorn-sink'), words.map(String), { stdio: ['pipe', 'pipe', 'inherit'] });
    sink.#child.stdin.on('error', () => {});
    sink.ended = new Promise((resolve) => sink.#child.once('close', (code, signal) => resolve(code ?? signal)));
    sink.ended.then((how) => sink.#waiting.forEach(({ reject }) => reject(new Error(`the sink ended (${how})`))));
    const hello = sink.#answer();
    createInterface({ input: sink.#child.stdout }).on('line', (line) => sink.#waiting.shift()?.resolve(JSON.parse(line)));
    sink.port = (await hello).port;
    return sink;
  }

  #answer() {
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  #say(line) {
    const answer = this.#answer();
    this.#child.stdin.write(`${line}\n`);
    return answer;
  }

  /** Its address for --relay; one that stalls is noticed within seconds. */
  url(query = 'connections=10&timeout=5&final_timeout=10') {
    return `smtp://127.0.0.1:${this.port}?tls=none&${query}`;
  }

  stats() {
    return this.#say('stats');
  }

  /** Changes how it behaves, such as 'stall on' or 'drop-after-dot 0.01'. */
  async behave(command) {
    const { done } = await this.#say(command);
    if (!done) throw new Error(`the sink does not know: ${command}`);
  }

  /** What was recorded since the last call: {atNs, session, recipient, messageId, replied}; sessions are unique among sinks. */
  takeRecords() {
    const text = existsSync(this.#recordFile) ? readFileSync(this.#recordFile, 'latin1') : '';
    const lines = text.slice(this.#readBytes).split('\n').slice(0, -1);
    this.#readBytes = text.length;
    return lines.map((line) => {
      const [atNs, session, recipient, messageId, reply] = line.split(' ');
      return { atNs: BigInt(atNs), session: `${this.#recordFile}/${session}`, recipient, messageId, replied: reply === '250' };
    });
  }

  /** How many messages it has recorded, whether it still lives or not. */
  recordedCount() {
    return existsSync(this.#recordFile) ? readFileSync(this.#recordFile, 'latin1').split('\n').length - 1 : 0;
  }

  kill() {
    this.#child.kill('SIGKILL');
    return this.ended;
  }

  async stop() {
    this.#child.stdin.end();
    const late = setTimeout(() => this.#child.kill('SIGKILL'), 5000);
    await this.ended;
    clearTimeout(late);
  }
}
