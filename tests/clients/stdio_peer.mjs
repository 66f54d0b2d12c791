// A server process spoken to in raw lines: bytes in, JSON-RPC lines out, and nothing else on its standard output.

import { spawn } from 'node:child_process';
import { withLimit } from './report.mjs';

const REPLY_LIMIT_MS = 20_000;
const EXIT_WAIT_MS = 5_000;

export class StdioPeer {
  /** Lines on standard output that are no JSON-RPC message. */
  strays = [];

  #child;
  #replies = new Map();
  #waiting = new Map();
  #partial = '';
  #quietSinceMs = 0;
  #exit;

  constructor([command, ...args]) {
    this.#child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] });
    this.#child.stdin.on('error', () => {});
    this.#child.stdout.setEncoding('utf8').on('data', (chunk) => this.#take(chunk));
    this.#exit = new Promise((resolve, reject) => {
      this.#child.once('error', reject);
      this.#child.once('close', (code, signal) => {
        if (this.#partial !== '') this.strays.push(this.#partial);
        const left = new Error(`the server left (${code ?? signal}) without answering`);
        for (const wait of this.#waiting.values()) wait.reject(left);
        resolve({ code: code ?? signal, afterMs: Date.now() - this.#quietSinceMs });
      });
    });
    this.#exit.catch(() => {});
  }

  write(bytes) {
    this.#child.stdin.write(bytes);
  }

  /** Ends the server's input. */
  end() {
    if (this.#child.stdin.writableEnded) return;
    this.#quietSinceMs = Date.now();
    this.#child.stdin.end();
  }

  /** The reply with this id, of this very type: 1 is not "1". */
  reply(id) {
    const key = JSON.stringify(id);
    if (this.#replies.has(key)) return Promise.resolve(this.#replies.get(key));

    const answered = new Promise((resolve, reject) => this.#waiting.set(key, { resolve, reject }));
    return withLimit(Promise.race([answered, this.#exit.then(() => answered)]), REPLY_LIMIT_MS);
  }

  /** Exit code, and how long after the end of input and the last output it came. */
  exited() {
    return withLimit(this.#exit, EXIT_WAIT_MS);
  }

  kill() {
    this.#child.kill('SIGKILL');
  }

  #take(chunk) {
    this.#quietSinceMs = Date.now();
    const lines = (this.#partial + chunk).split('\n');
    this.#partial = lines.pop();
    for (const line of lines) this.#takeLine(line);
  }

  #takeLine(line) {
    const message = parsed(line);
    if (message?.jsonrpc !== '2.0') {
      this.strays.push(line);
      return;
    }
    if (message.id === undefined || message.method !== undefined) return;

    const key = JSON.stringify(message.id);
    this.#replies.set(key, message);
    this.#waiting.get(key)?.resolve(message);
    this.#waiting.delete(key);
  }
}

function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
