// A headless Chromium for running the code of JSX designs, spoken to over its debugging pipe (descriptors 3 and 4,
// NUL-terminated JSON). It gets no network: no names resolve, every address goes to a proxy that is not there, the page
// has a content policy without sources, and every request that is made nevertheless is failed here. Each page lives in a
// browser context of its own. The browser ends when the pipe closes, so also when this process dies.

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
const SAID_CHARS = 4096;
/** A page that has less of the processor than this, over at least so long, waits for something. */
const IDLE_SHARE = 0.02;
const LOOK_MS = 500;

/**
 * The browser's folder is made, and removed after it has ended however that was, by a shell that has its user and its
 * limits. `ulimit -f` counts 512 bytes, `-d` 1024; this process's own soft limit of files may be 0.
 */
const SHELL = `umask 077; mkdir "$HOME" || exit 1; ulimit -S -f ${LIMITS.browserFileMb * 2048}; ulimit -d ${LIMITS.browserDataMb * 1024};
"$@"; rm -rf "$HOME"`;

const FLAGS = [
  '--remote-debugging-pipe', '--disable-gpu', '--disable-dev-shm-usage', '--mute-audio', '--no-first-run',
  '--no-default-browser-check', '--disable-background-networking', '--disable-component-update', '--disable-default-apps',
  '--disable-extensions', '--disable-sync', '--disable-breakpad', '--disable-domain-reliability', '--dns-prefetch-disable',
  '--renderer-process-limit=1', '--blink-settings=imagesEnabled=false',
  '--host-resolver-rules=MAP * ~NOTFOUND', '--proxy-server=http://127.0.0.1:9', '--proxy-bypass-list=<-loopback>',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  `--js-flags=--max-old-space-size=${LIMITS.browserHeapMb}`,
];

const PAGE = `data:text/html,${encodeURIComponent('<meta http-equiv="Content-Security-Policy" content="default-src \'none\'">')}`;

/** The page or the whole browser is gone; `reason` says how. */
export class BrowserGone extends Error {
  /** @param {"ended"|"crashed"|"deadline"|"flood"} reason */
  constructor(reason) {
    super(`the browser is gone: ${reason}`);
    this.reason = reason;
  }
}

