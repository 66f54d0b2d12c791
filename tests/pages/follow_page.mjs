// Follows pages of docs to the letter, in a copy of the source tree at build/first-operation. A block of a page creates, appends to
// or changes a file, or runs commands.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../..');
export const COPY = join(ROOT, 'build/first-operation');
const COMMAND_LIMIT_MS = 1_200_000; // a build on a busy machine

/** The text of a file of the copy. */
export const read = (file) => readFileSync(join(COPY, file), 'utf8');

// ---- The copy ----

/** The packages of npm, and what is made of them, are not part of the tree, but their versions are pinned: the copy shares them. */
const INSTALLED = ['build/node', 'src/render/sidecar/node_modules', 'src/render/sidecar/libraries/build', 'src/mail/lists/node_modules',
  'tests/cases/runner/node_modules', 'tests/openapi/node_modules'];

/** Makes a fresh copy of the source tree. */
export function copyTree() {
  rmSync(COPY, { recursive: true, force: true });
  const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT, maxBuffer: 1 << 26 });
  for (const file of list.toString().split('\0').filter((name) => name !== '' && existsSync(join(ROOT, name))))
    cpSync(join(ROOT, file), join(COPY, file), { verbatimSymlinks: true });
  for (const folder of INSTALLED.filter((name) => existsSync(join(ROOT, name)))) {
    mkdirSync(dirname(join(COPY, folder)), { recursive: true });
    symlinkSync(join(ROOT, folder), join(COPY, folder));
  }
}

// ---- The blocks of the page ----

/** The blocks to follow, in order: {language, file?, action, text}. Other blocks are only shown. */
function readBlocks(page) {
  const fences = page.matchAll(/^```(\w+) (?:file=(\S+) (create|append|change)|(run))\n(.*?)^```$/gms);
  return [...fences].map(([, language, file, action, run, text]) => ({ language, file, action: action ?? run, text }));
}

function appendTo(path, { language, text }) {
  const before = readFileSync(path, 'utf8');
  if (language !== 'json') return before + text;
  const items = before.trimEnd();
  assert.ok(items.endsWith(']'), `${path} is no JSON list`);
  return `${items.slice(0, -1).trimEnd()},\n${text}]\n`;
}

/** A diff whose hunks are found by their lines alone. */
function changed(path, { text }) {
  const hunks = text.split(/^@@.*\n/m).filter((hunk) => hunk !== '');
  return hunks.reduce((content, hunk) => {
    const side = (mark) => hunk.split('\n').filter((line) => line[0] === ' ' || line[0] === mark).map((line) => `${line.slice(1)}\n`).join('');
    assert.equal(content.split(side('-')).length, 2, `${path} must hold these lines once:\n${side('-')}`);
    return content.replace(side('-'), () => side('+'));
  }, readFileSync(path, 'utf8'));
}

/** Runs a command in the copy and gives what it printed. */
export function run(command) {
  // The suite names its binary in the environment; the commands of a page name their own.
  const environment = { ...process.env };
  for (const name of Object.keys(environment).filter((key) => key.startsWith('POSTHORN_'))) delete environment[name];
  const hasCcache = environment.PATH.split(':').some((folder) => existsSync(join(folder, 'ccache')));
  if (hasCcache) environment.CMAKE_C_COMPILER_LAUNCHER = 'ccache';
  const output = execFileSync('bash', ['-euo', 'pipefail', '-c', command],
    { cwd: COPY, env: environment, encoding: 'utf8', maxBuffer: 1 << 26, timeout: COMMAND_LIMIT_MS, stdio: ['ignore', 'pipe', 'inherit'] });
  process.stdout.write(output);
  return output;
}

/** A file name of a page, with the number of the next migration for NNNN. */
function numbered(file) {
  if (!file.includes('/NNNN_')) return file;
  const last = readdirSync(join(COPY, dirname(file))).filter((name) => /^\d{4}_/.test(name)).sort().at(-1);
  return file.replace('NNNN', String(Number(last.slice(0, 4)) + 1).padStart(4, '0'));
}

/** Does what a block says; gives what a command printed, else ''. */
function follow(block) {
  if (block.action === 'run') return run(block.text);
  const file = numbered(block.file);
  const path = join(COPY, file);
  console.log(`# ${block.action} ${file}`);
  assert.equal(existsSync(path), block.action !== 'create', `${block.action} ${file}`);
  mkdirSync(dirname(path), { recursive: true });
  if (block.action === 'append') writeFileSync(path, appendTo(path, block));
  else writeFileSync(path, block.action === 'change' ? changed(path, block) : block.text);
  return '';
}

// ---- The pages ----

/**
 * Follows several pages, so that they share one build: first the files of all pages, in order, then the commands of all pages.
 * Gives the blocks of each page, by its name, and the output of its commands: {blocks, printed}.
 */
export function followPages(pages) {
  const followed = new Map(pages.map((page) => [page, { blocks: readBlocks(read(page)), printed: [] }]));
  for (const { blocks } of followed.values()) {
    for (const block of blocks.filter(({ action }) => action !== 'run')) follow(block);
  }
  for (const [page, { blocks, printed }] of followed) {
    console.log(`# the commands of ${page}`);
    for (const block of blocks.filter(({ action }) => action === 'run')) printed.push(follow(block));
  }
  return followed;
}

/** Stops the runners of data folders that a failed command left behind. */
export function stopRunners() {
  const build = join(COPY, 'build/first');
  const folders = existsSync(build) ? readdirSync(build).filter((name) => existsSync(join(build, name, 'runner.pid'))) : [];
  for (const name of folders) execFileSync(join(build, 'posthorn'), ['stop', '--data', join(build, name)]);
}
