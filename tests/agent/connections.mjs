// The ways an assistant reaches the server, and what its host shows it of a result. A lens is one combination: transport, era, members
// of a result that the model sees, capabilities of the client.

import { McpHttpClient, metaOf } from '../lib/mcp_http_client.mjs';
import { callOperation } from './operations.mjs';

const MODERN = '2026-07-28';
const CLIENT = { name: 'agent', version: '1' };
const FORMS = { elicitation: { form: {} } };

/**
 * `shows` is 'structured' or 'text': hosts show a model one of them. The first lens is the one that budgets are measured with; none of
 * them reads resources, but for those with `resources`.
 */
export const LENSES = [
  { name: 'structured, 2026-07-28 over HTTP', transport: 'http', version: MODERN, shows: 'structured', resources: true },
  { name: 'text, 2025-11-25 over HTTP', transport: 'http', version: '2025-11-25', shows: 'text', resources: false },
  { name: 'structured, 2026-07-28 over stdio', transport: 'stdio', version: MODERN, shows: 'structured', resources: false },
  { name: 'text, 2024-11-05 over stdio', transport: 'stdio', version: '2024-11-05', shows: 'text', resources: false },
];

/** Lenses of a client that can show a question by itself, for jobs that send. */
export const FORM_LENSES = [
  { name: 'a form, 2026-07-28 over HTTP', transport: 'http', version: MODERN, shows: 'text', resources: false, capabilities: FORMS },
  { name: 'a form, 2025-11-25 over stdio', transport: 'stdio', version: '2025-11-25', shows: 'text', resources: false, capabilities: FORMS },
];

/**
 * An open connection of the place's player: request(method, params) → the whole answering message, close(). A server that asks during a
 * call gets the answer of `serve(method, params)`.
 */
export async function connect(place, lens, serve) {
  const connection = await (lens.transport === 'http' ? connectHttp(place, lens) : connectStdio(place, lens, serve));
  const http = clientOf(place);
  return {
    request: async (method, params) => (method === 'tools/call' && (await callOperation(http, params.name, params.arguments))) || connection.request(method, params),
    close: async () => {
      http.close();
      await connection.close();
    },
  };
}

const clientOf = (place) => place.places.server.client(place.key, place.brandId ? { 'x-brand-id': place.brandId } : {});

async function connectHttp(place, { version, capabilities = {} }) {
  const http = clientOf(place);
  const client = new McpHttpClient(http, {}, capabilities);
  const close = () => http.close();
  if (version === MODERN) return { request: (method, params) => client.request(method, params), close };
  let id = 0;
  const request = async (method, params = {}) => (await client.post(JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params }))).reply;
  await request('initialize', { protocolVersion: version, capabilities, clientInfo: CLIENT });
  await client.post('{"jsonrpc":"2.0","method":"notifications/initialized"}');
  return { request, close };
}

async function connectStdio(place, { version, capabilities = {} }, serve) {
  const client = place.places.installation.stdio('--brand', place.brandId);
  if (capabilities.elicitation) client.serve = serve;
  const close = () => client.close();
  if (version === MODERN) {
    const _meta = metaOf(capabilities);
    return { request: (method, params = {}) => client.request(method, { ...params, _meta }), close };
  }
  await client.request('initialize', { protocolVersion: version, capabilities, clientInfo: CLIENT });
  client.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  return { request: (method, params = {}) => client.request(method, params), close };
}

// ---- Lenses ----

/** What the model sees of the message that answers a call: {ok, value, error, bytes, asks}. */
export function see(message, lens) {
  const { result } = message;
  if (result === undefined) return refusal({ ...message.error?.data?.error, message: message.error.message }, JSON.stringify(message.error));
  if (result.resultType === 'input_required') return { ok: true, asks: result, bytes: Buffer.byteLength(JSON.stringify(result.inputRequests)) };
  const text = result.content.find(({ type }) => type === 'text')?.text ?? '';
  // The text of an error is all that a host has of it.
  if (result.isError) return refusal(JSON.parse(text).error, text);
  const shown = lens.shows === 'structured' ? JSON.stringify(result.structuredContent) : text;
  return { ok: true, value: JSON.parse(shown), bytes: Buffer.byteLength(shown) };
}

const refusal = (error, text) => ({ ok: false, error, bytes: Buffer.byteLength(text) });
