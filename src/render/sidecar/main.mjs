// Main program of the renderer sidecar: reads requests as JSON lines from standard input and writes replies as JSON lines
// to standard output, until standard input ends. See README.md.

import { readFileSync } from 'node:fs';

import { findBrowser } from './browser/browser.mjs';
import { SharedBrowser } from './browser/shared_browser.mjs';
import { WorkClock } from './deadline.mjs';
import { internalError, placeOf, RequestError, tooLarge } from './errors.mjs';
import { LIMITS } from './limits.mjs';
import { LineSplitter } from './lines.mjs';
import { log } from './log.mjs';
import { Preparer } from './preparer.mjs';
import { idOfLongLine, readRequest } from './request.mjs';

const { version } = JSON.parse(readFileSync(new URL('./package.json', import.meta.url), 'utf8'));
const preparer = new Preparer();
const browsers = new SharedBrowser();
/** What uses the browser. The first request that needs one of them loads it. */
let jsxRenderer = null;
let siteBrowser = null;
let painter = null;
let shownChecker = null;
/** Count of requests that were read and have no reply yet. */
let unanswered = 0;

function reply(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
  if (process.stdout.writableLength > LIMITS.unreadReplyBytes) {
    log('error', 'replies_unread', { bytes: process.stdout.writableLength });
    process.exit(1);
  }
}

function replyError(id, error) {
  reply({ id, ok: false, error: error.toWire() });
}

/** Resolves with the result of a `prepare` request. */
async function prepare({ format, content, baseUrl }) {
  if (format !== 'jsx') return preparer.prepare({ format, content, baseUrl });
  const { JsxRenderer } = await import('./jsx/jsx.mjs');
  jsxRenderer ??= new JsxRenderer(browsers);
  const html = await jsxRenderer.render(content);
  return preparer.prepare({ format: 'html', content: html, baseUrl });
}

/** Resolves with the result of a request that shows something of a website. */
async function showSite(request) {
  const { SiteBrowser } = await import('./site/site_browser.mjs');
  siteBrowser ??= new SiteBrowser(browsers);
  return request.op === 'showPage' ? siteBrowser.show(request) : siteBrowser.draw(request);
}

/** Resolves with the result of a request that draws a page or the frames of a video. */
async function paint(request) {
  const { Painter } = await import('./pictures/painter.mjs');
  painter ??= new Painter(browsers);
  return request.op === 'drawPage' ? painter.drawPage(request) : painter.drawFrames(request);
}

/** Resolves with the report about a shown mail. */
async function checkShown(request) {
  const { ShownChecker } = await import('./quality/browser/check_shown.mjs');
  shownChecker ??= new ShownChecker(browsers);
  return shownChecker.check(request);
}

/** Resolves with the picture of a mail as a client shows it. The worker thread changes the mail, the browser draws it. */
async function drawClient({ html, text, client, files }) {
  const types = Object.fromEntries(Object.entries(files).map(([address, { type }]) => [address, type]));
  const mail = await preparer.prepare({ op: 'dressMail', content: JSON.stringify({ html, text, client, types }) });
  const shown = Object.fromEntries(Object.entries(files).filter(([address]) => !mail.hidden.includes(address)));
  const { png, small, width, height, isCut } = await paint({
    op: 'drawPage', content: mail.html, width: client.width, density: client.density, maxHeight: LIMITS.previewHeight,
    isDark: client.inversion === 'preferred', zoomsOut: client.zoomsOut === true, hasSmall: true, files: client.images === false ? {} : shown,
  });
  return { png, small, width, height, isCut, transforms: mail.transforms, dataDate: mail.dataDate };
}

/** The operations of this process. Those of the worker thread are all others. */
const OPERATIONS = { prepare, showPage: showSite, drawPicture: showSite, drawPage: paint, drawFrames: paint, drawClient, checkShown };

function run(request) {
  return Object.hasOwn(OPERATIONS, request.op) ? OPERATIONS[request.op](request) : preparer.prepare(request);
}

async function handleLine(line) {
  unanswered++;
  await answer(line);
  unanswered--;
}

async function answer(line) {
  const { id, request, error } = readRequest(line);
  if (error) {
    replyError(id, error);
    return;
  }
  if (request.op === 'ping') {
    reply({ id, ok: true, result: { pong: true, version, jsx: findBrowser() !== null } });
    return;
  }
  try {
    reply({ id, ok: true, result: await run(request) });
  } catch (failure) {
    if (!(failure instanceof RequestError)) log('error', 'request_bug', { name: failure?.name, place: placeOf(failure) });
    replyError(id, failure instanceof RequestError ? failure : internalError('The request failed because of an internal error.'));
  }
}

const lines = new LineSplitter(LIMITS.lineBytes, handleLine, (start) => {
  replyError(idOfLongLine(start), tooLarge(null, `The request is longer than ${LIMITS.lineBytes} bytes.`));
});

const pause = () => new Promise((done) => { setTimeout(done, 10); });

/** Waits for the running requests, within drainMs. The time in which the worker thread loads its code does not count. */
async function drain() {
  const latest = performance.now() + LIMITS.drainWaitMs;
  while (unanswered > 0 && !preparer.ready && performance.now() < latest) await pause();
  const work = new WorkClock();
  while (unanswered > 0 && !work.hasHad(LIMITS.drainMs, LIMITS.drainWaitMs)) await pause();
  return unanswered === 0;
}

/** Resolves when the replies are written, or when the parent has read nothing for unreadWaitMs. */
async function flush() {
  let isWritten = false;
  let left = process.stdout.writableLength;
  let movedAt = performance.now();
  process.stdout.end(() => { isWritten = true; });
  while (!isWritten && performance.now() - movedAt < LIMITS.unreadWaitMs) {
    await pause();
    if (process.stdout.writableLength !== left) [left, movedAt] = [process.stdout.writableLength, performance.now()];
  }
}

/** Shutdown after the end of input: running requests may finish within drainMs, then the replies are flushed and the process exits. */
async function shutDown() {
  lines.end();
  if (!await drain()) log('warn', 'left_unfinished');
  await flush();
  process.exit(0);
}

process.stdin.on('data', (chunk) => lines.push(chunk));
process.stdin.on('end', shutDown);
process.stdin.on('error', shutDown);
process.stdout.on('error', () => process.exit(1)); // the parent has closed the pipe
