// A wall clock that a test moves, for programs started with `environment`. It is preloaded (LD_PRELOAD), so it does not work with a
// binary that was built with a sanitizer.

import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { BINARY } from './installation.mjs';

export class Clock {
  /** `file` holds the shift. Every user of the machine must be able to read it, PostgreSQL's too. */
  constructor(file) {
    this.file = file;
    this.setSeconds(0);
    this.environment = { LD_PRELOAD: join(dirname(BINARY), 'posthorn-clock.so'), POSTHORN_TEST_CLOCK: file };
  }

  /** How far it is ahead of the real one. */
  setSeconds(seconds) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(seconds));
    writeFileSync(this.file, bytes, { flag: existsSync(this.file) ? 'r+' : 'w' });
    this.seconds = seconds;
  }

  advance(seconds) {
    this.setSeconds(this.seconds + seconds);
  }

  dispose() {
    rmSync(this.file, { force: true });
  }
}
