// Shared browser: the one browser of this process, and the turns of the tasks that use it. Tasks run one after the other. There are two
// kinds of browser: one runs the code of designs and shows no images, the other shows images. Two never run at the same time: a task of
// the other kind ends the browser and starts its own. The browser is replaced after `jobs` tasks and after every failure, and ended when
// no task has come for idleMs.

import { internalError, RequestError } from '../errors.mjs';
import { LIMITS } from '../limits.mjs';
import { log } from '../log.mjs';
import { Browser, BrowserGone, findBrowser } from './browser.mjs';

/** The kinds of browser, as options of Browser.start. */
export const KINDS = Object.freeze({ code: { showsImages: false }, images: { showsImages: true } });

/** Error: no browser is installed. */
export class BrowserMissing extends Error {}

/** Error: the browser could not be started. */
export class BrowserNotStarted extends Error {}

export class SharedBrowser {
  #browser = null;
  #kind = null;
  /** Tasks that have used the browser. */
  #jobs = 0;
  #idleTimer = null;
  #last = Promise.resolve();
  #waiting = 0;
  #onIdle = new Set();

  /** @param {{find?: () => string|null, idleMs?: number, jobs?: number}} [options] for tests */
  constructor({ find = findBrowser, idleMs = LIMITS.browserIdleMs, jobs = LIMITS.browserJobs } = {}) {
    this.options = { find, idleMs, jobs };
  }

  /** The process id of the browser or null, for tests. */
  get pid() {
    return this.#browser?.isGone === false ? this.#browser.pid : null;
  }

  /** Calls a function whenever the browser is ended because no task has come. */
  whenIdle(listener) {
    this.#onIdle.add(listener);
  }

  /**
   * Runs a task when the earlier ones have ended. Resolves and rejects as the task does; rejects with a RequestError when too many wait.
   * The browser is ended when the task fails with any error but a RequestError.
   * @template T
   * @param {() => Promise<T>} task
   * @returns {Promise<T>}
   */
  take(task) {
    if (this.#waiting >= LIMITS.waitingRequests) return Promise.reject(internalError('Too many requests are waiting; try again.'));
    this.#waiting++;
    clearTimeout(this.#idleTimer);
    const done = this.#last.then(task).catch((error) => this.#onFailure(error)).finally(() => this.#onDone());
    this.#last = done.catch(() => {}); // the caller gets the error from `done`
    return done;
  }

  /**
   * Opens a page in a context of its own, for the task whose turn it is. A browser that has died unnoticed is replaced once. Rejects with
   * BrowserMissing or BrowserNotStarted.
   * @param {keyof typeof KINDS} kind
   * @param {{url?: string}} [options] those of Browser.openPage
   */
  async openPage(kind, options) {
    for (let attempt = 1; ; attempt++) {
      try {
        return await (await this.#startedBrowser(kind)).openPage(options);
      } catch (error) {
        if (!(error instanceof BrowserGone)) throw error;
        this.end();
        if (attempt === 2) throw this.#notStarted(error);
      }
    }
  }

  /**
   * Opens a page for the next task of this kind, while the running task ends. Resolves with null when that task will have another browser,
   * and rejects when the browser ends meanwhile: this starts none.
   */
  async openPageAhead(kind) {
    const isKept = this.#kind === kind && this.#browser?.isGone === false && this.#jobs + 1 < this.options.jobs;
    return isKept ? this.#browser.openPage() : null;
  }

  /** Ends the browser; the next task starts it again. */
  end() {
    clearTimeout(this.#idleTimer);
    this.#browser?.kill();
    this.#browser = null;
  }

  async #startedBrowser(kind) {
    if (this.#browser?.isGone === false && this.#kind === kind) return this.#browser;
    this.end();
    const path = this.options.find();
    if (path === null) throw new BrowserMissing();
    this.#browser = await Browser.start(path, KINDS[kind]);
    [this.#kind, this.#jobs] = [kind, 0];
    return this.#browser;
  }

  #notStarted({ reason }) {
    log('error', 'browser_start', { reason });
    return new BrowserNotStarted(reason);
  }

  #onFailure(error) {
    if (!(error instanceof RequestError)) this.end();
    throw error;
  }

  #onDone() {
    this.#waiting--;
    this.#jobs++;
    if (this.#jobs >= this.options.jobs) this.end();
    if (this.#waiting === 0) this.#idleTimer = setTimeout(() => this.#endIdle(), this.options.idleMs).unref();
  }

  #endIdle() {
    this.end();
    for (const listener of this.#onIdle) listener();
  }
}
