// The operator of an installation: one process of `posthorn admin --batch`, which answers a line for each command.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export class Operator {
  #child;
  #pending = [];
  #ended;

  constructor(binary, data, options = {}) {
    this.#child = spawn(binary, ['admin', '--batch', '--data', data], { stdio: ['pipe', 'pipe', 'inherit'], ...options });
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#pending.shift().resolve(JSON.parse(line)));
    this.#ended = new Promise((resolve) => this.#child.once('close', (code, signal) => {
      for (const { reject } of this.#pending) reject(new Error(`posthorn admin --batch ended (${code ?? signal})`));
      resolve(code ?? signal);
    }));
  }

  /** What the command prints, an error envelope included. */
  answer(line) {
    return new Promise((resolve, reject) => {
      this.#pending.push({ resolve, reject });
      this.#child.stdin.write(`${typeof line === 'string' ? line : JSON.stringify(line)}\n`);
    });
  }

  /** What the command prints; fails when it failed. */
  async run(...words) {
    const answer = await this.answer(words);
    if (answer.error) throw new Error(`posthorn admin ${words.join(' ')}: ${answer.error.message}`);
    return answer;
  }

  /** The exit status, once all commands are done. */
  close() {
    this.#child.stdin.end();
    return this.#ended;
  }
}
