// The steps of the suite. What a step needs is built or made by other steps; a weight is the number of cores that a task keeps
// busy, and an estimate is its seconds on two quiet cores, where no earlier run has measured them.

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, join, relative } from 'node:path';

const DEBUG = 'build/debug';
const RELEASE = 'build/release';
/** Tests that mostly wait, of which many run side by side. */
const WAITING = 0.4;
/** Whole installations, which wait less than they work where processes and memory are dear, as in many virtual machines. */
const INSTALLATION = 0.6;
const EXCLUSIVE = /\.serial\.test\.mjs$/;

export const cores = availableParallelism();
/** A little more than the cores: hardly a task is busy all the time. */
export const capacity = cores + 0.5;

// ---- Tests in many files ----

function filesBelow(root, folder, pattern) {
  return readdirSync(join(root, folder), { recursive: true })
    .filter((name) => pattern.test(name) && !name.includes('node_modules'))
    .map((name) => join(folder, name))
    .sort();
}

/** Tests of Node, a task a file. */
function nodeTasks(root, folder, weight) {
  return filesBelow(root, folder, /\.test\.mjs$/).map((file) => ({
    name: relative(folder, file), nodeTest: file, weight, estimate: 20, exclusive: EXCLUSIVE.test(file),
  }));
}

/** What ctest would run, a task a test: {name, command, labels, limitS, isSerial}. */
export function unitTests(root) {
  const text = execFileSync('ctest', ['--show-only=json-v1'], { cwd: join(root, DEBUG), encoding: 'utf8', maxBuffer: 1 << 26 });
  return JSON.parse(text).tests.map(({ name, command, properties }) => {
    const value = (wanted) => properties.find((property) => property.name === wanted)?.value;
    return { name, command, labels: value('LABELS') ?? [], limitS: value('TIMEOUT') ?? 300, isSerial: value('RUN_SERIAL') === true };
  });
}

/** Tests of the private cluster, which begin with the real initdb. */
const OF_CLUSTERS = /^db_cluster/;

export const unitTask = ({ name, command, limitS, isSerial }) => ({
  name, command, limitS, environment: OF_CLUSTERS.test(name) ? { POSTHORN_PG_BINDIR: '' } : {}, countsAsTest: true, weight: WAITING, estimate: 5, exclusive: isSerial,
});

/** The rows of the short fault table, a task each: some wait for a lease of a minute, which costs nothing beside others. */
function faultTasks(root) {
  const rows = execFileSync(process.execPath, ['tests/faults/main.mjs', 'list'], { cwd: root, encoding: 'utf8' }).trim().split('\n');
  return rows.map((name) => ({
    name, command: ['node', 'tests/faults/main.mjs', 'short', name], countsAsTest: true, weight: 0.5, estimate: 30,
  }));
}

/** The shortened harness of sizes; its parts have installations of their own. */
const sizeTasks = () => ['operations', 'states'].map((name) => ({
  name, command: ['node', 'tests/sizes/main.mjs', 'short', name], countsAsTest: true, weight: 1, estimate: 45,
}));

// ---- The steps ----

function single(name, needs, command, more = {}) {
  return { name, needs, urgent: more.urgent, runsAnyway: more.runsAnyway, tasks: () => [{ name, command, weight: 1, estimate: 5, ...more }] };
}

const built = ['build-debug', 'build-release'];

