// A scripted server of an embedding model on loopback, in the form of /v1/embeddings. A text becomes a vector of the words that it
// has: `axes` maps words to axes, so that words of one axis mean the same.

import http from 'node:http';

export class EmbeddingServer {
  #server;
  #held = [];
  /** The requests so far: {headers, body}. */
  requests = [];
  /** What the next answers are: 'vectors', 'away' (503), 'refuses' (400), 'hangs', or a function of the vectors that returns the body or a promise of it. */
  mode = 'vectors';

  constructor(axes) {
    this.axes = axes;
  }

  async start() {
    this.#server = http.createServer((request, response) => this.#take(request, response));
    await new Promise((resolve) => { this.#server.listen(0, '127.0.0.1', resolve); });
    this.url = `http://127.0.0.1:${this.#server.address().port}/v1`;
    return this;
  }

  stop() {
    this.#server.closeAllConnections();
    return new Promise((resolve) => { this.#server.close(resolve); });
  }

  get texts() {
    return this.requests.flatMap(({ body }) => body.input);
  }

  vector(text) {
    const words = text.toLowerCase().split(/[^\p{L}]+/u);
    const numbers = this.axes.map((axis) => words.filter((word) => axis.includes(word)).length);
    return [...numbers, 0.1];
  }

  async #take(request, response) {
    const parts = [];
    response.on('error', () => {});
    for await (const part of request) parts.push(part);
    const body = JSON.parse(Buffer.concat(parts).toString());
    this.requests.push({ path: request.url, headers: request.headers, body });
    if (this.mode === 'hangs') return this.#held.push(response);
    if (this.mode === 'away') return response.writeHead(503, { 'retry-after': '60' }).end();
    if (this.mode === 'refuses') return response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"No."}}');
    const data = body.input.map((text, index) => ({ object: 'embedding', index, embedding: this.vector(text) }));
    const answer = { object: 'list', data: data.reverse(), model: body.model, usage: { prompt_tokens: 7, total_tokens: 7 } };
    const sent = typeof this.mode === 'function' ? await this.mode(answer) : answer;
    return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(sent));
  }
}
