// A web server of images on loopback, good ones and hostile ones. It counts the requests for each path.

import http from 'node:http';
import { gzipSync } from 'node:zlib';
import { AVIF, gif, GIF, JPEG, png, WEBP } from './images.mjs';

const SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
const PAGE = '<!DOCTYPE html><html><script>alert(1)</script></html>';

/** What is served as it is: path → [content type, bytes]. */
const FILES = {
  '/logo.png': ['image/png', png(120, 40)],
  '/same-as-logo.png': ['image/png', png(120, 40)],
  '/hero.jpg': ['image/jpeg', JPEG],
  '/dot.gif': ['image/gif', GIF],
  '/tile.webp': ['image/webp', WEBP],
  '/new.avif': ['image/avif', AVIF],
  '/other.png': ['image/png', png(7, 5, 30)],
  '/mislabelled.txt': ['text/plain', png(9, 9, 10)],
  '/script.svg': ['image/svg+xml', SVG],
  '/svg-as.png': ['image/png', SVG],
  '/page-as.png': ['image/png', PAGE],
  '/page-behind-a-signature.png': ['image/png', Buffer.concat([png(9, 9).subarray(0, 8), Buffer.from(PAGE)])],
  '/empty.png': ['image/png', ''],
  '/huge.png': ['image/png', png(50_000, 50_000, 0, 1)],
  '/many-frames.gif': ['image/gif', gif(10_000)],
  '/many-pixels.gif': ['image/gif', gif(200, 1000, 1000)],
};

export class ImageServer {
  #server;
  /** Path → times asked for. */
  hits = new Map();
  /** What a test serves besides: path → [content type, bytes]. */
  files = { ...FILES };
  /** The answers that /held waits with, until release(). */
  #held = [];
  #isReleased = false;

  async start() {
    this.#server = http.createServer((request, response) => this.#answer(request, response));
    await new Promise((resolve) => { this.#server.listen(0, '127.0.0.1', resolve); });
    this.port = this.#server.address().port;
    this.base = `http://127.0.0.1:${this.port}`;
  }

  /** Answers all requests for /held, and later ones at once. */
  release() {
    this.#isReleased = true;
    for (const response of this.#held.splice(0)) response.writeHead(404).end();
  }

  stop() {
    this.#server.closeAllConnections();
    return new Promise((resolve) => { this.#server.close(resolve); });
  }

  #answer(request, response) {
    const { pathname, searchParams } = new URL(request.url, this.base);
    this.hits.set(pathname, (this.hits.get(pathname) ?? 0) + 1);
    this.lastHeaders = request.headers;
    response.on('error', () => {});
    if (pathname in this.files) {
      const [type, bytes] = this.files[pathname];
      response.setHeader('content-type', type);
      response.end(bytes);
    } else if (pathname === '/held' && !this.#isReleased) {
      this.#held.push(response);
    } else if (pathname === '/to') {
      response.writeHead(302, { location: searchParams.get('url') });
      response.end('moved');
    } else if (pathname === '/round') {
      response.writeHead(302, { location: '/round' });
      response.end();
    } else if (pathname === '/hops') {
      const left = Number(searchParams.get('left'));
      response.writeHead(307, { location: left > 1 ? `hops?left=${left - 1}` : '/other.png' });
      response.end();
    } else if (pathname === '/endless') {
      this.#pour(response, { 'content-type': 'image/png' });
    } else if (pathname === '/endless-redirect') {
      this.#pour(response, { location: '/other.png' }, 302);
    } else if (pathname === '/zip-bomb') {
      response.writeHead(200, { 'content-type': 'image/png', 'content-encoding': 'gzip' });
      response.end(gzipSync(Buffer.alloc(10_000_000)));
    } else if (pathname === '/cut-short') {
      response.writeHead(200, { 'content-type': 'image/png', 'content-length': 5000 });
      response.write(png(9, 9));
      setTimeout(() => response.destroy(), 50);
    } else if (pathname === '/declared-huge') {
      response.writeHead(200, { 'content-type': 'image/png', 'content-length': 10_000_000_000 });
      response.write(png(9, 9));
    } else if (pathname === '/dribble') {
      response.writeHead(200, { 'content-type': 'image/png' });
      const timer = setInterval(() => response.write('x'), 100);
      response.on('close', () => clearInterval(timer));
    } else {
      response.writeHead(404);
      response.end(PAGE);
    }
  }

  /** An answer that never ends. */
  #pour(response, headers, status = 200) {
    response.writeHead(status, headers);
    const block = Buffer.alloc(64 * 1024);
    const more = () => {
      while (!response.destroyed && response.write(block));
    };
    response.on('drain', more);
    more();
  }
}
