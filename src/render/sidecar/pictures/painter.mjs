// Painter: draws an HTML page as a PNG in a headless browser. The page has no network and runs no scripts. Its images are those of
// the request; the addresses of others are returned, so that the service can fetch them and ask again. One page is drawn at a
// time, with a deadline. The first page starts the browser, which ends when it was idle for idleMs, and after every failure.

import { Browser, BrowserGone, findBrowser } from '../jsx/browser.mjs';
import { internalError, invalidRequest, unavailable } from '../errors.mjs';
import { LIMITS } from '../limits.mjs';
import { log } from '../log.mjs';

const ADDRESS = 'http://page.invalid/';
const VIEW_HEIGHT = 800;
const STATUS_OK = 200;
const STATUS_EMPTY = 204;

/** Scripts, frames, plug-ins and forms are off; images and styles in the page itself are on. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data: http: https:; font-src data:; sandbox";

export class Painter {
  #browser = null;
  #idleTimer = null;
  #last = Promise.resolve();
  #waiting = 0;

  /** @param {{find?: () => string|null, pageMs?: number, idleMs?: number}} [options] for tests */
  constructor({ find = findBrowser, pageMs = LIMITS.pageMs, idleMs = LIMITS.browserIdleMs } = {}) {
    this.options = { find, pageMs, idleMs };
  }

  /**
   * Resolves with { png (base64), width, height, isCut, missing }: `isCut` when the page is higher, `missing` are addresses of images.
   * Rejects with a RequestError.
   * @param {{content: string, width: number, maxHeight: number, files: Object<string, {type: string, data: string}>}} request
   */
  drawPage(request) {
    if (this.#waiting >= LIMITS.waitingRequests) return Promise.reject(internalError('Too many requests are waiting; try again.'));
    this.#waiting++;
    clearTimeout(this.#idleTimer);
    const drawn = this.#last.then(() => this.#drawNow(request)).finally(() => {
      this.#waiting--;
      if (this.#waiting === 0) this.#idleTimer = setTimeout(() => this.close(), this.options.idleMs).unref();
    });
    this.#last = drawn.catch(() => {}); // the caller gets the error from `drawn`
    return drawn;
  }

  /**
   * Resolves with { png (base64), width, height, frames, everyMs }: frames of a video, one below the other. Rejects with a RequestError.
   * @param {{content: string, width: number, maxFrames: number}} request `content` is the file in base64
   */
  drawFrames(request) {
    return this.drawPage(request);
  }

  /** Ends the browser; the next page starts it again. */
  close() {
    clearTimeout(this.#idleTimer);
    this.#browser?.kill();
    this.#browser = null;
  }

  async #drawNow(request) {
    const browser = await this.#takeBrowser();
    const page = await browser.openPage().catch((error) => { throw this.#failure(error, 'start'); });
    const endWatch = browser.limitWork(this.options.pageMs);
    const late = setTimeout(() => browser.kill('deadline'), this.options.pageMs * LIMITS.pageWaitFactor);
    try {
      return await (request.maxFrames === undefined ? draw(page, request) : drawFrames(page, request));
    } catch (error) {
      throw this.#failure(error, 'page');
    } finally {
      clearTimeout(late);
      endWatch();
      page.close();
    }
  }

  async #takeBrowser() {
    if (this.#browser?.isGone === false) return this.#browser;
    const path = this.options.find();
    if (path === null) throw unavailable('Pictures need a browser: install the Debian package chromium-headless-shell.');
    this.#browser = await Browser.start(path, { showsImages: true }).catch((error) => { throw this.#failure(error, 'start'); });
    return this.#browser;
  }

  #failure(error, at) {
    if (!(error instanceof BrowserGone)) return error;
    log('warn', 'browser_gone', { reason: error.reason, at });
    this.close();
    if (at === 'start' || error.reason === 'ended') return unavailable('The browser that draws pictures stopped. Try again.');
    const messages = {
      deadline: 'The HTML takes too long to draw.',
      crashed: 'The HTML takes too much memory to draw.',
      flood: 'The picture of the HTML is too large; give a smaller width or maxHeight.',
    };
    return invalidRequest('html', messages[error.reason]);
  }
}

async function draw(page, { content, width, maxHeight, files }) {
  const missing = new Set();
  page.onRequest = (paused) => answer(page, paused, { content, files, missing });
  await page.send('Emulation.setScriptExecutionDisabled', { value: true });
  await page.send('Emulation.setDeviceMetricsOverride', { width, height: Math.min(VIEW_HEIGHT, maxHeight), deviceScaleFactor: 1, mobile: false });
  await page.send('Emulation.setScrollbarsHidden', { hidden: true });
  const loaded = new Promise((resolve) => { page.onLoad = resolve; });
  await page.send('Page.navigate', { url: ADDRESS });
  await Promise.race([loaded, gone(page)]);
  const whole = await contentHeight(page);
  const height = Math.min(whole, maxHeight, Math.floor(LIMITS.pagePixels / width));
  const clip = { x: 0, y: 0, width, height, scale: 1 };
  const { data } = await page.send('Page.captureScreenshot', { format: 'png', clip, captureBeyondViewport: true });
  return { png: data, width, height, isCut: height < whole, missing: [...missing] };
}

const VIDEO_POLICY = "default-src 'none'; media-src blob:";

/** Runs in the page, which has nothing but the video. */
async function framesOf(data, width, maxFrames, bounds) {
  const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
  const video = document.createElement('video');
  const until = (event) => new Promise((done, fail) => {
    video.addEventListener(event, done, { once: true });
    video.addEventListener('error', () => fail(new Error('unreadable')), { once: true });
  });
  video.muted = true;
  const loaded = until('loadeddata');
  video.src = URL.createObjectURL(new Blob([bytes]));
  await loaded;
  if (!Number.isFinite(video.duration)) { // a recording that does not tell its length
    const ended = until('seeked');
    video.currentTime = 1e9;
    await ended;
  }
  const seconds = Math.min(Number.isFinite(video.duration) ? video.duration : video.currentTime, bounds.seconds);
  const frames = Math.max(2, Math.min(maxFrames, Math.round(seconds * bounds.rate)));
  const ratio = video.videoHeight / video.videoWidth;
  let wide = width;
  while (wide > 1 && (wide * wide * ratio * frames > bounds.pixels || wide * ratio * frames > bounds.side)) wide = Math.floor(wide * 0.9);
  const high = Math.max(1, Math.round(wide * ratio));
  const canvas = Object.assign(document.createElement('canvas'), { width: wide, height: high * frames });
  const context = canvas.getContext('2d');
  for (let frame = 0; frame < frames; frame++) {
    const sought = until('seeked');
    video.currentTime = ((frame + 0.5) * seconds) / frames;
    await sought;
    context.drawImage(video, 0, frame * high, wide, high);
  }
  return { png: canvas.toDataURL('image/png').split(',')[1], width: wide, height: high, frames, everyMs: Math.round((seconds * 1000) / frames) };
}

async function drawFrames(page, { content, width, maxFrames }) {
  page.onRequest = (paused) => answer(page, paused, { content: '', files: {}, missing: new Set(), policy: VIDEO_POLICY });
  const loaded = new Promise((resolve) => { page.onLoad = resolve; });
  await page.send('Page.navigate', { url: ADDRESS });
  await Promise.race([loaded, gone(page)]);
  const bounds = { seconds: LIMITS.videoSeconds, rate: LIMITS.videoRate, pixels: LIMITS.videoPixels, side: LIMITS.pageSide };
  const call = `(${framesOf})(${JSON.stringify(content)}, ${width}, ${maxFrames}, ${JSON.stringify(bounds)})`;
  const { value, thrown } = await page.run(call, LIMITS.pageMs * LIMITS.pageWaitFactor);
  if (thrown !== undefined || typeof value?.png !== 'string') throw invalidRequest('videoUrl', 'The video cannot be read. WebM, Ogg and MP4 with H.264 are known.');
  return value;
}

/** The height of a page that is lower than the view is that of its root element. */
async function contentHeight(page) {
  const { cssContentSize, cssVisualViewport } = await page.send('Page.getLayoutMetrics');
  if (cssContentSize.height > cssVisualViewport.clientHeight) return Math.ceil(cssContentSize.height);
  const { root } = await page.send('DOM.getDocument', { depth: 1 });
  const html = root.children?.find(({ nodeName }) => nodeName === 'HTML');
  const { model } = await page.send('DOM.getBoxModel', { nodeId: html?.nodeId }).catch((error) => {
    if (error instanceof BrowserGone) throw error;
    return { model: { margin: [0, 0, 0, 0, 0, cssContentSize.height] } }; // the root element is not displayed
  });
  return Math.max(1, Math.ceil(model.margin[5]));
}

/** Without a document type the root element would be as high as the view. */
const withDoctype = (content) => (/^\s*(?:<!--[\s\S]*?-->\s*)*<!doctype/i.test(content.slice(0, 4096)) ? content : `<!DOCTYPE html>${content}`);

/** Rejects when the browser has ended. The watchdog ends it, so that this always settles. */
async function gone(page) {
  for (;;) {
    await new Promise((done) => { setTimeout(done, 100); });
    await page.send('Page.getNavigationHistory');
  }
}

const base64 = (text) => Buffer.from(text.toWellFormed(), 'utf8').toString('base64');

/** Answers one request of the page. The page itself is served once; a redirection inside of it leads nowhere. */
function answer(page, { requestId, request, resourceType }, bundle) {
  const fulfill = (responseCode, headers, body) => {
    const responseHeaders = Object.entries(headers).map(([name, value]) => ({ name, value }));
    page.send('Fetch.fulfillRequest', { requestId, responseCode, responseHeaders, body }).catch(() => {}); // the page has ended
    return true;
  };
  if (resourceType === 'Document') {
    if (request.url !== ADDRESS || bundle.isServed) return fulfill(STATUS_EMPTY, {});
    bundle.isServed = true;
    return fulfill(STATUS_OK, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': bundle.policy ?? POLICY }, base64(withDoctype(bundle.content)));
  }
  const isImage = resourceType === 'Image';
  const file = isImage && Object.hasOwn(bundle.files, request.url) ? bundle.files[request.url] : null;
  if (file !== null) return fulfill(STATUS_OK, { 'content-type': file.type }, file.data);
  const isFetchable = isImage && /^https?:/i.test(request.url) && !request.url.startsWith(ADDRESS);
  if (isFetchable && bundle.missing.size < LIMITS.pageFiles && request.url.length <= LIMITS.urlChars) bundle.missing.add(request.url);
  return false;
}
