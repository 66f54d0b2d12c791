// An MCP endpoint spoken to in raw bodies, with the headers a host sends: the session and the negotiated version on the
// legacy wire, the mirrored ones on the modern.

import assert from 'node:assert/strict';

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';

export class HttpPeer {
  #url;
  #headers;
  #session = {};

  constructor({ url, key }, headers) {
    this.#url = url;
    this.#headers = { ...headers, 'Content-Type': 'application/json', Authorization: `Bearer ${key}` };
  }

  /** Posts the bytes of one message; gives the status, and the message that answers it, from JSON or from a stream. */
  async post(body) {
    const message = JSON.parse(body);
    const headers = { ...this.#headers, ...this.#wireHeaders(message) };
    const response = await fetch(this.#url, { method: 'POST', headers, body });
    const reply = replyOf(response, await response.text(), message.id);

    if (message.method === 'initialize' && response.ok) this.#remember(response, reply);
    return { status: response.status, reply };
  }

  /** Ends the session, if the server gave one: its id is then unknown. */
  async endSession() {
    if (!this.#session['Mcp-Session-Id']) return;
    const headers = { ...this.#headers, ...this.#session };
    const ended = await fetch(this.#url, { method: 'DELETE', headers });
    assert.ok(ended.ok, `DELETE was answered with ${ended.status}`);

    const { status } = await this.post('{"jsonrpc":"2.0","id":99,"method":"ping"}');
    assert.equal(status, 404, `an ended session was answered with ${status}`);
  }

  #wireHeaders({ method, params }) {
    const version = params?._meta?.[VERSION_KEY];
    if (version === undefined) return method === 'initialize' ? {} : this.#session;

    const mirrored = { 'MCP-Protocol-Version': version, 'Mcp-Method': method };
    if (['tools/call', 'prompts/get'].includes(method)) mirrored['Mcp-Name'] = params.name;
    if (method === 'resources/read') mirrored['Mcp-Name'] = params.uri;
    return mirrored;
  }

  #remember(response, reply) {
    this.#session = { 'MCP-Protocol-Version': reply.result.protocolVersion };
    const id = response.headers.get('mcp-session-id');
    if (id) this.#session['Mcp-Session-Id'] = id;
  }
}

function replyOf(response, text, id) {
  const type = response.headers.get('content-type') ?? '';
  if (type.startsWith('application/json')) return JSON.parse(text);
  if (!type.startsWith('text/event-stream')) return undefined;

  const messages = text
    .split(/\r?\n\r?\n/)
    .map((event) => /^data: ?(.+)$/m.exec(event)?.[1])
    .filter(Boolean)
    .map((data) => JSON.parse(data));
  return messages.find((message) => message.id === id && message.method === undefined);
}
