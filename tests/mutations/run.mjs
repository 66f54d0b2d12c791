// Tests the tests: rules.json names, for rules of the contract, a one-line change that breaks the rule and a test that must
// then fail. Every change is made alone in a copy of the tree, which is kept in build/mutations, so that a change costs what it
// makes build anew, and its test. A test that also fails without the change proves nothing and is an error, as is a copy that
// does not compile.
//
//   run.mjs check            every line to change is there exactly once, its test names the rule, every due rule has an entry
//   run.mjs [draw [COUNT [FROM-TO …]]]   COUNT rules (20) of all or of these numbers, drawn with a seed that is printed;
//                            MUTATION_SEED repeats a draw
//   run.mjs RULE …           these rules
import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadRules } from '../rules.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const entries = JSON.parse(readFileSync(join(root, 'tests/mutations/rules.json'), 'utf8'));
const node = process.execPath;

// The rules that need an entry, once they are due; EXEMPT says why one has none.
const DUE = [
  [1, 114], [116, 196], [198, 228], [239, 243], [244, 254], [256, 277],
  [289, 355], [356, 387], [399, 414],
];
const EXEMPT = JSON.parse(readFileSync(join(root, 'tests/mutations/exempt.json'), 'utf8'));
const isWithin = (rule, ranges) => ranges.some(([from, to]) => Number(rule.slice(2)) >= from && Number(rule.slice(2)) <= to);

const fileOf = ({ unit, case: name, script }) => (unit ? `tests/unit/${unit.replace('_', '/')}.c` : name ? `tests/cases/${name}.json` : script);

function check() {
  const problems = [];
  const due = [...loadRules(root)].filter(([rule, { isDue }]) => isDue && isWithin(rule, DUE)).map(([rule]) => rule);
  const hasEntry = (rule) => entries.some((entry) => entry.rule === rule);
  for (const rule of due) if (!hasEntry(rule) && !EXEMPT[rule]) problems.push(`${rule} has no entry`);
  for (const rule of Object.keys(EXEMPT)) if (hasEntry(rule) || !due.includes(rule)) problems.push(`${rule} is exempt without need`);
  for (const { rule, file, from, to, test } of entries) {
    const found = existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8').split(from).length - 1 : 0;
    if (found !== 1) problems.push(`${rule}: the line to change is ${found} times in ${file}`);
    if (from.includes('\n') || to.includes('\n') || from === to) problems.push(`${rule}: a change is one line that differs`);
    const proof = test && fileOf(test);
    if (!proof || !existsSync(join(root, proof))) problems.push(`${rule}: no test`);
    else if (!readFileSync(join(root, proof), 'utf8').includes(rule)) problems.push(`${rule} is not named by ${proof}`);
  }
  for (const problem of problems) console.log(`FAILED ${problem}`);
  console.log(`${entries.length} passed, ${problems.length} failed`);
  return problems.length === 0 && entries.length > 0;
}

// mulberry32: small, and the same everywhere.
function randomFrom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function draw(count, ranges) {
  const seed = Number(process.env.MUTATION_SEED ?? Date.now() % 1000000);
  const random = randomFrom(seed);
  const left = entries.filter(({ rule }) => ranges.length === 0 || isWithin(rule, ranges));
  const drawn = [];
  while (drawn.length < count && left.length > 0) drawn.push(...left.splice(Math.floor(random() * left.length), 1));
  console.log(`seed ${seed}: ${drawn.map(({ rule }) => rule).join(' ')}`);
  return drawn;
}

// ---- The copy ----

const copy = join(root, 'build/mutations/tree');
const build = join(copy, 'build/debug');
const SOURCES = ['src', 'include', 'schemas', 'tools', 'tests', 'docs', 'examples', 'CMakeLists.txt'];

