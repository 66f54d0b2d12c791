// Counts checks and prints a line for each, as it is decided. A check is a function that throws when the server is wrong.

const CHECK_LIMIT_MS = 150_000;

export class Report {
  passed = 0;
  failed = 0;

  /** Runs `body` under `name`; gives what it returned, or undefined when it threw or took too long. */
  async check(name, body) {
    try {
      const value = await withLimit(body(), CHECK_LIMIT_MS);
      this.passed += 1;
      console.log(`ok   ${name}`);
      return value;
    } catch (error) {
      this.failed += 1;
      console.log(`FAIL ${name}: ${firstLines(error)}`);
      return undefined;
    }
  }

  /** Prints the total; gives the exit code. */
  finish() {
    console.log(`${this.passed} passed, ${this.failed} failed`);
    return this.failed === 0 && this.passed > 0 ? 0 : 1;
  }
}

/** Rejects when `promise` has not settled after `limitMs`. */
export async function withLimit(promise, limitMs) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${limitMs} ms`)), limitMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

function firstLines(error) {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/\s+/g, ' ').slice(0, 500);
}
