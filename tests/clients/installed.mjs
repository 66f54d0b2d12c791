// The published clients live in build/clients, beside nothing of ours: this is the one way to them.

import { createRequire } from 'node:module';
import { join } from 'node:path';

const installDir = process.env.CLIENTS_INSTALL;
if (!installDir) throw new Error('CLIENTS_INSTALL must name the folder the client packages are installed in');

/** Loads a module of the installed packages by its public name. */
export const load = createRequire(join(installDir, 'package.json'));

/** The Inspector's launcher script. */
export const INSPECTOR = join(installDir, 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js');
