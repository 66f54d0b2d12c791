// `posthorn mcp` as a host runs it, or as a host that has lost its mind: whole calls, and raw bytes.

import { spawn } from 'node:child_process';

const ANSWER_LIMIT_MS = 40_000;
const PROTOCOL = '2025-11-25';

export class StdioClient {
  /** Messages without a request of ours: notifications, and errors that name no request. */
  others = [];
  diagnostics = '';

  #child;
  #nextId = 1;
  #waiting = new Map();
  #partial = '';

  constructor(binary, args, environment) {
    this.#child = spawn(binary, ['mcp', ...args], { env: environment, stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child.stdin.on('error', () => {});
    this.#child.stdout.setEncoding('utf8').on('data', (text) => this.#take(text));
    this.#child.stderr.setEncoding('utf8').on('data', (text) => (this.diagnostics += text));
    /** Settles with the exit code or the signal. */
    this.ended = new Promise((resolve) => this.#child.once('close', (code, signal) => resolve(code ?? signal)));
    this.ended.then((how) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`posthorn mcp ended (${how}): ${this.diagnostics}`));
    });
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

  /** Sends a request; the answer is the whole message, result or error. */
  request(method, params, id = this.#nextId++) {
    this.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return this.answer(id, method);
  }

  /** The answer to a request that was written by hand. */
  answer(id, what = `request ${id}`) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no answer to ${what} in ${ANSWER_LIMIT_MS} ms`)), ANSWER_LIMIT_MS);
      const settled = (settle) => (value) => {
        clearTimeout(timer);
        settle(value);
      };
      this.#waiting.set(id, { resolve: settled(resolve), reject: settled(reject) });
    });
  }

  async initialize() {
    const client = { protocolVersion: PROTOCOL, capabilities: {}, clientInfo: { name: 'integration', version: '1' } };
    const { result } = await this.request('initialize', client);
    this.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
    return result;
  }

  /** Calls a tool: {ok, body}. */
  async tool(name, args = {}) {
    const message = await this.request('tools/call', { name, arguments: args });
    if (!message.result) throw new Error(`${name}: ${JSON.stringify(message.error)}`);
    return { ok: !message.result.isError, body: JSON.parse(message.result.content[0].text) };
  }

  /** The end of input, as a host that leaves in good order gives it. */
  close() {
    this.#child.stdin.end();
    return this.ended;
  }

  kill() {
    this.#child.kill('SIGKILL');
    return this.ended;
  }

  #take(text) {
    const lines = (this.#partial + text).split('\n');
    this.#partial = lines.pop();
    for (const line of lines) this.#takeMessage(JSON.parse(line));
  }

  #takeMessage(message) {
    const waiting = this.#waiting.get(message.id);
    if (message.method !== undefined || waiting === undefined) {
      this.others.push(message);
      return;
    }
    this.#waiting.delete(message.id);
    waiting.resolve(message);
  }
}
