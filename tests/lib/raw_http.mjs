// HTTP as bytes on a socket. It is a file of its own beside http_client.mjs, because Node's client refuses to send what these
// tests must send: malformed heads, split and endless bodies, pipelined requests, and a connection that is reset.

import net from 'node:net';

const CRLF = '\r\n';

/** A whole request; its body with its length, unless `headers` say otherwise. */
export function requestBytes({ method, target, headers = {}, body }) {
  const payload = body === undefined ? Buffer.alloc(0) : Buffer.from(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body));
  const known = { host: '127.0.0.1', ...headers };
  if (body !== undefined && known['transfer-encoding'] === undefined) known['content-length'] ??= payload.length;
  if (body !== undefined && known['content-type'] === undefined) known['content-type'] = 'application/json';
  return Buffer.concat([headBytes(`${method} ${target} HTTP/1.1`, known), payload]);
}

export function headBytes(line, headers) {
  const lines = Object.entries(headers).filter(([, value]) => value !== null).map(([name, value]) => `${name}: ${value}${CRLF}`);
  return Buffer.from(line + CRLF + lines.join('') + CRLF, 'latin1');
}

/** A body in chunks of `sizes` bytes, over and over; `trailer` are lines behind the last one. */
export function chunked(body, sizes, { extension = '', trailer = '' } = {}) {
  const parts = [];
  for (let at = 0, i = 0; at < body.length; i++) {
    const chunk = body.subarray(at, at + sizes[i % sizes.length]);
    parts.push(Buffer.from(`${chunk.length.toString(16)}${extension}${CRLF}`), chunk, Buffer.from(CRLF));
    at += chunk.length;
  }
  return Buffer.concat([...parts, Buffer.from(`0${extension}${CRLF}${trailer}${CRLF}`)]);
}

/** The whole answers among the bytes, in order, as {status, headers, text, body}. The `methods` of the requests decide which have a body. */
export function answersIn(bytes, methods = []) {
  const answers = [];
  for (let at = 0, asked = 0; at < bytes.length;) {
    const end = bytes.indexOf('\r\n\r\n', at);
    if (end < 0) break;
    const [line, ...lines] = bytes.toString('latin1', at, end).split(CRLF);
    const headers = Object.fromEntries(lines.map((text) => [text.slice(0, text.indexOf(':')).toLowerCase(), text.slice(text.indexOf(':') + 1).trim()]));
    const status = Number(line.split(' ')[1]);
    const isInterim = status < 200;
    const hasBody = !isInterim && status !== 204 && methods[asked] !== 'HEAD';
    const size = hasBody ? Number(headers['content-length'] ?? 0) : 0;
    if (bytes.length < end + 4 + size) break;
    const text = bytes.toString('utf8', end + 4, end + 4 + size);
    const isJson = hasBody && headers['content-type']?.startsWith('application/json');
    answers.push({ line, status, headers, text, body: isJson ? JSON.parse(text) : text });
    at = end + 4 + size;
    if (!isInterim) asked++;
  }
  return answers;
}

/** A connection on which the test writes every byte. */
export class RawConnection {
  received = Buffer.alloc(0);

  constructor(port) {
    this.socket = net.connect(port, '127.0.0.1');
    this.socket.on('data', (bytes) => (this.received = Buffer.concat([this.received, bytes])));
    this.socket.on('error', () => {});
    this.connected = new Promise((resolve) => this.socket.once('connect', resolve));
    /** Settles when both directions are closed. */
    this.closed = new Promise((resolve) => this.socket.once('close', resolve));
  }

  async send(bytes) {
    await this.connected;
    await new Promise((resolve) => this.socket.write(bytes, () => resolve()));
  }

  /** The status lines received so far. */
  statuses() {
    return [...this.received.toString('latin1').matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]));
  }

  /** Drops the connection: the peer sees a reset. */
  vanish() {
    this.socket.resetAndDestroy();
  }

  close() {
    this.socket.destroy();
  }
}

/** Waits for one answer for each of `methods`. Gives fewer when the server closes the connection. */
export function receiveAnswers(connection, methods, limitMs = 150_000) {
  return new Promise((resolve, reject) => {
    const received = () => answersIn(connection.received, methods).filter(({ status }) => status >= 200);
    const timer = setTimeout(() => reject(new Error(`${received().length} of ${methods.length} answers in ${limitMs} ms`)), limitMs);
    const end = () => {
      clearTimeout(timer);
      connection.socket.off('data', look);
      resolve(received());
    };
    const look = () => {
      if (received().length >= methods.length) end();
    };
    connection.socket.on('data', look);
    connection.closed.then(end);
    look();
  });
}
