// Programs that a test hides.

import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

/** A PATH with every program but one. It is a new folder in `folder`. */
export function pathWithout(folder, program) {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  for (const name of readdirSync('/usr/bin')) {
    if (name !== program) symlinkSync(join('/usr/bin', name), join(bin, name));
  }
  return bin;
}
