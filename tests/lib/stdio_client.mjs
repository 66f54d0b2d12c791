// The MCP client over standard input and output: whole calls, and bytes that the test writes itself.

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';

const ANSWER_LIMIT_MS = 150_000;
const PROTOCOL = '2025-11-25';

export class StdioClient {
  /** Messages that answer no request of ours so far: notifications, errors without an id, replies to bytes written by hand. */
  others = [];
  /** Lines on standard output that are no message. A server must write none. */
  strays = [];
  diagnostics = '';
  /** Answers requests of the server: serve(method, params) → result. Without it they are among the others. */
  serve;

  #child;
  #nextId = 1;
  #waiting = new Map();
  #wanted = [];
  #partial = '';
  #exit;

  /** `command` is the program and its arguments. */
  constructor([program, ...args], environment = process.env) {
    this.#child = spawn(program, args, { env: environment, stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child.stdin.on('error', () => {});
    this.#child.stdout.setEncoding('utf8').on('data', (text) => this.#take(text));
    this.#child.stderr.setEncoding('utf8').on('data', (text) => (this.diagnostics += text));
    /** Settles with the exit code or the signal. */
    this.ended = new Promise((resolve) => this.#child.once('close', (code, signal) => resolve(code ?? signal)));
    this.ended.then((how) => this.#finish(how));
  }

  get pid() {
    return this.#child.pid;
  }

  get output() {
    return this.#child.stdout;
  }

  write(bytes) {
    return new Promise((resolve) => this.#child.stdin.write(bytes, () => resolve()));
  }

  /** Sends a request. Gives the whole message of its answer, result or error. */
  request(method, params, id = this.#nextId++) {
    this.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return this.answer(id, method);
  }

  /** The answer to a request that was written by hand, whether it has come or not. Its id has the same type: 1 is not "1". */
  answer(id, what = `request ${id}`) {
    const index = this.others.findIndex((message) => message.id === id && message.method === undefined);
    if (index >= 0) return Promise.resolve(this.others.splice(index, 1)[0]);
    if (this.#exit !== undefined) return Promise.reject(this.#left());
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no answer to ${what} in ${ANSWER_LIMIT_MS} ms`)), ANSWER_LIMIT_MS);
      const settled = (settle) => (value) => {
        clearTimeout(timer);
        settle(value);
      };
      this.#waiting.set(id, { resolve: settled(resolve), reject: settled(reject) });
    });
  }

  /** The next request or notification of the server with this method, whether it has come or not. */
  asked(method) {
    const index = this.others.findIndex((message) => message.method === method);
    if (index >= 0) return Promise.resolve(this.others.splice(index, 1)[0]);
    if (this.#exit !== undefined) return Promise.reject(this.#left());
    return new Promise((resolve, reject) => this.#wanted.push({ method, resolve, reject }));
  }

  async initialize(capabilities = {}) {
    const client = { protocolVersion: PROTOCOL, capabilities, clientInfo: { name: 'integration', version: '1' } };
    const { result } = await this.request('initialize', client);
    this.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
    return result;
  }

  /** Calls a tool: {ok, body}. */
  async tool(name, args = {}, meta = undefined) {
    const message = await this.request('tools/call', { name, arguments: args, _meta: meta });
    if (!message.result) throw new Error(`${name}: ${JSON.stringify(message.error)}`);
    return { ok: !message.result.isError, body: JSON.parse(message.result.content[0].text) };
  }

  /** Calls a tool whose work may outlast the call: repeats it under its key, as the refusal asks, until the work has ended. `meta` goes with the first call. */
  async toolToEnd(name, args = {}, meta = undefined) {
    const keyed = { idempotencyKey: randomUUID(), ...args };
    for (let first = true; ; first = false) {
      const answer = await this.tool(name, keyed, first ? meta : undefined);
      if (answer.ok || answer.body.error.code !== 'SERVICE_UNAVAILABLE') return answer;
    }
  }

  /** Ends the input, as a host does that leaves in good order, and waits for the process. */
  close() {
    this.#child.stdin.end();
    return this.ended;
  }

  kill() {
    this.#child.kill('SIGKILL');
    return this.ended;
  }

  #finish(how) {
    this.#exit = how;
    if (this.#partial !== '' && how === 0) this.strays.push(this.#partial);
    for (const { reject } of [...this.#waiting.values(), ...this.#wanted]) reject(this.#left());
  }

  #left() {
    return new Error(`the server ended (${this.#exit}) without an answer: ${this.diagnostics}`);
  }

  async #answerServer({ id, method, params }) {
    const result = await this.serve(method, params);
    this.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
  }

  #take(text) {
    const lines = (this.#partial + text).split('\n');
    this.#partial = lines.pop();
    for (const line of lines) this.#takeLine(line);
  }

  #takeLine(line) {
    const message = parsed(line);
    if (message?.jsonrpc !== '2.0') {
      this.strays.push(line);
      return;
    }
    if (this.serve !== undefined && message.method !== undefined && message.id !== undefined) {
      this.#answerServer(message);
      return;
    }
    const waiting = message.method === undefined ? this.#waiting.get(message.id) : undefined;
    if (waiting === undefined) {
      const index = this.#wanted.findIndex(({ method }) => method === message.method);
      if (index >= 0) this.#wanted.splice(index, 1)[0].resolve(message);
      else this.others.push(message);
      return;
    }
    this.#waiting.delete(message.id);
    waiting.resolve(message);
  }
}

function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
