// A driver program that answers JSON lines: one reply for each request, in order. Most drivers are in C (tests/drivers).

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export class Driver {
  #process;
  #waiting = [];

  /**
   * @param {string} path the driver's binary
   * @param {string[]} [args]
   * @param {'inherit' | 'ignore'} [complaints] what happens to its standard error
   */
  constructor(path, args = [], complaints = 'inherit') {
    this.#process = spawn(path, args, { stdio: ['pipe', 'pipe', complaints] });
    createInterface({ input: this.#process.stdout }).on('line', (line) => this.#waiting.shift()?.resolve(JSON.parse(line)));
    this.#process.on('exit', (code) => {
      for (const { reject } of this.#waiting) reject(new Error(`the driver ended with ${code}`));
      this.#waiting = [];
    });
  }

  ask(request) {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#process.stdin.write(`${JSON.stringify(request)}\n`);
    });
  }

  close() {
    this.#process.stdin.end();
  }
}
