// What a run prints: a line for each step as it ends, then the steps with their shares and the slowest tests.

import { readFileSync, writeFileSync } from 'node:fs';

const SUMMARY = /passed|conformance|product:/;
const TROUBLE = /FAILED|Failed|error:|not ok|ERROR|✖|✗|Sanitizer/;
/** A line of a server's own log, of which tests cause many that name errors. */
const EVENT = /^\{"time":/;
const TROUBLE_LINES = 40;
const LAST_LINES = 25;
const SLOWEST = 10;

const sum = (values) => values.reduce((total, value) => total + value, 0);

/** Of one task, its last line that says how much passed; otherwise the tests are counted. */
function summaryOf(results) {
  const lines = results.length === 1 && results[0].log ? readFileSync(results[0].log, 'utf8').split('\n') : [];
  const said = lines.filter((line) => SUMMARY.test(line)).at(-1);
  if (said) return said.trim().slice(0, 120);
  const tests = results.flatMap(({ tests: listed }) => listed);
  return tests.length > 0 ? `${tests.filter(({ ok }) => ok).length} passed, ${tests.filter(({ ok }) => !ok).length} failed` : '';
}

/** From the start of the first task to the end of the last. */
function wallOf(results) {
  const timed = results.filter(({ startedAt }) => startedAt !== undefined);
  if (timed.length === 0) return 0;
  return Math.max(...timed.map(({ startedAt, seconds }) => startedAt / 1000 + seconds)) - Math.min(...timed.map(({ startedAt }) => startedAt / 1000));
}

/** One log for the step, in the order of its tasks' names. */
function joinLogs(results, file) {
  const sorted = [...results].filter(({ log }) => log).sort((a, b) => (a.task.name < b.task.name ? -1 : 1));
  writeFileSync(file, sorted.map(({ task, log }) => `==== ${task.name}\n${readFileSync(log, 'utf8')}`).join('\n'));
}

/** Prints the lines that report trouble, then the last ones. */
function printTrouble({ task, log, reason }, print) {
  if (reason) print(`${task.name}: ${reason}`);
  if (!log) return;
  const lines = readFileSync(log, 'utf8').trimEnd().split('\n').filter((line) => !EVENT.test(line));
  for (const line of lines.filter((one) => TROUBLE.test(one)).slice(0, TROUBLE_LINES)) print(line);
  for (const line of lines.slice(-LAST_LINES)) print(line);
}

export class Report {
  #print;
  #folder;
  #rows = [];
  #tests = [];

  constructor({ print = console.log, folder }) {
    this.#print = print;
    this.#folder = folder;
  }

  get failed() {
    return this.#rows.filter(({ ok }) => !ok).length;
  }

  get passed() {
    return this.#rows.length - this.failed;
  }

  stepEnded(step, { ok, reason, results }) {
    const wall = wallOf(results);
    const log = `${this.#folder}/${step.name}.log`;
    joinLogs(results, log);
    this.#rows.push({ name: step.name, ok, wall, busy: sum(results.map(({ seconds }) => seconds ?? 0)), cpu: sum(results.map(({ cpu }) => cpu ?? 0)) });
    for (const { task, tests = [] } of results) for (const test of tests) this.#tests.push({ step: step.name, task: task.name, ...test });
    const line = `${step.name.padEnd(16)} ${String(Math.round(wall)).padStart(4)} s`;
    if (ok) return this.#print(`ok      ${line}  ${summaryOf(results)}`);
    this.#print(`FAILED  ${line}  (${reason ?? log})`);
    for (const result of results.filter((one) => !one.ok)) printTrouble(result, this.#print);
  }

  /** The share is that of the processor time; what a background process used after its parent ended is not in it. */
  printTable() {
    const total = sum(this.#rows.map(({ cpu }) => cpu)) || 1;
    this.#print('');
    this.#print(`${'step'.padEnd(16)} ${'seconds'.padStart(8)} ${'of tasks'.padStart(9)} ${'processor'.padStart(10)} ${'share'.padStart(6)}`);
    for (const { name, wall, busy, cpu } of [...this.#rows].sort((a, b) => b.cpu - a.cpu)) {
      this.#print(`${name.padEnd(16)} ${wall.toFixed(1).padStart(8)} ${busy.toFixed(1).padStart(9)} ${cpu.toFixed(1).padStart(10)} ${`${Math.round((100 * cpu) / total)} %`.padStart(6)}`);
    }
    const slowest = [...this.#tests].sort((a, b) => b.seconds - a.seconds).slice(0, SLOWEST);
    if (slowest.length > 0) this.#print('\nslowest tests');
    for (const { step, task, name, seconds } of slowest) {
      const place = task === step || task === name ? step : `${step} ${task}`;
      this.#print(`${seconds.toFixed(1).padStart(8)} s  ${place}: ${name}`);
    }
    this.#print('');
  }
}
