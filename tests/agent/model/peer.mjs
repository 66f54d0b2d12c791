// The same model on a peer's server: Resend's MCP server from npm, which tests/bench/run.sh installs. It runs only when RESEND_API_KEY
// names an account for tests. A job that exists there has `peer`: its brief, and a check of the end state by Resend's own API.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Assistant } from '../assistant.mjs';
import { StdioClient } from '../../lib/stdio_client.mjs';
import { converse } from './loop.mjs';

const SERVER = join(import.meta.dirname, '../../../build/bench/peers/node_modules/resend-mcp/dist/index.js');
const API = 'https://api.resend.com';
const TRIES = 3;

/** Null when there is no key or no package. */
export async function peerFrom({ RESEND_API_KEY }) {
  return RESEND_API_KEY && existsSync(SERVER) ? { name: 'resend-mcp', key: RESEND_API_KEY } : null;
}

/** Results of the peer are texts, not JSON. */
class PeerAssistant extends Assistant {
  async attempt(tool, args) {
    const { result, error } = await this.connection.request('tools/call', { name: tool, arguments: args });
    const text = error ? error.message : result.content.map((part) => part.text ?? '').join('\n');
    const ok = !error && !result.isError;
    this.trace.push({ tool, args, ok, bytes: Buffer.byteLength(text) });
    return ok ? { ok, value: text } : { ok, error: { message: text } };
  }
}

async function tryOnce(peer, job, model, tag) {
  const client = new StdioClient([process.execPath, SERVER], { ...process.env, RESEND_API_KEY: peer.key });
  const player = new PeerAssistant(client, null, () => 'yes');
  const api = async (path) => (await fetch(`${API}${path}`, { headers: { authorization: `Bearer ${peer.key}` } })).json();
  try {
    const { instructions = '' } = await client.initialize();
    const { tools } = (await client.request('tools/list', {})).result;
    await converse(model, { instructions, tools, brief: job.peer.brief(tag) }, player);
    await job.peer.check(api, tag);
    return { done: true, ...player.figures, tokens: player.tokens };
  } catch {
    return { done: false, ...player.figures, tokens: player.tokens ?? 0 };
  } finally {
    await client.close();
  }
}

/** Three tries: {successes, tries, calls, errors, tokens}. */
export async function tryPeer(peer, job, model) {
  const tries = [];
  for (let i = 0; i < TRIES; i++) tries.push(await tryOnce(peer, job, model, `t${Date.now().toString(36)}`));
  const mean = (what) => Math.round(tries.reduce((sum, one) => sum + one[what], 0) / TRIES);
  return { successes: tries.filter(({ done }) => done).length, tries: TRIES, calls: mean('calls'), errors: mean('errors'), tokens: mean('tokens') };
}
