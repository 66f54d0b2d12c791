// A copy of the tree in build/mutations, in which sources are changed and tests are run. It is kept, so that a change costs what it
// makes build anew, and its test.
import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
export const copy = join(root, 'build/mutations/tree');
const build = join(copy, 'build/debug');
const SOURCES = ['src', 'include', 'schemas', 'tools', 'tests', 'docs', 'examples', 'CMakeLists.txt'];

/** One run at a time: the copy is shared. */
export function takeCopy() {
  const lock = join(root, 'build/mutations/pid');
  mkdirSync(dirname(lock), { recursive: true });
  const holder = existsSync(lock) ? Number(readFileSync(lock, 'utf8')) : 0;
  if (holder > 0 && existsSync(`/proc/${holder}`)) throw new Error(`another run (${holder}) is at work in build/mutations`);
  // A run that was killed may have left something built from a changed line.
  if (holder > 0) rmSync(build, { recursive: true, force: true });
  writeFileSync(lock, String(process.pid));
  return () => rmSync(lock, { force: true });
}

const filesOf = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((found) => !found.isDirectory() && !found.parentPath.includes('node_modules') && found.name !== 'node_modules')
    .map((found) => relative(folder, join(found.parentPath, found.name)));

/** Makes the copy like the tree. A file that is like it already is not touched, so it is not built anew. */
function bringUp(path) {
  const [from, to] = [join(root, path), join(copy, path)];
  if (existsSync(to) && readFileSync(from).equals(readFileSync(to))) return;
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
}

// Installed packages are linked, everything else is copied.
export function makeCopy() {
  for (const source of SOURCES) {
    if (!statSync(join(root, source)).isDirectory()) {
      bringUp(source);
      continue;
    }
    const wanted = new Set(filesOf(join(root, source)));
    for (const file of wanted) bringUp(join(source, file));
    for (const file of filesOf(join(copy, source))) if (!wanted.has(file)) rmSync(join(copy, source, file));
  }
  for (const found of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const path = relative(root, join(found.parentPath, found.name));
    const isOuter = path.endsWith('node_modules') && path.split('node_modules').length === 2 && /^(src|tests|examples)\//.test(path);
    if (isOuter && !existsSync(join(copy, path))) symlinkSync(join(root, path), join(copy, path));
  }
  mkdirSync(join(copy, 'build'), { recursive: true });
  for (const installed of ['node', 'sdk', 'clients', 'third_party']) {
    if (existsSync(join(root, 'build', installed)) && !existsSync(join(copy, 'build', installed))) {
      symlinkSync(join(root, 'build', installed), join(copy, 'build', installed));
    }
  }
}

// A compiler cache sees the same paths in every copy.
Object.assign(process.env, {
  CCACHE_BASEDIR: copy, CCACHE_NOHASHDIR: '1', POSTHORN_BIN: join(build, 'posthorn'), SDK_INSTALL: join(copy, 'build/sdk'),
});

/** The drivers that a script starts. */
const driversOf = (script) => [...new Set(readFileSync(join(root, script), 'utf8').match(/\b\w+_driver\b/g))];
export const targetsOf = ({ unit, script }) => (unit ? [unit] : ['posthorn-bin', ...(script ? ['posthorn-clock', ...driversOf(script)] : ['embedded_driver'])]);

export function compile(targets) {
  return spawnSync('cmake', ['--build', build, '--target', ...targets], { encoding: 'utf8' });
}

export function configure(targets) {
  const launcher = spawnSync('ccache', ['--version']).status === 0 ? ['-DCMAKE_C_COMPILER_LAUNCHER=ccache'] : [];
  const options = ['-G', 'Ninja', '-DCMAKE_BUILD_TYPE=Debug', '-DPOSTHORN_SANITIZE=none', ...launcher];
  execFileSync('cmake', ['-S', copy, '-B', build, ...options], { stdio: 'ignore' });
  const built = compile([...targets]);
  if (built.status !== 0) throw new Error(`the copy does not build:\n${built.stdout.slice(-2000)}`);
}

const testLog = join(copy, 'build/test.log');

function runLogged(program, args, timeout) {
  const log = openSync(testLog, 'w');
  try {
    return spawnSync(program, args, { cwd: copy, stdio: ['ignore', log, log], timeout }).status === 0;
  } finally {
    closeSync(log);
  }
}

/** The end of what the last test has said. */
export const lastWords = () => readFileSync(testLog, 'utf8').slice(-2000);

function runCase(name) {
  const data = mkdtempSync(join(tmpdir(), 'posthorn-mutated-'));
  execFileSync('chmod', ['755', data]);
  const binary = join(build, 'posthorn');
  const passes = runLogged(process.execPath, ['tests/cases/runner/run.mjs', binary, join(build, 'embedded_driver'), join(data, 'data'), name], 400000);
  spawnSync(binary, ['stop', '--data', join(data, 'data')]);
  // The runner may still write its log.
  rmSync(data, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  return passes;
}

/** Whether a test passes in the copy; `only` is a pattern of the names of tests in a script. */
export function testPasses({ unit, case: name, script, only }) {
  if (name) return runCase(name);
  const [program, args] = unit ? [join(build, unit), []] : [process.execPath, script.endsWith('.test.mjs') ? ['--test', ...(only ? [`--test-name-pattern=${only}`] : []), script] : [script]];
  return runLogged(program, args, 300000);
}