/** One run at a time: the copy is shared. */
function takeCopy() {
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
function makeCopy() {
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
  for (const installed of ['node', 'sdk']) {
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
const targetsOf = ({ unit, script }) => (unit ? [unit] : ['posthorn-bin', ...(script ? ['posthorn-clock', ...driversOf(script)] : ['embedded_driver'])]);

function compile(targets) {
  return spawnSync('cmake', ['--build', build, '--target', ...targets], { encoding: 'utf8' });
}

function configure(targets) {
  const launcher = spawnSync('ccache', ['--version']).status === 0 ? ['-DCMAKE_C_COMPILER_LAUNCHER=ccache'] : [];
  const options = ['-G', 'Ninja', '-DCMAKE_BUILD_TYPE=Debug', '-DPOSTHORN_SANITIZE=none', ...launcher];
  execFileSync('cmake', ['-S', copy, '-B', build, ...options], { stdio: 'ignore' });
  const built = compile([...targets]);
  if (built.status !== 0) throw new Error(`the copy does not build:\n${built.stdout.slice(-2000)}`);
}

function runCase(name) {
  const data = mkdtempSync(join(tmpdir(), 'posthorn-mutated-'));
  execFileSync('chmod', ['755', data]);
  const binary = join(build, 'posthorn');
  const run = spawnSync(node, ['tests/cases/runner/run.mjs', binary, join(build, 'embedded_driver'), join(data, 'data'), name],
    { cwd: copy, encoding: 'utf8', timeout: 400000 });
  spawnSync(binary, ['stop', '--data', join(data, 'data')]);
  // The runner may still write its log.
  rmSync(data, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  return run.status === 0;
}

function testPasses({ unit, case: name, script }) {
  if (name) return runCase(name);
  const [program, args] = unit ? [join(build, unit), []] : [node, script.endsWith('.test.mjs') ? ['--test', script] : [script]];
  return spawnSync(program, args, { cwd: copy, stdio: 'ignore', timeout: 300000 }).status === 0;
}

// ---- One rule after the other ----

function mutate({ rule, file, from, to, test }) {
  const path = join(copy, file);
  const original = readFileSync(path, 'utf8');
  writeFileSync(path, original.replace(from, () => to));
  try {
    if (compile(targetsOf(test)).status !== 0) return `${rule}: the changed tree does not compile`;
    return testPasses(test) ? `${rule}: SURVIVED in ${file}: ${to.trim()}` : null;
  } finally {
    writeFileSync(path, original);
  }
}

function run(chosen) {
  let failed = 0;
  const started = Date.now();
  const seconds = () => `${((Date.now() - started) / 1000).toFixed(0)} s`;
  makeCopy();
  configure(new Set(chosen.flatMap(({ test }) => targetsOf(test))));
  console.log(`the copy is built after ${seconds()}`);
  const proofs = new Map(chosen.map(({ test }) => [JSON.stringify(test), test]));
  const sound = new Set([...proofs].filter(([, test]) => testPasses(test)).map(([name]) => name));
  console.log(`${sound.size} of ${proofs.size} tests pass without a change after ${seconds()}`);
  for (const entry of chosen) {
    const name = JSON.stringify(entry.test);
    const problem = sound.has(name) ? mutate(entry) : `${entry.rule}: its test fails without the change: ${name}`;
    if (problem) failed++;
    console.log(problem ? `FAILED ${problem}` : `killed  ${entry.rule}  ${entry.file}  after ${seconds()}`);
  }
  console.log(`${chosen.length - failed} passed, ${failed} failed`);
  return failed === 0 && chosen.length > 0;
}

const [what = 'draw', ...rest] = process.argv.slice(2);
const rangeOf = (text) => text.split('-').map(Number);
if (what === 'check') {
  process.exitCode = check() ? 0 : 1;
} else {
  const release = takeCopy();
  try {
    const chosen = what === 'draw' ? draw(Number(rest[0] ?? 20), rest.slice(1).map(rangeOf)) : entries.filter(({ rule }) => [what, ...rest].includes(rule));
    process.exitCode = run(chosen) ? 0 : 1;
  } finally {
    release();
  }
}
