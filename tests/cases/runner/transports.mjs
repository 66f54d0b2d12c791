// The transports of the product, each as call(operation, args, idempotencyKey) → { ok, status?, body }.
import { spawn, execFile } from 'node:child_process';
import { createInterface } from 'node:readline';
import { asRequest, takesDetail, toolFor } from './catalogue.mjs';

const PROTOCOL = '2025-11-25';

// Tools show the whole result, so that it can be compared with that of the other transports.
function toolArguments(catalogue, reach, args, idempotencyKey) {
  const all = { ...args, ...reach.choose };
  if (takesDetail(catalogue, reach.tool)) all.detail = 'full';
  if (idempotencyKey !== undefined) all.idempotencyKey = idempotencyKey;
  return all;
}

function toolAnswer(result) {
  const text = result.content[0].text;
  const body = JSON.parse(text);
  if (result.isError) return { ok: false, body };
  if (JSON.stringify(result.structuredContent) !== JSON.stringify(body)) throw new Error('structuredContent and text differ');
  return { ok: true, body };
}

// MCP over standard input and output, as the local owner.
export class StdioTransport {
  name = 'stdio';
  usesTools = true;

  constructor(catalogue, binary, options) {
    this.catalogue = catalogue;
    this.waiting = new Map();
    this.nextId = 1;
    this.child = spawn(binary, ['mcp', ...options], { stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface({ input: this.child.stdout }).on('line', (line) => {
      const message = JSON.parse(line);
      this.waiting.get(message.id)?.(message);
      this.waiting.delete(message.id);
    });
    this.child.on('exit', () => this.waiting.forEach((settle) => settle({ error: { message: 'the process ended' } })));
  }

  request(method, params) {
    const id = this.nextId++;
    const answer = new Promise((settle) => this.waiting.set(id, settle));
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return answer;
  }

  async open() {
    await this.request('initialize', { protocolVersion: PROTOCOL, capabilities: {}, clientInfo: { name: 'cases', version: '1' } });
    this.child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  }

  async call(operation, args, idempotencyKey) {
    const reach = toolFor(this.catalogue, operation.id);
    const message = await this.request('tools/call', { name: reach.tool.name, arguments: toolArguments(this.catalogue, reach, args, idempotencyKey) });
    if (!message.result) throw new Error(`stdio: ${JSON.stringify(message.error)}`);
    return toolAnswer(message.result);
  }

  close() {
    const ended = new Promise((settle) => this.child.on('exit', settle));
    this.child.stdin.end();
    return ended;
  }
}

// MCP over HTTP, stateless (2026-07-28).
export class McpHttpTransport {
  name = 'mcp';
  usesTools = true;

  constructor(catalogue, base, key) {
    Object.assign(this, { catalogue, base, key });
  }

  async open() {}

  async call(operation, args, idempotencyKey) {
    const reach = toolFor(this.catalogue, operation.id);
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'cases', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const response = await fetch(`${this.base}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': reach.tool.name,
        authorization: `Bearer ${this.key}`,
      },
      body: JSON.stringify({
        jsonrpc: '2.0', id: 1, method: 'tools/call',
        params: { name: reach.tool.name, arguments: toolArguments(this.catalogue, reach, args, idempotencyKey), _meta: meta },
      }),
    });
    const text = await response.text();
    const data = text.split('\n').filter((line) => line.startsWith('data: {')).pop();
    const message = JSON.parse(data ? data.slice(6) : text);
    if (!message.result) throw new Error(`mcp: HTTP ${response.status} ${text.slice(0, 500)}`);
    return toolAnswer(message.result);
  }

  async close() {}
}

export class RestTransport {
  name = 'rest';
  usesTools = false;

  constructor(catalogue, base, credential, judge) {
    Object.assign(this, { base, credential, judge });
  }

  async open() {}

  async call(operation, args, idempotencyKey) {
    const { method, path, body } = asRequest(operation, args);
    const headers = { ...this.credential };
    if (body !== undefined) headers['content-type'] = 'application/json';
    if (idempotencyKey !== undefined) headers['idempotency-key'] = idempotencyKey;
    const response = await fetch(this.base + path, { method, headers, body: body && JSON.stringify(body) });
    const answer = { status: response.status, headers: Object.fromEntries(response.headers), body: await response.json() };
    const problem = this.judge(method, path, answer);
    if (problem) throw new Error(`rest: ${problem}`);
    return { ok: response.ok, status: answer.status, body: answer.body };
  }

  async close() {}
}

// posthorn call, a process a call.
export class CommandLineTransport {
  name = 'cli';
  usesTools = false;

  constructor(catalogue, binary, options) {
    Object.assign(this, { binary, options });
  }

  async open() {}

  call(operation, args, idempotencyKey) {
    const key = idempotencyKey !== undefined ? ['--idempotency-key', idempotencyKey] : [];
    return new Promise((settle, fail) => {
      const child = execFile(this.binary, ['call', operation.id, '-', ...key, ...this.options], { maxBuffer: 1 << 26 }, (problem, stdout, stderr) => {
        try {
          settle({ ok: !problem, body: JSON.parse(problem ? stderr.trim().split('\n').pop() : stdout) });
        } catch {
          fail(new Error(`cli: ${stderr || stdout}`));
        }
      });
      child.stdin.end(JSON.stringify(args));
    });
  }

  async close() {}
}

// include/posthorn.h, through a driver that takes a call a line.
export class EmbeddedTransport {
  name = 'embedded';
  usesTools = false;

  constructor(catalogue, driver, options) {
    this.waiting = [];
    this.child = spawn(driver, options, { stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface({ input: this.child.stdout }).on('line', (line) => this.waiting.shift()(JSON.parse(line)));
    this.child.on('exit', () => this.waiting.forEach((settle) => settle({ ok: false, body: { error: { code: 'DRIVER_ENDED' } } })));
  }

  async open() {}

  call(operation, args, idempotencyKey) {
    const answer = new Promise((settle) => this.waiting.push(settle));
    this.child.stdin.write(`${JSON.stringify({ name: operation.id, arguments: args, idempotencyKey })}\n`);
    return answer;
  }

  close() {
    const ended = new Promise((settle) => this.child.on('exit', settle));
    this.child.stdin.end();
    return ended;
  }
}
