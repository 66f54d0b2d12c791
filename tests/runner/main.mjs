// The runner of tests/run.sh: chooses steps, runs them as a graph on all cores, and reports. Ends with 'N passed, M failed'.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { databaseTemplate, installedPrograms } from './database_template.mjs';
import { Report } from './report.mjs';
import { Schedule } from './schedule.mjs';
import { allSteps, capacity, chooseSteps } from './steps.mjs';
import { runTask, stopTasks } from './task.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const folder = join(root, 'build/test-logs');
const timesFile = join(folder, 'seconds.json');
const chosen = process.argv.slice(2);

process.chdir(root);
mkdirSync(folder, { recursive: true });
const steps = chooseSteps(root, chosen);
if (steps === null) {
  console.error(`usage: tests/run.sh [quick | case ID … | unit MODULE … | STEP …]\nsteps: ${allSteps(root).map(({ name }) => name).join(' ')}`);
  process.exit(2);
}

// Every process appends its line to it by one write when it ends.
process.env.POSTHORN_REPLIES_LOG = join(folder, 'replies.jsonl');
rmSync(process.env.POSTHORN_REPLIES_LOG, { force: true });

// Debian's psql is a script that starts the real one, and takes four times its processor time. Tests call it more than 2,000 times.
const programs = installedPrograms();
if (programs) process.env.PATH = `${programs}:${process.env.PATH}`;
const template = databaseTemplate(programs);
if (template) process.env.POSTHORN_PG_BINDIR ??= template.path;
process.once('exit', () => template?.remove());

/** What tasks took the last time, by their names. */
const seconds = existsSync(timesFile) ? JSON.parse(readFileSync(timesFile, 'utf8')) : {};
const keyOf = (step, task) => `${step.name}/${task.name}`;

/** Measured times order the tasks better than estimates do. */
const withEstimates = (step) => ({
  ...step,
  tasks: async () => (await step.tasks()).map((task) => ({ ...task, estimate: seconds[keyOf(step, task)] ?? task.estimate })),
});

let isStopping = false;
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    isStopping = true;
    stopTasks(signal);
  });
}

const report = new Report({ folder });
const schedule = new Schedule({
  steps: steps.map(withEstimates),
  capacity,
  runTask: async (step, task) => {
    if (isStopping) return { ok: false, reason: 'the run was stopped' };
    const result = await runTask({ root, folder: join(folder, 'tasks'), step, task });
    if (result.ok) seconds[keyOf(step, task)] = Math.round(result.seconds * 10) / 10;
    return result;
  },
  onStep: (step, outcome) => report.stepEnded(step, outcome),
});

await schedule.run();
writeFileSync(timesFile, `${JSON.stringify(seconds, null, 1)}\n`);
report.printTable();
console.log(`${report.passed} passed, ${report.failed} failed`);
process.exitCode = report.failed > 0 || report.passed === 0 ? 1 : 0;
