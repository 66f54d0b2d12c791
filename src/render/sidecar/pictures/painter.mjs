// Painter: draws an HTML page as a PNG in the shared browser. The page has no network and runs no scripts. Its images are those of
// the request; the addresses of others are returned, so that the service can fetch them and ask again. One page is drawn at a
// time, with a deadline.

import { BrowserGone } from '../browser/browser.mjs';
import { BrowserMissing, BrowserNotStarted, SharedBrowser } from '../browser/shared_browser.mjs';
import { showHtml } from '../browser/shown_html.mjs';
import { invalidRequest, unavailable } from '../errors.mjs';
import { LIMITS } from '../limits.mjs';
import { log } from '../log.mjs';

const VIEW_HEIGHT = 800;
const SMALL_QUALITY = 60;

export class Painter {
  #browsers;

  /**
   * @param {SharedBrowser} [browsers]
   * @param {{pageMs?: number}} [options] for tests
   */
  constructor(browsers = new SharedBrowser(), { pageMs = LIMITS.pageMs } = {}) {
    this.#browsers = browsers;
    this.options = { pageMs };
  }

  /**
   * Resolves with { png (base64), width, height, isCut, missing }: `isCut` when the page is higher, `missing` are addresses of images.
   * `width` and `height` of the result are pixels. Rejects with a RequestError.
   * @param {{content: string, width: number, maxHeight: number, files: Object<string, {type: string, data: string}>, density?: number,
   *   isDark?: boolean, zoomsOut?: boolean, hasSmall?: boolean}} request `density`: pixels of the picture for one of the page; `maxHeight` is one of the picture.
   *   `isDark`: the page prefers a dark scheme. `zoomsOut`: a page that is wider than the view is made smaller. `hasSmall`: the result has
   *   `small` too, a WebP in base64, or null when the page is too long for one
   */
  drawPage(request) {
    return this.#browsers.take(() => this.#drawNow((page) => draw(page, request))).catch(refuse);
  }

  /**
   * Resolves with { png (base64), width, height, frames, everyMs }: frames of a video, one below the other. Rejects with a RequestError.
   * @param {{content: string, width: number, maxFrames: number}} request `content` is the file in base64
   */
  drawFrames(request) {
    return this.#browsers.take(() => this.#drawNow((page) => drawFrames(page, request))).catch(refuse);
  }

  /** Ends the browser; the next page starts it again. */
  close() {
    this.#browsers.end();
  }

  async #drawNow(drawing) {
    const page = await this.#browsers.openPage('images');
    const { browser } = page;
    const endWatch = browser.limitWork(this.options.pageMs);
    const late = setTimeout(() => browser.kill('deadline'), this.options.pageMs * LIMITS.pageWaitFactor);
    try {
      return await drawing(page);
    } finally {
      clearTimeout(late);
      endWatch();
      page.close();
    }
  }
}

/** Throws the error for the caller. */
function refuse(error) {
  if (error instanceof BrowserMissing) throw unavailable('Pictures need a browser: install the Debian package chromium-headless-shell.');
  const hasStopped = error instanceof BrowserNotStarted || (error instanceof BrowserGone && error.reason === 'ended');
  if (hasStopped) throw unavailable('The browser that draws pictures stopped. Try again.');
  if (!(error instanceof BrowserGone)) throw error;
  log('warn', 'browser_gone', { reason: error.reason });
  const messages = {
    deadline: 'The HTML takes too long to draw.',
    crashed: 'The HTML takes too much memory to draw.',
    flood: 'The picture of the HTML is too large; give a smaller width or maxHeight.',
  };
  throw invalidRequest('html', messages[error.reason]);
}

async function draw(page, { content, width, maxHeight, files, density = 1, isDark = false, zoomsOut = false, hasSmall = false }) {
  await page.send('Emulation.setScriptExecutionDisabled', { value: true });
  await page.send('Emulation.setDeviceMetricsOverride', { width, height: Math.min(VIEW_HEIGHT, maxHeight), deviceScaleFactor: density, mobile: false });
  if (isDark) await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: 'dark' }] });
  await page.send('Emulation.setScrollbarsHidden', { hidden: true });
  const missing = await showHtml(page, { content, files });
  const size = await contentSize(page);
  const scale = zoomsOut ? Math.min(1, width / size.width) : 1;
  const pixels = Math.min(maxHeight, Math.floor(LIMITS.pagePixels / (width * density)));
  const height = Math.min(size.height, Math.floor(pixels / (density * scale)));
  const clip = { x: 0, y: 0, width: width / scale, height, scale };
  const { data } = await page.send('Page.captureScreenshot', { format: 'png', clip, captureBeyondViewport: true });
  const shown = pixelsOf(data);
  const small = hasSmall ? await drawSmall(page, clip, shown.width) : undefined;
  return { png: data, ...shown, small, isCut: height < size.height, missing: [...missing] };
}

/** The page as a small WebP in base64: the widest one that has few enough bytes; null when none has. */
async function drawSmall(page, clip, width) {
  for (const wanted of LIMITS.smallWidths.filter((small) => small <= width)) {
    const scale = (clip.scale * wanted) / width;
    const { data } = await page.send('Page.captureScreenshot', { format: 'webp', quality: SMALL_QUALITY, clip: { ...clip, scale }, captureBeyondViewport: true });
    if (Buffer.byteLength(data, 'base64') <= LIMITS.smallBytes) return data;
  }
  return null;
}

/** Width and height of a PNG in base64. */
function pixelsOf(png) {
  const header = Buffer.from(png.slice(0, 32), 'base64');
  return { width: header.readUInt32BE(16), height: header.readUInt32BE(20) };
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
  await showHtml(page, { content: '', files: {}, policy: VIDEO_POLICY });
  const bounds = { seconds: LIMITS.videoSeconds, rate: LIMITS.videoRate, pixels: LIMITS.videoPixels, side: LIMITS.pageSide };
  const call = `(${framesOf})(${JSON.stringify(content)}, ${width}, ${maxFrames}, ${JSON.stringify(bounds)})`;
  const { value, thrown } = await page.run(call, LIMITS.pageMs * LIMITS.pageWaitFactor);
  if (thrown !== undefined || typeof value?.png !== 'string') throw invalidRequest('videoUrl', 'The video cannot be read. WebM, Ogg and MP4 with H.264 are known.');
  return value;
}

/** The size of a page; the height of one that is lower than the view is that of its root element. */
async function contentSize(page) {
  const { cssContentSize, cssVisualViewport } = await page.send('Page.getLayoutMetrics');
  const { width } = cssContentSize;
  if (cssContentSize.height > cssVisualViewport.clientHeight) return { width, height: Math.ceil(cssContentSize.height) };
  const { root } = await page.send('DOM.getDocument', { depth: 1 });
  const html = root.children?.find(({ nodeName }) => nodeName === 'HTML');
  const { model } = await page.send('DOM.getBoxModel', { nodeId: html?.nodeId }).catch((error) => {
    if (error instanceof BrowserGone) throw error;
    return { model: { margin: [0, 0, 0, 0, 0, cssContentSize.height] } }; // the root element is not displayed
  });
  return { width, height: Math.max(1, Math.ceil(model.margin[5])) };
}
