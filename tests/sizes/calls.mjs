// Calls of operations, over REST or as a tool: where an operation works (a brand of its own, or the one that is full), and what its
// answer must be.

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { asRequest, toolFor } from '../cases/runner/catalogue.mjs';
import { toolTransport } from '../lib/brand_fixture.mjs';
import { BINARY } from '../lib/installation.mjs';
import { McpHttpClient } from '../lib/mcp_http_client.mjs';
import { Resources } from '../lib/resource_kinds.mjs';
import { kindsOf } from './arguments.mjs';
import { Lost } from './lost.mjs';

/** The refusals of any call that no size may bring: the service failed, or said that it has no room for one call alone. */
const FAILURES = ['INTERNAL_ERROR', 'SERVICE_UNAVAILABLE', 'RATE_LIMITED'];
const ASKED_MAX = 40; // a busy machine is slow, and 40 waits are half an hour
const STILL_RUNNING = /job is still running/;
const OPENAPI = JSON.parse(readFileSync(join(dirname(BINARY), 'generated/catalogue/openapi.json'), 'utf8'));

const documented = ({ route }) => {
  const [method, path] = (route ?? ' ').split(' ');
  return OPENAPI.paths[path]?.[method.toLowerCase()];
};

/** The body of the documented example of a request. */
export const exampleOf = (operation) => documented(operation)?.requestBody?.content['application/json'].examples?.[operation.id]?.value
  ?? operation.example?.request ?? {};

/** What is wrong with an answer; null when it is a success or a declared refusal. */
export function problemOf(operation, { ok, status, body, refusal }) {
  if (ok) return null;
  const code = body?.error?.code;
  if (code === undefined) return `answered ${status ?? ''} ${JSON.stringify(refusal ?? body)?.slice(0, 200)}`;
  if (operation.errors?.includes(code)) return null;
  const declared = documented(operation)?.['x-errors'] ?? [code];
  return FAILURES.includes(code) || !declared.includes(code) && code !== 'RESPONSE_TOO_LARGE' ? `answered ${code}: ${body.error.message}` : null;
}

/** The operation that takes a design with a document. It is measured in a brand of its own. */
export const OF_DOCUMENTS = 'emails.change';

/** Where an operation is called: a brand, its resources, and who calls. */
export class Place {
  #client;
  #owner;
  #tools;
  #ownerTools; // a connection of a brand does not see the tools of its organization

  static async fresh(bounded) {
    const owner = bounded.client();
    const { status, body } = await owner.post('/v1/brands', { name: 'Sizes' });
    owner.close();
    if (status !== 201) throw new Error(`no brand: ${JSON.stringify(body)}`);
    return new Place(bounded, body.brandId);
  }

  constructor(bounded, brandId) {
    Object.assign(this, { bounded, brandId, ids: { brand: brandId }, plainIds: {} });
    this.#connect();
  }

  #connect() {
    this.pid = this.bounded.server.pid;
    this.#client = this.bounded.client({ 'x-brand-id': this.brandId });
    this.#owner = this.bounded.client();
    this.#tools = toolTransport(new McpHttpClient(this.#client));
    this.#ownerTools = toolTransport(new McpHttpClient(this.#owner));
    this.resources ??= new Resources({ get: (...args) => this.#client.get(...args), post: (...args) => this.#client.post(...args) }, this.brandId);
  }

  /** The server may have been started again since. */
  renew() {
    if (this.pid === this.bounded.server.pid) return;
    this.close();
    this.#connect();
  }

  /** Makes what the parameters of an operation may name. `ids` are the largest there are, `plainIds` those that any operation takes. */
  async prepare(operation) {
    for (const kind of kindsOf(operation)) {
      this.plainIds[kind] = await this.resources.id(kind);
      this.ids[kind] ??= this.plainIds[kind];
    }
    if (operation.id === OF_DOCUMENTS) this.ids.email = this.plainIds.email = await this.#designWithDocument();
  }

  /** Operations on blocks need one; an import has none. */
  async #designWithDocument() {
    const { status, body } = await this.#client.post('/v1/emails', { prompt: 'Say hello to the readers.' });
    if (status !== 201) throw new Error(`no design: ${JSON.stringify(body)}`);
    await this.bounded.settled();
    return body.emailId;
  }

  #headers({ reach }) {
    if (reach === 'session') return { authorization: null, 'x-brand-id': null, cookie: `__session=${this.bounded.cookie}` };
    return reach === 'organization' ? { 'x-brand-id': null } : {};
  }

  /** {ok, status, body}. A caller of a job that takes long asks again, as the answer says, until the job has ended. */
  async call(operation, args, transport = transportsOf(this.bounded.catalogue, operation)[0]) {
    const key = operation.mode === 'job' && operation.idempotencyKey ? randomUUID() : undefined;
    for (let asked = 1; ; asked++) {
      const answer = await this.#callOnce(operation, args, transport, key);
      if (key === undefined || asked === ASKED_MAX || !STILL_RUNNING.test(answer.body?.error?.message)) return answer;
      if (!this.bounded.isWhole) throw new Lost('runner ended');
    }
  }

  async #callOnce(operation, args, transport, key) {
    if (transport === 'mcp') {
      const { tool, choose } = toolFor(this.bounded.catalogue, operation.id);
      const tools = operation.reach === 'organization' ? this.#ownerTools : this.#tools;
      return tools.call(tool.name, { ...args, ...choose, ...(key && { idempotencyKey: key }) });
    }
    const { method, path, body } = asRequest(operation, args);
    const answer = await this.#client.request(method, path, body, { ...this.#headers(operation), ...(key && { 'idempotency-key': key }) });
    return { ...answer, ok: answer.status < 400 };
  }

  close() {
    this.#client.close();
    this.#owner.close();
  }
}

/** How an operation can be called; those that only links reach, not at all. */
export function transportsOf(catalogue, operation) {
  const reach = toolFor(catalogue, operation.id);
  return [...(operation.route !== null ? ['rest'] : []), ...(reach !== null && operation.reach !== 'session' ? ['mcp'] : [])];
}
