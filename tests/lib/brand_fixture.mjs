// The fixture of most tests: a brand, its key, and its transports: REST, MCP over HTTP, MCP over stdio.

import assert from 'node:assert/strict';
import { McpHttpClient } from './mcp_http_client.mjs';
import { pause } from './processes.mjs';

const RATE_MULTIPLIER = ['--rate-multiplier', '100000'];

/** The answer to a call: {ok, body}, and `links` of a tool's result. Text and structured content must be the same. */
function readResult(name, message) {
  const { result } = message;
  if (result === undefined) return { ok: false, refusal: message.error };
  const [text, ...links] = result.content;
  const body = JSON.parse(text.text);
  if (result.isError) assert.equal(result.structuredContent, undefined, `${name}: an error has no structured content`);
  else assert.deepEqual(result.structuredContent, body, `${name}: structured content and text differ`);
  return { ok: !result.isError, body, links };
}

/** call(tool, args), list() and read(uri) of a client that has request(method, params). */
export function toolTransport(client) {
  return {
    call: async (name, args = {}) => readResult(name, await client.request('tools/call', { name, arguments: args })),
    list: async () => (await client.request('tools/list')).result.tools,
    read: async (uri) => (await client.request('resources/read', { uri })).result,
  };
}

/** call(method, path, body, headers) → {ok, status, headers, body}. */
export function restTransport(client) {
  return {
    call: async (method, path, body, headers) => {
      const answer = await client.request(method, path, body, headers);
      return { ...answer, ok: answer.status < 400 };
    },
  };
}

/** The transports of one key of a running server, with headers of their own. */
export function transportsOfKey(server, key, headers = {}) {
  const http = server.client(key, headers);
  return { rest: restTransport(http), mcp: toolTransport(new McpHttpClient(http)), close: () => http.close() };
}

export async function stdioTransport(installation, ...options) {
  const client = installation.stdio(...options);
  await client.initialize();
  return toolTransport(client);
}

/** A fresh brand with a key of its own. Options are those of `admin key create`. */
export async function makePlace(installation, server, ...options) {
  const { brandId } = await installation.admin('brand', 'create', 'Tools');
  const words = options.includes('--rate-multiplier') ? options : [...RATE_MULTIPLIER, ...options];
  const { key } = await installation.admin('key', 'create', '--brand', brandId, ...words);
  return { brandId, key, ...transportsOfKey(server, key) };
}

/**
 * Calls until the credential is refused. A call that began more than a second after `since` must not pass, however slow
 * the machine is; how long a call takes does not count.
 */
export async function assertRefusedWithinASecond(client, since) {
  for (;;) {
    const began = Date.now();
    const { status } = await client.get('/v1/usage');
    if (status === 401) return;
    assert.equal(status, 200);
    assert.ok(began - since <= 1000, `still let in ${began - since} ms after`);
    await pause(20);
  }
}

/** The body of a call that must succeed. */
export async function must(answer) {
  const { ok, body, refusal } = await answer;
  assert.ok(ok, JSON.stringify(refusal ?? body));
  return body;
}
