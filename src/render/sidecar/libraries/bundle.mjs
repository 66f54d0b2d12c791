// Makes one file of each group of libraries beside this one. A renderer loads the file in a third of the time that the hundreds
// of files of the packages take. The files are in the folder build, and `imports` of package.json names them #libraries/*.
// It does nothing when they are newer than all that they are made of. npm runs it after an installation, tests/setup.sh always.

import { readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const BUILD = join(FOLDER, 'build');

/** Packages that only options use which the renderer never sets: minifying, formatting, and fetching files. */
const UNUSED = /^(htmlnano|cssnano|cssnano-preset-lite|js-beautify|undici|web-resource-inliner|encoding-sniffer)$/;

const groups = () => readdirSync(FOLDER).filter((name) => name.endsWith('.mjs') && name !== 'bundle.mjs');

function changedAt(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function isFresh() {
  const sources = [...groups(), 'bundle.mjs', '../package-lock.json'].map((name) => join(FOLDER, name));
  const made = Math.min(...groups().map((name) => changedAt(join(BUILD, name))));
  return made > Math.max(...sources.map(changedAt));
}

const withoutUnused = {
  name: 'without-unused',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: UNUSED }, ({ path }) => ({ path, namespace: 'unused' }));
    onLoad({ filter: /.*/, namespace: 'unused' }, () => ({ contents: 'module.exports = {};' }));
  },
};

/** The files appear together, so that a renderer never loads half of them. */
async function buildBundles() {
  const { build } = await import('esbuild');
  const made = `${BUILD}.${process.pid}`;
  await build({
    entryPoints: groups().map((name) => join(FOLDER, name)),
    outdir: made,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    minifySyntax: true,
    minifyWhitespace: true,
    keepNames: true,
    charset: 'utf8',
    logLevel: 'error',
    banner: { js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);" },
    plugins: [withoutUnused],
  });
  rmSync(BUILD, { recursive: true, force: true });
  renameSync(made, BUILD);
}

if (!isFresh()) await buildBundles();
