// The HTTP client of the tests: whole calls over kept connections. raw_http.mjs sends what no HTTP library would send.

import { randomUUID } from 'node:crypto';
import http from 'node:http';

const ANSWER_LIMIT_MS = 150_000;

/** A client with the headers of one credential. It has one connection at a time unless `connections` says otherwise. */
export class HttpClient {
  #agent;

  /** `check` gives what is wrong with an answer, or null; see ../openapi/replies.mjs. */
  constructor(port, headers = {}, connections = 1, check = () => null) {
    this.port = port;
    this.check = check;
    this.headers = headers;
    this.#agent = new http.Agent({ keepAlive: true, maxSockets: connections });
  }

  /**
   * {status, headers, body}; the body parsed when it is JSON. Fails only when there is no answer. A list of buffers is sent in
   * chunks, without a length; a header of null is not sent.
   */
  request(method, path, body, headers = {}) {
    const inChunks = Array.isArray(body) && Buffer.isBuffer(body[0]);
    const asIs = body === undefined || typeof body === 'string' || Buffer.isBuffer(body) || inChunks;
    const payload = asIs ? body : JSON.stringify(body);
    const sent = { ...this.headers, ...headers };
    if (payload !== undefined) {
      if (sent['content-type'] === undefined) sent['content-type'] = 'application/json';
      if (inChunks) sent['transfer-encoding'] = 'chunked';
      else sent['content-length'] ??= Buffer.byteLength(payload);
    }
    for (const [name, value] of Object.entries(sent)) if (value === null) delete sent[name];
    return new Promise((resolve, reject) => {
      const options = { agent: this.#agent, host: '127.0.0.1', port: this.port, method, path, headers: sent };
      const request = http.request(options, (response) => {
        const chunks = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const answer = answerOf(response, Buffer.concat(chunks).toString());
          const problem = this.check(method, path, answer);
          problem ? reject(new Error(problem)) : resolve(answer);
        });
      });
      request.setTimeout(ANSWER_LIMIT_MS, () => request.destroy(new Error(`no answer to ${method} ${path} in ${ANSWER_LIMIT_MS} ms`)));
      request.on('error', reject);
      if (inChunks) for (const chunk of payload) request.write(chunk);
      request.end(inChunks ? undefined : payload);
    });
  }

  get(path, headers) {
    return this.request('GET', path, undefined, headers);
  }

  post(path, body, headers) {
    return this.request('POST', path, body, headers);
  }

  /** `post` of a call whose work may outlast it: repeats it under its key, as the refusal asks, until the work has ended. */
  async postToEnd(path, body, headers = { 'idempotency-key': randomUUID() }) {
    for (;;) {
      const answer = await this.post(path, body, headers);
      if (!/job is still running/.test(answer.body?.error?.message)) return answer;
    }
  }

  close() {
    this.#agent.destroy();
  }
}

function answerOf(response, text) {
  const isJson = (response.headers['content-type'] ?? '').startsWith('application/json');
  return { status: response.statusCode, headers: response.headers, body: isJson && text !== '' ? JSON.parse(text) : text };
}
