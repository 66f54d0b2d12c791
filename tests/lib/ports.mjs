// Ports for programs that must be told one. They lie below the range from which the kernel takes ports for connections and for
// listeners of port 0, so nothing that runs beside the test is given one between the choice and the start, or while a server is
// restarted.

import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';

const FIRST = 10_000;
const BELOW = 32_000; // Linux takes those of connections from 32768 on (ip_local_port_range)

function bindsTcp(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

function bindsUdp(port) {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    socket.once('error', () => socket.close(() => resolve(false)));
    socket.bind(port, '127.0.0.1', () => socket.close(() => resolve(true)));
  });
}

/** A port of loopback that is free for TCP and UDP. */
export async function freePort() {
  for (;;) {
    const port = randomInt(FIRST, BELOW);
    if ((await bindsTcp(port)) && (await bindsUdp(port))) return port;
  }
}
