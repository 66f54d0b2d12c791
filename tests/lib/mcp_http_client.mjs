// MCP over HTTP as a stateless client of 2026-07-28 speaks it: a POST a request, whatever the key may see.

const PROTOCOL = '2026-07-28';
const META = {
  'io.modelcontextprotocol/protocolVersion': PROTOCOL,
  'io.modelcontextprotocol/clientInfo': { name: 'integration', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

export class McpHttpClient {
  #http;

  /** `http` is an HttpClient that carries the credential. */
  constructor(http) {
    this.#http = http;
  }

  /** The whole message, result or error. */
  async request(method, params = {}) {
    const headers = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': PROTOCOL, 'mcp-method': method };
    const name = params.name ?? params.uri;
    if (name !== undefined) headers['mcp-name'] = name;
    const message = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } };
    const { status, body } = await this.#http.post('/mcp', message, headers);
    const answer = typeof body === 'string' ? lastEvent(body) : body;
    if (answer?.jsonrpc !== '2.0') throw new Error(`${method}: HTTP ${status} ${JSON.stringify(body)}`);
    return answer;
  }
}

/** An answer that came as an event stream: its last event is the response. */
function lastEvent(text) {
  const data = text.split('\n').filter((line) => line.startsWith('data: {')).pop();
  return data && JSON.parse(data.slice('data: '.length));
}
