// An IMAP server that misbehaves, on loopback. It lets everybody in. `answers` gives, for a command in capitals (SELECT, UID SEARCH, UID
// FETCH, LIST), what the server writes: a text, or a function of the socket, the tag and the line. Without one the command succeeds
// with nothing.

import { createServer } from 'node:net';
import { createInterface } from 'node:readline';

const nameOf = (line) => /^\S+ (UID \w+|\w+)/i.exec(line)?.[1].toUpperCase() ?? '';

export class FakeImap {
  #sockets = new Set();

  static async start(answers) {
    const server = new FakeImap();
    server.commands = [];
    server.listener = createServer((socket) => server.#serve(socket, answers));
    await new Promise((resolve) => server.listener.listen(0, '127.0.0.1', resolve));
    server.port = server.listener.address().port;
    return server;
  }

  #serve(socket, answers) {
    this.#sockets.add(socket);
    socket.on('error', () => {}).on('close', () => this.#sockets.delete(socket));
    socket.write('* OK ready\r\n');
    createInterface({ input: socket }).on('error', () => {}).on('line', (line) => {
      const [tag, name] = [line.split(' ')[0], nameOf(line)];
      this.commands.push(name);
      const answer = answers[name];
      if (typeof answer === 'function') answer(socket, tag, line);
      else socket.write(`${answer ?? (name === 'CAPABILITY' ? '* CAPABILITY IMAP4rev1\r\n' : '')}${tag} OK done\r\n`);
    });
  }

  close() {
    for (const socket of this.#sockets) socket.destroy();
    return new Promise((resolve) => this.listener.close(resolve));
  }
}

/** Writes lines without end, for as long as the other side reads. */
export function writeWithoutEnd(socket, line) {
  const lines = Buffer.from(line.repeat(500));
  const more = () => {
    while (!socket.destroyed && socket.write(lines));
  };
  socket.on('drain', more);
  more();
}
