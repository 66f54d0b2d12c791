// The judges live in build/third_party, beside nothing of ours: this is the one way to them. THIRD_PARTY_INSTALL names another
// folder.

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../..');
const folder = process.env.THIRD_PARTY_INSTALL ?? join(ROOT, 'build/third_party');
if (!existsSync(join(folder, 'package.json'))) throw new Error(`${folder} does not hold the packages of tests/third_party (tests/third_party.sh installs them)`);

/** Loads a module of the installed packages by its public name. */
export const load = createRequire(join(folder, 'package.json'));
