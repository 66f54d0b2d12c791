// Turns of the browser: requests that need a browser run one after the other. Two browsers never run at the same time: the renderer
// of JSX, the painter and the viewer of websites each have their own, and the next one closes that of the one before.

import { internalError } from './errors.mjs';
import { LIMITS } from './limits.mjs';

export class BrowserTurns {
  #last = Promise.resolve();
  #owner = null;
  #waiting = 0;

  /**
   * Runs a task when the earlier ones have ended. Resolves and rejects as the task does; rejects with a RequestError when too many wait.
   * @template T
   * @param {{close: () => void}} owner has the browser that the task uses
   * @param {() => Promise<T>} task
   * @returns {Promise<T>}
   */
  take(owner, task) {
    if (this.#waiting >= LIMITS.waitingRequests) return Promise.reject(internalError('Too many requests are waiting; try again.'));
    this.#waiting++;
    const done = this.#last.then(() => this.#run(owner, task)).finally(() => { this.#waiting--; });
    this.#last = done.catch(() => {}); // the caller gets the error from `done`
    return done;
  }

  #run(owner, task) {
    if (this.#owner !== owner) this.#owner?.close();
    this.#owner = owner;
    return task();
  }
}
