// Tests the tests: rules.json names, for rules of the contract, a one-line change that breaks the rule and a test that must
// then fail. Every change is made alone in a copy of the tree. A test that also fails without the change proves nothing and is
// an error, as is a copy that does not compile.
//
//   run.mjs check            every line to change is there exactly once, its test names the rule, every due rule has an entry
//   run.mjs [draw [COUNT]]   COUNT rules (20), drawn with a seed that is printed; MUTATION_SEED repeats a draw
//   run.mjs RULE …           these rules
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const entries = JSON.parse(readFileSync(join(root, 'tests/mutations/rules.json'), 'utf8'));
const node = process.execPath;

// The rules that need an entry: those of the rate gate, brands, the gallery, integrations, contacts, fields, audiences, designs and sends that
// docs/requirements.md lists.
const DUE = [[119, 140], [182, 196], [198, 228], [239, 243], [244, 254], [256, 263], [265, 277], [356, 387]];

const fileOf = ({ unit, case: name, script }) => (unit ? `tests/unit/${unit}.c` : name ? `tests/cases/${name}.json` : script);

function check() {
  const problems = [];
  const listed = readFileSync(join(root, 'docs/requirements.md'), 'utf8').match(/R-\d{3}/g);
  const due = [...new Set(listed)].filter((rule) => DUE.some(([from, to]) => Number(rule.slice(2)) >= from && Number(rule.slice(2)) <= to));
  for (const rule of due) if (!entries.some((entry) => entry.rule === rule)) problems.push(`${rule} has no entry`);
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

function draw(count) {
  const seed = Number(process.env.MUTATION_SEED ?? Date.now() % 1000000);
  const random = randomFrom(seed);
  const left = [...entries];
  const drawn = [];
  while (drawn.length < count && left.length > 0) drawn.push(...left.splice(Math.floor(random() * left.length), 1));
  console.log(`seed ${seed}: ${drawn.map(({ rule }) => rule).join(' ')}`);
  return drawn;
}

// ---- The copy ----

const copy = mkdtempSync(join(tmpdir(), 'posthorn-mutations-'));
const build = join(copy, 'build/debug');

// Installed packages are linked, everything else is copied.
function makeCopy() {
  for (const folder of ['src', 'include', 'schemas', 'tools', 'tests', 'docs', 'examples', 'CMakeLists.txt']) {
    cpSync(join(root, folder), join(copy, folder), { recursive: true, filter: (path) => !path.endsWith('node_modules') });
  }
  for (const found of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const path = relative(root, join(found.parentPath, found.name));
    const isOuter = path.endsWith('node_modules') && path.split('node_modules').length === 2 && /^(src|tests|examples)\//.test(path);
    if (isOuter) symlinkSync(join(root, path), join(copy, path));
  }
  mkdirSync(join(copy, 'build'));
  symlinkSync(join(root, 'build/node'), join(copy, 'build/node'));
}

// A compiler cache sees the same paths in every copy.
Object.assign(process.env, { CCACHE_BASEDIR: copy, CCACHE_NOHASHDIR: '1', POSTHORN_BIN: join(build, 'posthorn') });

const targetsOf = ({ unit }) => (unit ? [unit] : ['posthorn-bin', 'embedded_driver']);

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
    { cwd: copy, encoding: 'utf8', timeout: 120000 });
  spawnSync(binary, ['stop', '--data', join(data, 'data')]);
  rmSync(data, { recursive: true, force: true });
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
  const baseline = new Map();
  let failed = 0;
  makeCopy();
  configure(new Set(chosen.flatMap(({ test }) => targetsOf(test))));
  for (const entry of chosen) {
    const name = JSON.stringify(entry.test);
    compile(targetsOf(entry.test));
    if (!baseline.has(name)) baseline.set(name, testPasses(entry.test));
    const problem = baseline.get(name) ? mutate(entry) : `${entry.rule}: its test fails without the change: ${name}`;
    if (problem) failed++;
    console.log(problem ? `FAILED ${problem}` : `killed  ${entry.rule}  ${entry.file}`);
  }
  console.log(`${chosen.length - failed} passed, ${failed} failed`);
  return failed === 0 && chosen.length > 0;
}

const [what = 'draw', ...rest] = process.argv.slice(2);
let ok = false;
try {
  if (what === 'check') ok = check();
  else if (what === 'draw') ok = run(draw(Number(rest[0] ?? 20)));
  else ok = run(entries.filter(({ rule }) => [what, ...rest].includes(rule)));
} finally {
  rmSync(copy, { recursive: true, force: true });
}
process.exitCode = ok ? 0 : 1;
