// Runs one task as a process: its output goes into a log, its seconds and its processor time are measured, and the tests in it
// are listed by name.

import { spawn } from 'node:child_process';
import { appendFileSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const REPORTER = join(dirname(fileURLToPath(import.meta.url)), 'test_times.mjs');
const running = new Set();

/** Each task is a process group of its own, so that a signal reaches all of it. */
function signalTask(child, signal) {
  try {
    process.kill(-child.pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}

/** Asks everything that runs to end. */
export function stopTasks(signal) {
  for (const child of running) signalTask(child, signal);
}

/** The arguments of a process. Of a file of Node tests a second reporter lists the tests, besides the one for people. */
function wordsOf(task, times) {
  if (!task.nodeTest) return task.command.map((word) => (word === 'node' ? process.execPath : word));
  return [process.execPath, '--test', '--test-reporter=spec', '--test-reporter-destination=stdout',
    `--test-reporter=${REPORTER}`, `--test-reporter-destination=${times}`, task.nodeTest];
}

/** bash measures the processor time of a process and of all its descendants that were waited for. */
const MEASURE = `TIMEFORMAT='%U %S'; exec 3>&2; { time "$@" 2>&3; } 2>"$TASK_CPU"; exit $?`;

const readJsonLines = (file) => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line)) : []);

function processorSeconds(file) {
  const text = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').at(-1) : '';
  return text.split(' ').map(Number).reduce((sum, seconds) => sum + (seconds || 0), 0);
}

/** Promises {ok, seconds, cpu, startedAt, log, tests: [{name, seconds, ok}]}; `folder` takes the log. */
export async function runTask({ root, folder, step, task }) {
  const base = join(folder, `${step.name}.${task.name.replaceAll('/', '.')}`);
  const files = { log: `${base}.log`, times: `${base}.times`, cpu: `${base}.cpu` };
  mkdirSync(folder, { recursive: true });
  for (const file of Object.values(files)) rmSync(file, { force: true });

  const output = openSync(files.log, 'a');
  const startedAt = performance.now();
  const environment = { ...process.env, ...task.environment, TASK_CPU: files.cpu, ...(task.writesTimes && { TEST_TIMES: files.times }) };
  const child = spawn('bash', ['-c', MEASURE, 'task', ...wordsOf(task, files.times)], { cwd: root, env: environment, stdio: ['ignore', output, output], detached: true });
  running.add(child);
  let isLate = false;
  const timer = task.limitS && setTimeout(() => {
    isLate = true;
    signalTask(child, 'SIGKILL');
  }, task.limitS * 1000);
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (status, signal) => resolve(signal ?? status));
  });
  clearTimeout(timer);
  running.delete(child);
  closeSync(output);

  const seconds = (performance.now() - startedAt) / 1000;
  if (isLate) appendFileSync(files.log, `FAILED ${task.name}: ended after its ${task.limitS} s\n`);
  const ok = code === 0;
  const tests = task.countsAsTest ? [{ name: task.name, seconds, ok }] : readJsonLines(files.times);
  const result = { ok, seconds, cpu: processorSeconds(files.cpu), startedAt, log: files.log, tests };
  for (const file of [files.times, files.cpu]) rmSync(file, { force: true });
  return result;
}
