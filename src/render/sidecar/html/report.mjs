// What a preparation took out and what its author should know. Names come from hostile input, so they are checked,
// and both lists are bounded.

const MAX_KINDS = 60;
const MAX_WARNINGS = 40;
const PRINTABLE_NAME = /^[a-z0-9 @:_.-]{1,60}$/i;

export class Report {
  #removed = new Map();
  #warnings = new Map();

  /** Counts one removed thing under the words `what`. */
  removed(what, count = 1) {
    const known = this.#removed.has(what);
    const name = known || (PRINTABLE_NAME.test(what) && this.#removed.size < MAX_KINDS) ? what : 'other';
    this.#removed.set(name, (this.#removed.get(name) ?? 0) + count);
  }

  /** Warns once per code: the first message stands. */
  warn(code, message) {
    if (!this.#warnings.has(code) && this.#warnings.size < MAX_WARNINGS) this.#warnings.set(code, message);
  }

  toResult(htmlBytes) {
    const byName = (a, b) => (a[0] < b[0] ? -1 : 1);
    return {
      removed: [...this.#removed].sort(byName).map(([what, count]) => ({ what, count })),
      warnings: [...this.#warnings].map(([code, message]) => ({ code, message })),
      htmlBytes,
    };
  }
}
