// The judges live in build/integration, beside nothing of ours: this is the one way to them.

import { createRequire } from 'node:module';
import { join } from 'node:path';

const folder = process.env.INTEGRATION_INSTALL;
if (!folder) throw new Error('INTEGRATION_INSTALL must name the folder the packages of tests/integration are installed in');

/** Loads a module of the installed packages by its public name. */
export const load = createRequire(join(folder, 'package.json'));
