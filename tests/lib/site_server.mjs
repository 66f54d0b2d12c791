// A web server of one website on loopback: the files of a folder of tests/sites, pictures of any name, and pages that are hostile. It
// counts the requests for each path.

import { existsSync, readFileSync, statSync } from 'node:fs';
import http from 'node:http';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { png } from './images.mjs';

const SITES = join(dirname(fileURLToPath(import.meta.url)), '../sites');
const TYPES = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.json': 'application/json', '.svg': 'image/svg+xml', '.txt': 'text/plain' };
/** Sizes of pictures by a part of their names. */
const SIZES = { 'logo-wide': [180, 40], visa: [40, 26] };

/** An icon file with one PNG. */
function icon(picture, size) {
  const head = Buffer.alloc(22);
  head.writeUInt16LE(1, 2);
  head.writeUInt16LE(1, 4);
  head.set([size, size, 0, 0, 1, 0, 32, 0], 6);
  head.writeUInt32LE(picture.length, 14);
  head.writeUInt32LE(22, 18);
  return Buffer.concat([head, picture]);
}

function pictureNamed(name) {
  const [width, height] = Object.entries(SIZES).find(([part]) => name.includes(part))?.[1] ?? [640, 480];
  return png(width, height, [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 251, 7));
}

export const answersOf = (site) => JSON.parse(readFileSync(join(SITES, site, 'answers.json'), 'utf8'));

export class SiteServer {
  #server;
  #held = [];
  /** Path → times asked for. */
  hits = new Map();

  /** `pages` maps paths to texts, or to functions of the response; they come before the files of `site`. */
  constructor(site, pages = {}) {
    this.site = site;
    this.pages = pages;
  }

  async start() {
    this.#server = http.createServer((request, response) => this.#answer(request, response));
    await new Promise((resolve) => { this.#server.listen(0, '127.0.0.1', resolve); });
    this.base = `http://127.0.0.1:${this.#server.address().port}`;
    return this;
  }

  stop() {
    this.#server.closeAllConnections();
    return new Promise((resolve) => { this.#server.close(resolve); });
  }

  /** A page that waits until release(). */
  hold(response) {
    this.#held.push(response);
  }

  get held() {
    return this.#held.length;
  }

  release(html) {
    for (const response of this.#held.splice(0)) response.writeHead(200, { 'content-type': 'text/html' }).end(html);
  }

  #answer(request, response) {
    const { pathname } = new URL(request.url, this.base);
    this.hits.set(pathname, (this.hits.get(pathname) ?? 0) + 1);
    this.lastHeaders = request.headers;
    response.on('error', () => {});
    const page = this.pages[pathname];
    if (typeof page === 'function') page(response, this);
    else if (page !== undefined) response.writeHead(200, { 'content-type': pathname.endsWith('.txt') ? 'text/plain' : 'text/html' }).end(page);
    else this.#file(pathname, response);
  }

  #file(pathname, response) {
    if (pathname.endsWith('.png')) {
      response.writeHead(200, { 'content-type': 'image/png' }).end(pictureNamed(pathname));
    } else if (pathname === '/favicon.ico') {
      response.writeHead(200, { 'content-type': 'image/x-icon' }).end(icon(png(64, 64, 40), 64));
    } else {
      const folder = join(SITES, this.site ?? 'none');
      const path = [pathname, `${pathname}.html`, `${pathname}index.html`].map((name) => join(folder, name)).find((name) => existsSync(name) && statSync(name).isFile());
      if (path === undefined) response.writeHead(404).end();
      else response.writeHead(200, { 'content-type': TYPES[extname(path)] ?? 'application/octet-stream' }).end(readFileSync(path));
    }
  }
}