/** The program's path, or null when it is not installed. */
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
  /** What the programs write to standard error before any design runs; later it may quote one and is not read. */
  #said = '';
  #isStarted = false;

  /**
   * Starts the program; with its own sandbox, or without it where the system does not let it have one.
   * @param {string} path
   */
  static async start(path) {
    for (const flags of [[], ['--no-sandbox']]) {
      const browser = new Browser(path, flags);
      try {
        await browser.send('Browser.getVersion', {}, { ms: LIMITS.jsxStartMs });
        browser.#isStarted = true;
        if (flags.length > 0) log('warn', 'browser_unsandboxed');
        return browser;
      } catch (error) {
        browser.kill(error.reason ?? 'ended');
        log('warn', 'browser_start_failed', { reason: error.reason, sandbox: flags.length === 0, said: browser.#said.trim().split('\n').at(-1) });
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
      detached: true, // a process group of its own, to be ended as one
      stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
      ...ordinaryUser(),
    });
    const [input, output] = [this.#child.stdio[3], this.#child.stdio[4]];
    const messages = new LineSplitter(LIMITS.browserMessageBytes, (text) => this.#receive(text), () => this.kill('flood'), NUL);
    output.on('data', (chunk) => messages.push(chunk));
    output.on('close', () => this.kill('ended'));
    this.#child.stderr.on('data', (chunk) => {
      if (!this.#isStarted && this.#said.length < SAID_CHARS) this.#said += chunk;
    });
    for (const stream of [input, output, this.#child.stderr]) stream.on('error', () => this.kill('ended'));
    this.#child.on('error', () => this.kill('ended'));
    this.#child.on('exit', () => this.kill('ended'));
  }

  get isGone() {
    return this.#gone !== null;
  }

  /** The program's process id, for tests. */
  get pid() {
    return this.#child.pid;
  }

  /** Sends a command; resolves with its result, rejects with BrowserGone or the browser's own error. */
  send(method, params = {}, { sessionId, ms = LIMITS.jsxStartMs } = {}) {
    if (this.#gone) return Promise.reject(this.#gone);
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.kill('deadline'), ms);
      this.#waiting.set(id, { resolve, reject, timer, sessionId });
      this.#child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  /** A new page in a context of its own, without network. */
  async openPage() {
    const { browserContextId } = await this.send('Target.createBrowserContext');
    const { targetId } = await this.send('Target.createTarget', { url: PAGE, browserContextId });
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
   * Kills the browser when its pages have had `ms` of processor time, or wait for something that long. What other programs
   * take does not count, so that the same code ends in the same way on a busy machine. Gives a function that ends the watch.
   */
  limitWork(ms) {
    let timer = null;
    let isOver = false;
    const watch = async () => {
      let used = 0;
      for (let [before, since] = [await this.#pageTimes(), performance.now()]; !isOver;) {
        await new Promise((done) => { timer = setTimeout(done, Math.max(ms - used, LOOK_MS)); });
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

  /** Milliseconds of processor time by process, of those that run pages. */
  async #pageTimes() {
    const { processInfo } = await this.send('SystemInfo.getProcessInfo');
    return new Map(processInfo.filter(({ type }) => type === 'renderer').map(({ id, cpuTime }) => [id, cpuTime * 1000]));
  }

  closePage(page) {
    this.#pages.delete(page.sessionId);
    if (!this.#gone) this.send('Target.disposeBrowserContext', { browserContextId: page.contextId }).catch(() => {}); // it may die meanwhile
  }

  /** Ends all its processes at once; what waits for an answer is told `reason`. */
  kill(reason = 'ended') {
    if (this.#gone) return;
    this.#gone = new BrowserGone(reason);
    try {
      process.kill(-this.#child.pid, 'SIGKILL');
    } catch {
      // it has ended by itself, or could not be started
    }
    for (const stream of this.#child.stdio) stream?.destroy();
    this.#fail(() => true, this.#gone);
    rm(this.#folder, { recursive: true, force: true, maxRetries: 5 }).catch(() => {}); // its shell could not do it any more
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
  constructor(browser, sessionId, contextId) {
    this.browser = browser;
    this.sessionId = sessionId;
    this.contextId = contextId;
  }

  send(method, params = {}, ms = undefined) {
    return this.browser.send(method, params, { sessionId: this.sessionId, ms });
  }

  /**
   * Waits until the page is the one that was asked for: it begins as an empty one, and what runs there is lost with it. It
   * is asked again and again, because an event that says so can come before anybody listens.
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
      await new Promise((done) => { setTimeout(done, 5); });
    }
  }

  /**
   * Runs a script and awaits the promise it gives: { value } or { thrown: string }, the latter with the stack. When it
   * takes longer than `ms`, the whole browser is killed: a busy page listens to nothing.
   */
  async run(expression, ms) {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', {
      expression, awaitPromise: true, returnByValue: true, allowUnsafeEvalBlockedByCSP: false,
    }, ms).catch((error) => {
      if (error instanceof BrowserGone) throw error;
      return { result: {}, exceptionDetails: { text: 'the page was left' } }; // navigation ends the script
    });
    if (!exceptionDetails) return { value: result.value };
    return { thrown: String(exceptionDetails.exception?.description ?? exceptionDetails.exception?.value ?? exceptionDetails.text) };
  }

  /** The same for code of others: `ms` of processor time, and at most `waitMs` by the clock. */
  async runWithin(expression, ms, waitMs) {
    const endWatch = this.browser.limitWork(ms);
    return this.run(expression, waitMs).finally(endWatch);
  }

  onEvent(method, params) {
    const ignoreEnd = () => {}; // the call that waits for the page gets the error
    if (method === 'Fetch.requestPaused') {
      this.send('Fetch.failRequest', { requestId: params.requestId, errorReason: 'BlockedByClient' }).catch(ignoreEnd);
    } else if (method === 'Page.javascriptDialogOpening') {
      this.send('Page.handleJavaScriptDialog', { accept: false }).catch(ignoreEnd);
    }
  }

  close() {
    this.browser.closePage(this);
  }
}

/** Chromium's sandbox refuses root, and code of others should not have its rights. */
function ordinaryUser() {
  if (process.getuid?.() !== 0) return {};
  const entry = /^nobody:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8'));
  return { uid: Number(entry?.[1] ?? NOBODY), gid: Number(entry?.[2] ?? NOBODY) };
}