export function allSteps(root) {
  return [
    single('build-debug', [], ['bash', 'tests/build.sh', DEBUG, 'Debug'], { weight: cores, estimate: 400, urgent: true }),
    single('build-release', [], ['bash', 'tests/build.sh', RELEASE, 'Release'], { weight: cores, estimate: 200, urgent: true }),
    { name: 'runner', tasks: () => nodeTasks(root, 'tests/runner', 0.25) },
    single('includes', [], ['node', 'tests/includes.mjs'], { weight: 0.25 }),
    single('links', [], ['node', 'tests/links.mjs'], { weight: 0.25 }),
    single('words', [], ['node', 'tests/words.mjs'], { weight: 0.25 }),
    single('panics', [], ['node', 'tests/panics.mjs'], { weight: 0.25 }),
    single('requirements', [], ['node', 'tests/requirements.mjs', 'check'], { weight: 0.25 }),
    single('mutations', [], ['node', 'tests/mutations/run.mjs', 'check'], { weight: 0.25 }),
    { name: 'sidecar', needs: [], tasks: () => filesBelow(root, 'tests/unit', /\.test\.mjs$/).map((file) => ({
      name: basename(file), nodeTest: file, weight: 1, estimate: 20, exclusive: EXCLUSIVE.test(file),
    })) },
    { name: 'unit', needs: ['build-debug'], tasks: () => unitTests(root).map(unitTask) },
    single('docs', ['build-debug'], ['bash', 'tests/generated_docs.sh'], { weight: 0.25 }),
    single('openapi', ['build-debug'], ['bash', 'tests/openapi.sh'], { weight: 1 }),
    single('snapshots', ['build-release'], ['node', 'tests/snapshots.mjs', `${RELEASE}/posthorn`], { weight: 0.5 }),
    single('cases', built, ['bash', 'tests/cases.sh'], {
      weight: 1.5, estimate: 90, writesTimes: true, environment: { CASES_COMMAND_BIN: join(root, RELEASE, 'posthorn') },
    }),
    single('third-party', ['build-debug'], ['bash', 'tests/third_party.sh', DEBUG, '3000', '30000'], { estimate: 60 }),
    single('pages', built, ['bash', 'tests/pages.sh'], { weight: 1.5, estimate: 150 }),
    single('clients', ['build-release'], ['bash', 'tests/clients.sh'], { estimate: 40 }),
    single('sdk', ['build-release'], ['bash', 'tests/sdk.sh'], { weight: 0.5, estimate: 30 }),
    single('scenario', ['build-release'], ['bash', 'tests/scenario/run.sh'], { estimate: 60 }),
    single('agent', ['build-release'], ['node', 'tests/agent/main.mjs'], { weight: 1.5, estimate: 40, countsAsTest: true }),
    single('conformance', ['build-release'], ['bash', 'tests/conformance.sh'], { estimate: 40 }),
    { name: 'faults', needs: ['build-release'], tasks: () => [...nodeTasks(root, 'tests/faults', WAITING), ...faultTasks(root)] },
    { name: 'sizes', needs: ['build-release'], tasks: () => [...nodeTasks(root, 'tests/sizes', WAITING), ...sizeTasks()] },
    { name: 'integration', needs: ['build-release'], tasks: () => nodeTasks(root, 'tests/integration', INSTALLATION) },
    // What the clients of all steps saw, all together.
    single('replies', ['openapi', 'cases', 'pages', 'clients', 'sdk', 'scenario', 'agent', 'conformance', 'faults', 'sizes', 'integration', 'sidecar', 'unit'],
      ['node', 'tests/openapi/report.mjs', 'build/test-logs/replies.jsonl'], { weight: 0.25, runsAnyway: true }),
  ];
}

const QUICK = ['build-debug', 'build-release', 'runner', 'includes', 'links', 'words', 'panics', 'requirements', 'mutations', 'unit', 'docs', 'openapi', 'snapshots', 'cases'];

/** Cases whose file name contains one of `ids`, on the checked build alone. */
function caseSteps(ids) {
  return [
    single('build-debug', [], ['bash', 'tests/build.sh', DEBUG, 'Debug', 'posthorn-bin', 'embedded_driver']),
    single('cases', ['build-debug'], ['bash', 'tests/cases.sh', ...ids], { writesTimes: true, showsLog: true }),
  ];
}

/** The unit tests of modules: ctest's by their label, and those of Node by their folder below tests/unit. */
function moduleSteps(root, modules) {
  const isOf = (name) => (file) => file.startsWith(`${name}/`);
  const inC = modules.filter((name) => filesBelow(root, 'tests/unit', /_test\.c$/).map((file) => relative('tests/unit', file)).some(isOf(name)));
  const inNode = modules.filter((name) => existsSync(join(root, 'tests/unit', name))).flatMap((name) => nodeTasks(root, join('tests/unit', name), 1));
  const steps = inNode.length > 0 ? [{ name: 'sidecar', tasks: () => inNode }] : [];
  if (inC.length === 0) return steps;
  const isChosen = ({ labels }) => labels.some((label) => inC.includes(label));
  return [
    ...steps,
    single('build-debug', [], ['bash', 'tests/build.sh', DEBUG, 'Debug', ...inC.map((name) => `unit_${name}`)]),
    { name: 'unit', needs: ['build-debug'], tasks: () => unitTests(root).filter(isChosen).map(unitTask) },
  ];
}

const nonEmpty = (list) => (list.length > 0 ? list : null);

/** The steps that the arguments choose; null when a name is unknown. */
export function chooseSteps(root, [first, ...rest]) {
  if (first === 'case') return rest.length > 0 ? caseSteps(rest) : null;
  // `unit` alone is the step of that name, also before the names of other steps.
  const isModule = first === 'unit' && rest.length > 0 && !rest.every((name) => allSteps(root).some((step) => step.name === name));
  if (isModule) return nonEmpty(moduleSteps(root, rest));
  const all = allSteps(root);
  if (first === undefined) return all;
  const names = first === 'quick' ? QUICK : [first, ...rest];
  if (!names.every((name) => all.some((step) => step.name === name))) return null;
  return all.filter(({ name }) => names.includes(name));
}
