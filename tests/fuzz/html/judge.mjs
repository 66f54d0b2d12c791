// Judges prepared HTML in Chromium, which runs scripts here. A document must not run anything when it is loaded or its
// elements get events, must not request anything but its declared images and web fonts, and must hold nothing that
// DOMPurify, another sanitizer, removes because it runs.

import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const require = createRequire(resolve(process.env.THIRD_PARTY_INSTALL, 'package.json'));
const puppeteer = require('puppeteer-core');
const purify = readFileSync(require.resolve('dompurify/dist/purify.js'), 'utf8');

const BROWSER = '/usr/bin/chromium-headless-shell'; // tests/setup.sh installs it
const HANGS_MS = 600_000; // a busy machine is slow, a browser that hangs ends
const NO_NETWORK = ['--no-sandbox', '--disable-gpu', '--host-resolver-rules=MAP * ~NOTFOUND'];

/** In the page: counts what runs. The pieces of documents.mjs call alert. */
function watch() {
  window.ran = 0;
  window.alert = () => { window.ran++; };
}

/** In the page: problems of the document, as short descriptions. */
function inspect() {
  const problems = new Set();
  const RUNS = new Set(['script', 'iframe', 'frame', 'frameset', 'object', 'embed', 'applet', 'form', 'input', 'button', 'base', 'link', 'portal', 'video', 'audio', 'source', 'track', 'marquee', 'template']);
  const isScript = (value) => {
    try {
      return /^(?:javascript|vbscript|data):$/.test(new URL(value, 'https://base.invalid/').protocol);
    } catch {
      return false;
    }
  };
  const look = (root, view) => {
    for (const element of root.querySelectorAll('*')) {
      if (RUNS.has(element.localName) || element.namespaceURI !== 'http://www.w3.org/1999/xhtml') problems.add(`${view} <${element.localName}>`);
      for (const { name, value } of element.attributes) {
        if (/^on/i.test(name)) problems.add(`${view} ${name}=`);
        if (/^(?:href|src|action|formaction|background|poster|data|xlink:href|srcset)$/i.test(name) && isScript(value)) problems.add(`${view} ${name}=${value.slice(0, 40)}`);
        if (name === 'http-equiv' && !/^(?:content-type|x-ua-compatible)$/i.test(value)) problems.add(`${view} http-equiv=${value}`);
      }
    }
  };
  look(document, 'document');
  const text = document.documentElement.outerHTML;
  look(new DOMParser().parseFromString(text, 'text/html'), 'read again');

  DOMPurify.sanitize(text, { WHOLE_DOCUMENT: true });
  for (const { element, attribute } of DOMPurify.removed) {
    if (element && RUNS.has(element.localName)) problems.add(`DOMPurify removes <${element.localName}>`);
    if (attribute && (/^on/i.test(attribute.name) || isScript(attribute.value))) problems.add(`DOMPurify removes ${attribute.name}=`);
  }

  for (const element of document.querySelectorAll('*')) {
    element.addEventListener('click', (event) => event.preventDefault());
    for (const name of ['load', 'error', 'click', 'mouseover', 'focus', 'toggle', 'animationstart']) element.dispatchEvent(new Event(name, { bubbles: true, cancelable: true }));
  }
  if (window.ran > 0) problems.add('something ran');
  return [...problems];
}

/** The normal form of an address; null for one that names no host, such as a host with a space, which nothing can reach. Chromium
 * encodes two characters of a path that Node does not. */
const normal = (url) => {
  try {
    return new URL(url).href.replaceAll('|', '%7C').replaceAll('^', '%5E');
  } catch {
    return null;
  }
};

export class Judge {
  #browser;

  #page;

  #requested = [];

  static async open() {
    const judge = new Judge();
    judge.#browser = await puppeteer.launch({ executablePath: BROWSER, args: NO_NETWORK, protocolTimeout: HANGS_MS, timeout: HANGS_MS });
    judge.#page = await judge.#browser.newPage();
    judge.#page.setDefaultTimeout(HANGS_MS);
    await judge.#page.setRequestInterception(true);
    judge.#page.on('request', (request) => {
      judge.#requested.push({ url: normal(request.url()), type: request.resourceType() });
      if (request.url() === 'about:blank') request.continue();
      else request.abort();
    });
    await judge.#page.evaluateOnNewDocument(`(${watch})();${purify}`);
    return judge;
  }

  /** The problems of a document; `images` are the addresses that it may request. */
  async problems(html, images) {
    await this.#page.goto('about:blank');
    this.#requested = [];
    await this.#page.setContent(html, { waitUntil: 'load' });
    const problems = await this.#page.evaluate(inspect);
    const allowed = new Set(['about:blank', null, ...images.map(normal)]);
    for (const { url, type } of this.#requested) {
      if (type !== 'font' && !allowed.has(url) && !url.startsWith('data:image/')) problems.push(`requests ${type} ${url}`);
    }
    return problems;
  }

  close() {
    return this.#browser.close();
  }
}
