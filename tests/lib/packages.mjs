// The npm packages of a test suite are installed in build/NAME, outside the tree, so that no file of ours resolves one by accident.

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const BUILD = join(import.meta.dirname, '../../build');

/** The folder with the packages of the suite `name`. The environment variable NAME_INSTALL names another one. */
export function packageFolder(name) {
  const folder = resolve(process.env[`${name.toUpperCase()}_INSTALL`] ?? join(BUILD, name)); // packages are required by absolute paths only
  if (!existsSync(join(folder, 'package.json'))) throw new Error(`${folder} does not hold the packages of tests/${name}; tests/${name}.sh installs them`);
  return folder;
}

/** Gives a `require` that loads installed packages of the suite `name` by their public names. */
export function packagesOf(name) {
  return createRequire(join(packageFolder(name), 'package.json'));
}
