// Shows pages of websites in a headless browser without network. The caller gives every file that a page may load; the browser asks this
// process for each, and every other request fails and is reported, so that the caller can fetch it. Scripts are off unless the caller asks
// for them. The browser is ended when it was idle, and after a page that did not end in time.

import { Browser, BrowserGone, findBrowser } from '../jsx/browser.mjs';
import { LIMITS } from '../limits.mjs';
import { log } from '../log.mjs';
import { DRAW } from './draw.mjs';
import { MEASURE, VIEW } from './measure.mjs';
import { decode } from './texts.mjs';

const MISSED_TYPES = new Set(['Stylesheet', 'Script', 'XHR', 'Fetch']);
const MISSED_MAX = 40;
/** Only pictures that are part of the page. */
const DRAWING = `data:text/html,${encodeURIComponent('<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:"><body>')}`;

export class SiteBrowser {
  #browser = null;
  /** The page of our own that draws pictures, one after another. */
  #drawing = null;
  #idleTimer = null;
  #last = Promise.resolve();

  /** @param {{find?: () => string|null}} [options] for tests */
  constructor({ find = findBrowser } = {}) {
    this.find = find;
  }

  /** The process id of the browser or null, for tests. */
  get browserPid() {
    return this.#browser?.isGone === false ? this.#browser.pid : null;
  }

  /**
   * Shows a page: {missed: [{url, type}], style, html} or {problem}. `files` maps addresses to {type, bytes}, bytes in base64.
   * @param {{url: string, contentType: string|null, bytes: string, files: object, scripts: boolean}} request
   */
  show(request) {
    return this.#inTurn((browser) => this.#showNow(browser, request));
  }

  /** Draws a picture: {png, width, height, colours} or {problem}; png only when it is asked for. */
  draw({ type, bytes, width, height, wantsPng }) {
    return this.#inTurn(async (browser) => {
      if (this.#drawing?.browser !== browser) this.#drawing = await browser.openPage({ url: DRAWING });
      const { value } = await this.#drawing.run(`${DRAW}(${JSON.stringify({ source: `data:${type};base64,${bytes}`, width, height, wantsPng })})`, LIMITS.siteDrawMs);
      return value ?? { problem: 'it cannot be shown' };
    });
  }

  close() {
    clearTimeout(this.#idleTimer);
    this.#browser?.kill();
    this.#browser = null;
  }

  #inTurn(work) {
    clearTimeout(this.#idleTimer);
    const done = this.#last.then(() => this.#attempt(work)).finally(() => {
      clearTimeout(this.#idleTimer);
      this.#idleTimer = setTimeout(() => this.close(), LIMITS.browserIdleMs).unref();
    });
    this.#last = done.catch(() => {}); // the caller gets the error
    return done;
  }

  /** A browser that was killed from outside is replaced once; a page that does not end in time is not tried again. */
  async #attempt(work) {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work(await this.#open());
      } catch (error) {
        this.#browser?.kill();
        this.#browser = null;
        if (error instanceof NoBrowser) return { problem: 'no browser is installed' };
        if (!(error instanceof BrowserGone)) throw error;
        log('warn', 'site_browser_gone', { reason: error.reason });
        if (error.reason !== 'ended' || attempt === 2) return { problem: PROBLEMS[error.reason] };
      }
    }
  }

  async #open() {
    const path = this.find();
    if (path === null) throw new NoBrowser();
    if (this.#browser === null || this.#browser.isGone) this.#browser = await Browser.start(path, { showsImages: true });
    return this.#browser;
  }

  async #showNow(browser, { url, contentType, bytes, files, scripts }) {
    const page = await browser.openPage();
    try {
      const visit = new Visit(page, url, files);
      visit.files.set(visit.own, { type: 'text/html; charset=utf-8', bytes: Buffer.from(decode(Buffer.from(bytes, 'base64'), contentType)).toString('base64') });
      await Promise.all([
        page.send('Emulation.setScriptExecutionDisabled', { value: !scripts }),
        page.send('Emulation.setDeviceMetricsOverride', { ...VIEW, deviceScaleFactor: 1, mobile: false }),
      ]);
      await visit.load(scripts);
      const isComplete = visit.missed.size === 0;
      return {
        missed: [...visit.missed].map(([missed, type]) => ({ url: missed, type })),
        style: await inOwnWorld(page, MEASURE),
        html: scripts && isComplete ? await htmlOf(page) : null,
      };
    } finally {
      page.close();
    }
  }
}

class NoBrowser extends Error {}

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
    let timer;
    const late = new Promise((resolve) => { timer = setTimeout(resolve, LIMITS.siteLoadMs).unref(); });
    await Promise.race([this.#loaded, late]);
    clearTimeout(timer);
    this.#quietSince = performance.now();
    while (scripts && performance.now() < deadline && (this.#open > 0 || performance.now() - this.#quietSince < LIMITS.siteQuietMs)) {
      await new Promise((done) => { setTimeout(done, 20); });
      await page.run('0', LIMITS.siteLoadMs); // a busy page answers when its script ends
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

/** Runs a script beside those of the page: they share the document, and no objects. */
async function inOwnWorld(page, expression) {
  const { frameTree } = await page.send('Page.getFrameTree');
  const { executionContextId } = await page.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id, worldName: 'posthorn' });
  const { value } = await page.run(expression, LIMITS.siteLoadMs, executionContextId);
  return value ?? null;
}

async function htmlOf(page) {
  const html = await inOwnWorld(page, `document.documentElement.outerHTML.slice(0, ${LIMITS.contentChars})`);
  return typeof html === 'string' ? html : null;
}
