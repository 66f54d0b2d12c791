// Shows pages of websites in the shared browser, without network. The caller gives every file that a page may load; the browser asks this
// process for each, and every other request fails and is reported, so that the caller can fetch it. Scripts are off unless the caller asks
// for them.

import { BrowserGone } from '../browser/browser.mjs';
import { BrowserMissing, BrowserNotStarted, SharedBrowser } from '../browser/shared_browser.mjs';
import { LIMITS } from '../limits.mjs';
import { log } from '../log.mjs';
import { decodeText } from '../page/decode.mjs';
import { DRAW } from './draw.mjs';
import { MEASURE, VIEW } from './measure.mjs';

const MISSED_TYPES = new Set(['Stylesheet', 'Script', 'XHR', 'Fetch']);
const MISSED_MAX = 40;
const LOOK_MS = 100;
/** Only pictures that are part of the page. */
const DRAWING = `data:text/html,${encodeURIComponent('<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:"><body>')}`;

export class SiteBrowser {
  #browsers;

  /** @param {SharedBrowser} [browsers] */
  constructor(browsers = new SharedBrowser()) {
    this.#browsers = browsers;
  }

  /** The process id of the browser or null, for tests. */
  get browserPid() {
    return this.#browsers.pid;
  }

  /**
   * Shows a page: {missed: [{url, type}], style, html} or {problem}. `files` maps addresses to {type, bytes}, bytes in base64.
   * @param {{url: string, contentType: string|null, bytes: string, files: object, scripts: boolean}} request
   */
  show(request) {
    return this.#attempt({}, (page) => this.#showNow(page, request));
  }

  /** Draws a picture: {png, width, height, colours} or {problem}; png only when it is asked for. */
  draw({ type, bytes, width, height, wantsPng }) {
    return this.#attempt({ url: DRAWING }, async (page) => {
      const { value } = await page.run(`${DRAW}(${JSON.stringify({ source: `data:${type};base64,${bytes}`, width, height, wantsPng })})`, LIMITS.siteDrawMs);
      return value ?? { problem: 'it cannot be shown' };
    });
  }

  close() {
    this.#browsers.end();
  }

  /** A browser that was killed from outside is replaced once; a page that does not end in time is not tried again. */
  async #attempt(options, work) {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#browsers.take(() => this.#inPage(options, work));
      } catch (error) {
        if (error instanceof BrowserMissing) return { problem: 'no browser is installed' };
        if (error instanceof BrowserNotStarted) return { problem: 'the browser could not be started' };
        if (!(error instanceof BrowserGone)) throw error;
        log('warn', 'site_browser_gone', { reason: error.reason });
        if (error.reason !== 'ended' || attempt === 2) return { problem: PROBLEMS[error.reason] };
      }
    }
  }

  async #inPage(options, work) {
    const page = await this.#browsers.openPage('images', options);
    return Promise.resolve(work(page)).finally(() => page.close());
  }

  async #showNow(page, { url, contentType, bytes, files, scripts }) {
    const visit = new Visit(page, url, files);
    visit.files.set(visit.own, { type: 'text/html; charset=utf-8', bytes: Buffer.from(decodeText(Buffer.from(bytes, 'base64'), contentType)).toString('base64') });
    await Promise.all([
      page.send('Emulation.setScriptExecutionDisabled', { value: !scripts }),
      page.send('Emulation.setDeviceMetricsOverride', { ...VIEW, deviceScaleFactor: 1, mobile: false }),
    ]);
    await visit.load(scripts);
    const isComplete = visit.missed.size === 0;
    return {
      missed: [...visit.missed].map(([missed, type]) => ({ url: missed, type })),
      style: (await page.runApart(MEASURE, LIMITS.siteLoadMs)).value ?? null,
      html: scripts && isComplete ? await htmlOf(page) : null,
    };
  }
}

const PROBLEMS = {
  deadline: 'it takes too long to show', crashed: 'it takes too much memory to show', flood: 'it is too large to show', ended: 'the browser ended while it showed it',
};

/** One load of a page from its files. */
class Visit {
  missed = new Map();
  #loaded;
  #open = 0;
  #quietSince = performance.now();

  constructor(page, url, files) {
    this.page = page;
    this.files = new Map(Object.entries(files));
    const own = new URL(url);
    own.hash = '';
    this.own = own.href;
    this.#loaded = new Promise((resolve) => { page.onLoad = resolve; });
    page.onRequest = (params) => this.#answer(params);
  }

  /** Resolves when the page is loaded and, with scripts, asks for nothing more. */
  async load(scripts) {
    const { page } = this;
    const deadline = performance.now() + LIMITS.siteLoadMs;
    await page.send('Page.navigate', { url: this.own }, LIMITS.siteLoadMs);
    await Promise.race([this.#loaded, this.#isComplete(deadline)]);
    this.#quietSince = performance.now();
    while (scripts && performance.now() < deadline && (this.#open > 0 || performance.now() - this.#quietSince < LIMITS.siteQuietMs)) {
      await new Promise((done) => { setTimeout(done, 20); });
      await page.run('0', LIMITS.siteLoadMs); // a busy page answers when its script ends
    }
  }

  /** Resolves when the document is complete, or at the deadline. A page that tries to leave while it loads has no load event. */
  async #isComplete(deadline) {
    while (performance.now() < deadline) {
      await new Promise((done) => { setTimeout(done, LOOK_MS).unref(); });
      const { value } = await this.page.run('document.readyState', LIMITS.siteLoadMs);
      if (value === 'complete') return;
    }
  }

  /** Whether it has an answer. */
  #answer({ requestId, request, resourceType }) {
    const ignoreEnd = () => {}; // the call that waits for the page gets the error
    const url = request.url.split('#')[0];
    this.#quietSince = performance.now();
    if (resourceType === 'Document' && url !== this.own) {
      // The page stays where it is, and a frame stays empty (HTTP: no content).
      this.page.send('Fetch.fulfillRequest', { requestId, responseCode: 204 }).catch(ignoreEnd);
      return true;
    }
    const file = request.method === 'GET' ? this.files.get(url) : undefined;
    if (file === undefined) {
      const isWanted = request.method === 'GET' && MISSED_TYPES.has(resourceType) && /^https?:/.test(url) && url.length <= LIMITS.urlChars;
      if (isWanted && this.missed.size < MISSED_MAX) this.missed.set(url, resourceType);
      return false;
    }
    const responseHeaders = [{ name: 'Content-Type', value: file.type }, { name: 'Access-Control-Allow-Origin', value: request.headers.Origin ?? '*' }];
    this.#open++;
    this.page.send('Fetch.fulfillRequest', { requestId, responseCode: file.bytes === null ? 404 : 200, responseHeaders, body: file.bytes ?? '' })
      .catch(ignoreEnd).finally(() => { this.#open--; });
    return true;
  }
}

async function htmlOf(page) {
  const { value: html } = await page.runApart(`document.documentElement.outerHTML.slice(0, ${LIMITS.contentChars})`, LIMITS.siteLoadMs);
  return typeof html === 'string' ? html : null;
}
