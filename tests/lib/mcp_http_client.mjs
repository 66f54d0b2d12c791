// The MCP client over HTTP. `request` sends one request of the stateless protocol of 2026-07-28. `post` sends a message as it is
// written, with the headers that a host sends for it: the session of the legacy protocol, or the mirrored fields of the new one.

import assert from 'node:assert/strict';

const PROTOCOL = '2026-07-28';
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
/** What every request of 2026-07-28 carries. */
export const metaOf = (capabilities = {}) => ({
  [VERSION_KEY]: PROTOCOL,
  'io.modelcontextprotocol/clientInfo': { name: 'integration', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': capabilities,
});
const ACCEPT = { accept: 'application/json, text/event-stream' };
/** The methods whose target is repeated in a header, with the parameter that names it. */
const MIRRORED = { 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri' };

export class McpHttpClient {
  #http;
  #headers;
  #meta;
  #session = {};

  /** `http` is an HttpClient that carries the credential; `headers` are sent with every message, `capabilities` with every request. */
  constructor(http, headers = {}, capabilities = {}) {
    this.#http = http;
    this.#headers = { ...ACCEPT, ...headers };
    this.#meta = metaOf(capabilities);
  }

  /** Sends a request. Gives the whole message of its answer, result or error. */
  async request(method, params = {}) {
    const message = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: this.#meta } };
    const { status, reply, body } = await this.post(JSON.stringify(message));
    if (reply?.jsonrpc !== '2.0') throw new Error(`${method}: HTTP ${status} ${JSON.stringify(body)}`);
    return reply;
  }

  /** Posts the text of one message: {status, body, reply}, where `reply` is the message that answers it. */
  async post(text) {
    const message = JSON.parse(text);
    const headers = { ...this.#headers, ...this.#headersOf(message) };
    const { status, headers: received, body } = await this.#http.post('/mcp', text, headers);
    const reply = typeof body === 'string' ? replyIn(body, message.id) : body;
    if (message.method === 'initialize' && status === 200) this.#remember(received, reply);
    return { status, body, reply };
  }

  /** Ends the session, if the server made one. Its id must then be unknown. */
  async endSession() {
    if (!this.#session['mcp-session-id']) return;
    const { status } = await this.#http.request('DELETE', '/mcp', undefined, { ...this.#headers, ...this.#session });
    assert.ok(status < 300, `DELETE was answered with ${status}`);
    const after = await this.post('{"jsonrpc":"2.0","id":99,"method":"ping"}');
    assert.equal(after.status, 404, `an ended session was answered with ${after.status}`);
  }

  #headersOf({ method, params }) {
    const version = params?._meta?.[VERSION_KEY];
    if (version === undefined) return method === 'initialize' ? {} : this.#session;
    const headers = { 'mcp-protocol-version': version, 'mcp-method': method };
    if (method in MIRRORED) headers['mcp-name'] = params[MIRRORED[method]];
    return headers;
  }

  #remember(headers, reply) {
    this.#session = { 'mcp-protocol-version': reply.result.protocolVersion };
    const id = headers['mcp-session-id'];
    if (id) this.#session['mcp-session-id'] = id;
  }
}

/** The response with this id in an event stream; undefined when there is none. */
function replyIn(text, id) {
  const events = text.split(/\r?\n\r?\n/).map((event) => /^data: ?(.+)$/m.exec(event)?.[1]).filter(Boolean);
  return events.map((data) => JSON.parse(data)).find((message) => message.id === id && message.method === undefined);
}
