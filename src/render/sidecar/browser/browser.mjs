// Headless Chromium that runs the code of JSX designs (../jsx), draws pages (../pictures), shows websites (../site)
// and checks emails (../quality/browser).
// This process controls it over the debugging pipe (descriptors 3 and 4, NUL-terminated JSON). The browser has no
// network: no name resolves, every address goes to a proxy that does not exist, the content security policy of the page allows no
// source, and this process fails every remaining request. Each page has its own browser context. The browser ends when the pipe closes,
// so also when this process dies. shared_browser.mjs owns it.

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { accessSync, constants, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

import { LIMITS } from '../limits.mjs';
import { LineSplitter } from '../lines.mjs';
import { log } from '../log.mjs';

const PROGRAM = 'chromium-headless-shell';
const NOBODY = 65534;
const NUL = 0;
const STDERR_CHARS = 4096;
/** A page is idle when it uses less than this share of the processor during at least POLL_MS. */
const IDLE_SHARE = 0.02;
const POLL_MS = 500;
const POLL_PAGE_MS = 5;
/** The error of Chromium while one document of a page replaces another. */
const NOT_YET_ACTIVE = 'Not attached to an active page';

/**
 * A shell with the user and the limits of the browser makes its folder, and removes it after the browser has ended for any
 * reason. The unit of `ulimit -f` is 512 bytes, that of `-d` 1024. The soft file limit of this process may be 0.
 */
const SHELL = `umask 077; mkdir "$HOME" || exit 1; ulimit -S -f ${LIMITS.browserFileMb * 2048}; ulimit -d ${LIMITS.browserDataMb * 1024};
"$@"; rm -rf "$HOME"`;

const FLAGS = [
  '--remote-debugging-pipe', '--disable-gpu', '--disable-dev-shm-usage', '--mute-audio', '--no-first-run',
  '--no-default-browser-check', '--disable-background-networking', '--disable-component-update', '--disable-default-apps',
  '--disable-extensions', '--disable-sync', '--disable-breakpad', '--disable-domain-reliability', '--dns-prefetch-disable',
  '--renderer-process-limit=1',
  '--host-resolver-rules=MAP * ~NOTFOUND', '--proxy-server=http://127.0.0.1:9', '--proxy-bypass-list=<-loopback>',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  `--js-flags=--max-old-space-size=${LIMITS.browserHeapMb}`,
];

const WITHOUT_IMAGES = '--blink-settings=imagesEnabled=false';

const PAGE = `data:text/html,${encodeURIComponent('<meta http-equiv="Content-Security-Policy" content="default-src \'none\'">')}`;

/** Error: the page or the whole browser has ended. `reason` is the cause. */
export class BrowserGone extends Error {
  /** @param {"ended"|"crashed"|"deadline"|"flood"} reason */
  constructor(reason) {
    super(`the browser is gone: ${reason}`);
    this.reason = reason;
  }
}

/** The path of the browser, or null when it is not installed. */
export function findBrowser() {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, PROGRAM);
    if (folder !== '' && isExecutable(path)) return path;
  }
  return null;
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export class Browser {
  #child;
  #folder;
  #lastId = 0;
  #waiting = new Map();
  #pages = new Map();
  #gone = null;
  /** Standard error of the browser before a design runs. Later output may quote a design and is not read. */
  #stderr = '';
  #isStarted = false;

  /**
   * Starts the browser with its own sandbox, or without it when the system does not allow one.
   * @param {string} path
   * @param {{showsImages?: boolean}} [options]
   */
  static async start(path, { showsImages = false } = {}) {
    for (const flags of [[], ['--no-sandbox']]) {
      const browser = new Browser(path, showsImages ? flags : [WITHOUT_IMAGES, ...flags]);
      try {
        await browser.send('Browser.getVersion', {}, { ms: LIMITS.jsxStartMs });
        browser.#isStarted = true;
        if (flags.length > 0) log('warn', 'browser_unsandboxed');
        return browser;
      } catch (error) {
        browser.kill(error.reason ?? 'ended');
        log('warn', 'browser_start_failed', { reason: error.reason, sandbox: flags.length === 0, said: browser.#stderr.trim().split('\n').at(-1) });
        if (error.reason !== 'ended') throw error;
      }
    }
    throw new BrowserGone('ended');
  }

  constructor(path, flags) {
    this.#folder = join(tmpdir(), `posthorn-chromium-${randomBytes(8).toString('hex')}`);
    this.#child = spawn('/bin/sh', ['-c', SHELL, 'sh', path, ...FLAGS, ...flags, `--user-data-dir=${this.#folder}`], {
      env: { PATH: process.env.PATH, HOME: this.#folder, TMPDIR: this.#folder, LANG: 'C.UTF-8', TZ: 'UTC' },
      cwd: '/',
      detached: true, // its own process group, which is killed as a whole
      stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
      ...unprivilegedUser(),
    });
    const [input, output] = [this.#child.stdio[3], this.#child.stdio[4]];
    const messages = new LineSplitter(LIMITS.browserMessageBytes, (text) => this.#receive(text), () => this.kill('flood'), NUL);
    output.on('data', (chunk) => messages.push(chunk));
    output.on('close', () => this.kill('ended'));
    this.#child.stderr.on('data', (chunk) => {
      if (!this.#isStarted && this.#stderr.length < STDERR_CHARS) this.#stderr += chunk;
    });
    for (const stream of [input, output, this.#child.stderr]) stream.on('error', () => this.kill('ended'));
    this.#child.on('error', () => this.kill('ended'));
    this.#child.on('exit', () => this.kill('ended'));
  }

  get isGone() {
    return this.#gone !== null;
  }

  /** The process id of the browser, for tests. */
  get pid() {
    return this.#child.pid;
  }

  /** Sends a command. Resolves with its result; rejects with BrowserGone or an error of the browser. */
  send(method, params = {}, { sessionId, ms = LIMITS.jsxStartMs } = {}) {
    if (this.#gone) return Promise.reject(this.#gone);
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.kill('deadline'), ms);
      this.#waiting.set(id, { resolve, reject, timer, sessionId });
      this.#child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  /** Opens a page in its own browser context, without network. `url` is a data: address. */
  async openPage({ url = PAGE } = {}) {
    const { browserContextId } = await this.send('Target.createBrowserContext');
    const { targetId } = await this.send('Target.createTarget', { url, browserContextId });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    const page = new Page(this, sessionId, browserContextId);
    this.#pages.set(sessionId, page);
    await Promise.all([
      page.send('Inspector.enable'), page.send('Page.enable'), page.send('Fetch.enable', { patterns: [{ urlPattern: '*' }] }),
    ]);
    await page.untilLoaded();
    return page;
  }

  /**
   * Watchdog: kills the browser when its pages have used `ms` of processor time, or were idle that long. Time of other
   * programs does not count, so the same code has the same result on a busy machine. Returns a function that ends the watch.
   */
  limitWork(ms) {
    let timer = null;
    let isOver = false;
    const watch = async () => {
      let used = 0;
      for (let [before, since] = [await this.#pageTimes(), performance.now()]; !isOver;) {
        await new Promise((done) => { timer = setTimeout(done, Math.max(ms - used, POLL_MS)); });
        const [times, now] = [await this.#pageTimes(), performance.now()];
        const had = [...times].reduce((sum, [id, time]) => sum + time - (before.get(id) ?? 0), 0);
        used += had;
        if (!isOver && (used >= ms || had < IDLE_SHARE * (now - since))) this.kill('deadline');
        [before, since] = [times, now];
      }
    };
    watch().catch(() => { if (!isOver) this.kill('deadline'); });
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }

  /** Processor time in milliseconds of each process that runs pages, by process id. */
  async #pageTimes() {
    const { processInfo } = await this.send('SystemInfo.getProcessInfo');
    return new Map(processInfo.filter(({ type }) => type === 'renderer').map(({ id, cpuTime }) => [id, cpuTime * 1000]));
  }

  closePage(page) {
    this.#pages.delete(page.sessionId);
    if (!this.#gone) this.send('Target.disposeBrowserContext', { browserContextId: page.contextId }).catch(() => {}); // the browser may end meanwhile
  }

  /** Kills all processes of the browser. Commands without a reply reject with `reason`. */
  kill(reason = 'ended') {
    if (this.#gone) return;
    this.#gone = new BrowserGone(reason);
    try {
      process.kill(-this.#child.pid, 'SIGKILL');
    } catch {
      // the browser has already ended, or could not be started
    }
    for (const stream of this.#child.stdio) stream?.destroy();
    this.#fail(() => true, this.#gone);
    rm(this.#folder, { recursive: true, force: true, maxRetries: 5 }).catch(() => {}); // the shell was killed before it could remove the folder
  }

  #fail(concerns, error) {
    for (const [id, { reject, timer, sessionId }] of this.#waiting) {
      if (!concerns(sessionId)) continue;
      this.#waiting.delete(id);
      clearTimeout(timer);
      reject(error);
    }
  }

  #receive(text) {
    const { id, method, params, result, error, sessionId } = JSON.parse(text);
    const waiting = this.#waiting.get(id);
    if (waiting) {
      this.#waiting.delete(id);
      clearTimeout(waiting.timer);
      if (error) waiting.reject(new Error(error.message));
      else waiting.resolve(result);
    } else if (method === 'Inspector.targetCrashed') {
      this.#fail((session) => session === sessionId, new BrowserGone('crashed'));
    } else {
      this.#pages.get(sessionId)?.onEvent(method, params);
    }
  }
}

/** A page to run code in. */
class Page {
  /** Answers a request of the page: (params) => whether it has. Other requests fail, and all of them when it is null. */
  onRequest = null;
  /** Called when a document is loaded; null: not wanted. */
  onLoad = null;
  /** The context of runApart, once it is there. */
  #worldId = null;

  constructor(browser, sessionId, contextId) {
    this.browser = browser;
    this.sessionId = sessionId;
    this.contextId = contextId;
  }

  /** Sends a command. Repeats it while the page that it is for replaces another one. */
  async send(method, params = {}, ms = LIMITS.jsxStartMs) {
    const deadline = performance.now() + ms;
    for (;;) {
      try {
        return await this.browser.send(method, params, { sessionId: this.sessionId, ms });
      } catch (error) {
        if (error.message !== NOT_YET_ACTIVE || performance.now() > deadline) throw error;
      }
      await new Promise((done) => { setTimeout(done, POLL_PAGE_MS); });
    }
  }

  /**
   * Waits until the requested page is loaded. A target starts with an empty page, and code that runs there is lost. This
   * polls, because the load event can come before a listener is installed.
   */
  async untilLoaded() {
    const deadline = performance.now() + LIMITS.jsxStartMs;
    for (;;) {
      const { value } = await this.run("location.protocol === 'data:' && document.readyState === 'complete'", LIMITS.jsxStartMs);
      if (value === true) return;
      if (performance.now() > deadline) {
        this.browser.kill('deadline');
        throw new BrowserGone('deadline');
      }
      await new Promise((done) => { setTimeout(done, POLL_PAGE_MS); });
    }
  }

  /**
   * Runs a script and awaits its promise: { value }, or { thrown: string } with the stack. After `ms` the whole browser is
   * killed, because a busy page handles no commands.
   */
  async run(expression, ms, contextId = undefined) {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', {
      expression, contextId, awaitPromise: true, returnByValue: true, allowUnsafeEvalBlockedByCSP: false,
    }, ms).catch((error) => {
      if (error instanceof BrowserGone) throw error;
      return { result: {}, exceptionDetails: { text: 'the page was closed or navigated away' } }; // navigation ends the script
    });
    if (!exceptionDetails) return { value: result.value };
    return { thrown: String(exceptionDetails.exception?.description ?? exceptionDetails.exception?.value ?? exceptionDetails.text) };
  }

  /** `run` beside the scripts of the page, also where these are off: both share the document, and no objects. */
  async runApart(expression, ms) {
    this.#worldId ??= await this.#openWorld();
    return this.run(expression, ms, this.#worldId);
  }

  async #openWorld() {
    const { frameTree } = await this.send('Page.getFrameTree');
    const { executionContextId } = await this.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id, worldName: 'posthorn' });
    return executionContextId;
  }

  /** `run` for untrusted code: `ms` of processor time, and at most `waitMs` of wall-clock time. */
  async runWithin(expression, ms, waitMs) {
    const endWatch = this.browser.limitWork(ms);
    return this.run(expression, waitMs).finally(endWatch);
  }

  onEvent(method, params) {
    const ignoreEnd = () => {}; // the call that waits for the page gets the error
    if (method === 'Page.loadEventFired') {
      this.onLoad?.();
    } else if (method === 'Fetch.requestPaused') {
      if (this.onRequest?.(params) === true) return;
      this.send('Fetch.failRequest', { requestId: params.requestId, errorReason: 'BlockedByClient' }).catch(ignoreEnd);
    } else if (method === 'Page.javascriptDialogOpening') {
      this.send('Page.handleJavaScriptDialog', { accept: false }).catch(ignoreEnd);
    }
  }

  close() {
    this.browser.closePage(this);
  }
}

/** The user of the browser: nobody in place of root. Chromium's sandbox refuses root, and untrusted code must not run as root. */
function unprivilegedUser() {
  if (process.getuid?.() !== 0) return {};
  const entry = /^nobody:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8'));
  return { uid: Number(entry?.[1] ?? NOBODY), gid: Number(entry?.[2] ?? NOBODY) };
}
