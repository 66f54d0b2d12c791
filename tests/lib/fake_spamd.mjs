// A spam filter with the protocol of spamd that answers, closes its connections, or holds them until it is told to answer.

import { createServer } from 'node:net';

const BODY = ' pts rule name              description\n---- ---------------------- ------\n';
const REPORT = `SPAMD/1.1 0 EX_OK\r\nContent-length: ${BODY.length}\r\nSpam: False ; 0.1 / 5.0\r\n\r\n${BODY}`;

export class FakeSpamd {
  /** answer, close or hold. */
  mode = 'answer';
  #held = new Set();
  #open = new Set();
  #server = createServer((socket) => this.#take(socket));

  async start() {
    await new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  async stop() {
    for (const socket of this.#open) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** As --spam takes it. */
  get address() {
    return `spamd:127.0.0.1:${this.#server.address().port}`;
  }

  /** The connections that wait for an answer. */
  get held() {
    return this.#held.size;
  }

  /** Answers what is held, and everything that comes later. */
  release() {
    this.mode = 'answer';
    for (const socket of this.#held) socket.end(REPORT);
    this.#held.clear();
  }

  #take(socket) {
    this.#open.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => { this.#open.delete(socket); this.#held.delete(socket); });
    socket.resume();
    if (this.mode === 'close') socket.destroy();
    else if (this.mode === 'answer') socket.end(REPORT);
    else this.#held.add(socket);
  }
}
