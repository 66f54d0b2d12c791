// Tests the tests: rules.json names, for rules of the contract, a one-line change that breaks the rule and a test that must
// then fail. Every change is made alone in a copy of the tree (tree.mjs). A test that also fails without the change proves nothing
// and is an error, as is a copy that does not compile.
//
//   run.mjs check            every line to change is there exactly once, its test names the rule, every due rule has an entry
//   run.mjs [draw [COUNT [FROM-TO …]]]   COUNT rules (20) of all or of these numbers, drawn with a seed that is printed;
//                            MUTATION_SEED repeats a draw
//   run.mjs RULE …           these rules
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadRules } from '../rules.mjs';
import { compile, configure, copy, lastWords, makeCopy, root, takeCopy, targetsOf, testPasses } from './tree.mjs';

const entries = JSON.parse(readFileSync(join(root, 'tests/mutations/rules.json'), 'utf8'));

// The rules that need an entry, once they are due; EXEMPT says why one has none.
const DUE = [
  [1, 114], [116, 196], [198, 243], [244, 254], [256, 277],
  [289, 355], [356, 387], [399, 414], [436, 441],
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
  const sound = new Set();
  for (const [name, test] of proofs) {
    if (testPasses(test)) sound.add(name);
    else console.log(`${name} fails without a change:\n${lastWords()}`);
  }
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
