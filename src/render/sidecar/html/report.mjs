// Report of a preparation: counts of removed elements and attributes, and warnings for the author. Names come from
// untrusted input, so they are checked, and both lists have a maximum length.

const MAX_KINDS = 60;
const MAX_WARNINGS = 40;
const PRINTABLE_NAME = /^[a-z0-9 @:_.-]{1,60}$/i;

export class Report {
  #removed = new Map();
  #warnings = new Map();

  /** Adds to the count of removals named `what`. */
  removed(what, count = 1) {
    const known = this.#removed.has(what);
    const name = known || (PRINTABLE_NAME.test(what) && this.#removed.size < MAX_KINDS) ? what : 'other';
    this.#removed.set(name, (this.#removed.get(name) ?? 0) + count);
  }

  /** Adds a warning. Each code has one warning, with its first message. */
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
