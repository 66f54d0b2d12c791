// The judges live in build/integration, beside nothing of ours: this is the one way to them. INTEGRATION_INSTALL names another
// folder.

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../..');
const folder = process.env.INTEGRATION_INSTALL ?? join(ROOT, 'build/integration');
if (!existsSync(join(folder, 'package.json'))) throw new Error(`${folder} does not hold the packages of tests/integration (judges.sh installs them)`);

/** Loads a module of the installed packages by its public name. */
export const load = createRequire(join(folder, 'package.json'));
