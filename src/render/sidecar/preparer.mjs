// The Preparer owns the worker thread and its FIFO queue. One preparation runs at a time, with a deadline and a heap
// limit. A preparation that exceeds one of them fails, and the thread is replaced.

import { Worker } from 'node:worker_threads';

import { WorkClock } from './deadline.mjs';
import { importFailed, internalError, RequestError } from './errors.mjs';
import { LIMITS } from './limits.mjs';
import { log } from './log.mjs';

/** Polling interval after the deadline in wall-clock time, until the preparation has used its processor time. */
const POLL_MS = 50;

export class Preparer {
  #worker = null;
  #isReady = false;
  #running = null;
  #waiting = [];
  #waitingBytes = 0;
  #closed = false;

  /** @param {{prepareMs?: number, workerHeapMb?: number}} [limits] tests pass smaller limits */
  constructor({ prepareMs = LIMITS.prepareMs, workerHeapMb = LIMITS.workerHeapMb } = {}) {
    this.prepareMs = prepareMs;
    this.workerHeapMb = workerHeapMb;
    this.#start();
  }

  /** True when the thread has loaded its code. */
  get ready() {
    return this.#isReady;
  }

  /** Resolves with the result; rejects with a RequestError. */
  prepare(source) {
    const bytes = source.content.length * 2;
    return new Promise((resolve, reject) => {
      const full = this.#waiting.length >= LIMITS.waitingRequests || this.#waitingBytes + bytes > LIMITS.waitingBytes;
      if (full && this.#running !== null) {
        reject(internalError('Too many requests are waiting; try again.'));
        return;
      }
      this.#waitingBytes += bytes;
      this.#waiting.push({ source, bytes, resolve, reject });
      this.#next();
    });
  }

  /** Ends the thread. Running and queued preparations never settle. */
  async close() {
    this.#closed = true;
    clearTimeout(this.#running?.timer);
    await this.#worker.terminate();
  }

  #start() {
    const worker = new Worker(new URL('./worker.mjs', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: this.workerHeapMb },
      // Output of libraries must not reach standard output, because the protocol uses it.
      stdout: true,
      stderr: true,
    });
    worker.stdout.resume();
    worker.stderr.resume();
    worker.on('message', (answer) => this.#onMessage(worker, answer));
    worker.on('error', (error) => this.#onWorkerDeath(worker, error));
    this.#worker = worker;
    this.#isReady = false;
  }

  #onMessage(worker, answer) {
    if (worker !== this.#worker) return; // a late message of a thread that was replaced
    if (answer.ready) this.#isReady = true;
    else this.#finish(answer);
  }

  #next() {
    if (this.#running !== null || this.#waiting.length === 0 || this.#closed) return;
    const job = this.#waiting.shift();
    this.#waitingBytes -= job.bytes;
    job.work = new WorkClock();
    job.timer = setTimeout(() => this.#onDeadline(job), this.prepareMs);
    this.#running = job;
    this.#worker.postMessage(job.source);
  }

  #finish({ result, error, bug }) {
    const job = this.#running;
    if (job === null) return;
    this.#running = null;
    clearTimeout(job.timer);
    if (bug) log('error', 'prepare_bug', bug);
    if (result) job.resolve(result);
    else job.reject(error ? new RequestError(error.code, error.param ?? null, error.message)
      : internalError('The content could not be prepared because of an internal error.'));
    this.#next();
  }

  #onDeadline(job) {
    if (this.#running !== job) return;
    if (!job.work.hasHad(this.prepareMs, this.prepareMs * LIMITS.prepareWaitFactor)) {
      job.timer = setTimeout(() => this.#onDeadline(job), POLL_MS);
      return;
    }
    log('warn', 'prepare_deadline', { ms: this.prepareMs });
    this.#replaceWorker();
    this.#finish({ error: importFailed('The content takes too long to prepare.').toWire() });
  }

  #onWorkerDeath(worker, error) {
    if (worker !== this.#worker || this.#closed) return;
    log('warn', 'worker_died', { code: error?.code ?? error?.name ?? 'unknown' });
    this.#replaceWorker();
    const outOfMemory = error?.code === 'ERR_WORKER_OUT_OF_MEMORY';
    this.#finish({ error: outOfMemory ? importFailed('The content takes too much memory to prepare.').toWire() : undefined });
  }

  #replaceWorker() {
    const old = this.#worker;
    this.#start();
    old.terminate().catch(() => {}); // an error in a discarded thread does not matter
  }
}
