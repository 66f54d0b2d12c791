// A client of LMTP (RFC 2033) that sends what a test tells it to.

import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

export class LmtpClient {
  #socket;
  #lines;

  /** `place`: a port on loopback, or the path of a unix socket. */
  static async open(place) {
    const client = new LmtpClient();
    client.#socket = typeof place === 'string' ? connect(place) : connect(place, '127.0.0.1');
    client.#socket.on('error', () => {});
    await once(client.#socket, 'connect');
    client.#lines = createInterface({ input: client.#socket })[Symbol.asyncIterator]();
    client.greeting = await client.reply();
    return client;
  }

  /** The next reply, its lines joined; undefined at the end of the connection. */
  async reply() {
    const lines = [];
    for (;;) {
      const { value, done } = await this.#lines.next();
      if (done) return undefined;
      lines.push(value);
      if (value[3] !== '-') return lines.join('\n');
    }
  }

  write(text) {
    this.#socket.write(text);
  }

  async command(line) {
    this.write(`${line}\r\n`);
    return this.reply();
  }

  /** Sends a message to recipients that are accepted; gives a reply for each. */
  async deliver(recipients, message) {
    await this.command('MAIL FROM:<>');
    for (const recipient of recipients) {
      const answer = await this.command(`RCPT TO:<${recipient}>`);
      if (!answer.startsWith('250')) throw new Error(`${recipient}: ${answer}`);
    }
    await this.command('DATA');
    this.write(`${message.replace(/\r?\n/g, '\r\n').replace(/^\./gm, '..')}\r\n.\r\n`);
    const replies = [];
    for (const _ of recipients) replies.push(await this.reply());
    return replies;
  }

  close() {
    this.#socket.destroy();
  }
}
