// Processes as Linux shows them under /proc: which belong to a test, what they hold open, whether they are still alive. And the waits
// of the tests.

import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';

const PAGE_KIB = 4;

const unless = (otherwise, read) => {
  try {
    return read();
  } catch {
    return otherwise; // it has ended meanwhile, or belongs to another user
  }
};

/** The fields of /proc/PID/stat behind the name, which may hold anything: state, parent, group, … (proc(5)). */
function statFields(pid) {
  const text = unless('', () => readFileSync(`/proc/${pid}/stat`, 'latin1'));
  return text === '' ? null : text.slice(text.lastIndexOf(')') + 2).split(' ');
}

/** A process whose first thread has ended shows as a zombie while others, and with them its locks, are still there. */
export const isAlive = (pid) => {
  const fields = statFields(pid);
  return fields !== null && (fields[0] !== 'Z' || Number(fields[17]) > 1);
};

export const parentOf = (pid) => Number(statFields(pid)?.[1]);
export const commandLine = (pid) => unless('', () => readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ').trim());
export const openDescriptors = (pid) => readdirSync(`/proc/${pid}/fd`).length;
export const descriptorNames = (pid) => readdirSync(`/proc/${pid}/fd`).map((fd) => unless('gone', () => readlinkSync(`/proc/${pid}/fd/${fd}`)));
export const residentKib = (pid) => Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * PAGE_KIB;

const statusKib = (pid, name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]);

/** The most memory that a process has had resident since its start or the last resetPeak. */
export const peakKib = (pid) => statusKib(pid, 'VmHWM');

/** The peak is from now on that of what follows (proc(5), clear_refs). */
export const resetPeak = (pid) => writeFileSync(`/proc/${pid}/clear_refs`, '5');

/** Refuses a process more than `kib` of data beyond what it has mapped now. Its children get the same limit, and may raise it. */
export const limitData = (pid, kib) => {
  const bytes = (statusKib(pid, 'VmData') + kib) * 1024;
  execFileSync('prlimit', ['--pid', String(pid), `--data=${bytes}:`]);
};

const TICK_US = 10_000; // the clock of proc(5), of which there are 100 a second on every machine that Debian supports

/**
 * Processor time that a process has used, in microseconds. The threads tell theirs exactly; those that have ended are only in
 * the sum of the process, which counts whole ticks.
 */
export function processorUs(pid) {
  const threads = readdirSync(`/proc/${pid}/task`).map((thread) => unless('0', () => readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1')));
  const exact = threads.reduce((sum, text) => sum + Number(text.split(' ')[0]) / 1000, 0);
  const fields = statFields(pid);
  const whole = fields === null ? 0 : (Number(fields[11]) + Number(fields[12])) * TICK_US;
  return Math.max(exact, whole - TICK_US);
}

/** How much a process has written so far, to files and to sockets (proc(5), wchar). */
export const writtenBytes = (pid) => Number(/^wchar: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'latin1'))[1]);

/** Every process that works in `folder` or names it on its command line, such as {pid, command}. */
export function processesOf(folder) {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number);
  return pids
    .filter((pid) => pid !== process.pid && isAlive(pid))
    .map((pid) => ({ pid, command: commandLine(pid), place: unless('', () => readlinkSync(`/proc/${pid}/cwd`)) }))
    .filter(({ command, place }) => command.includes(folder) || place.startsWith(folder))
    .map(({ pid, command }) => ({ pid, command }));
}

/** The processes of the browser that a renderer of an installation has started: the shell that confines it and the browser, not its pages. */
export function browsersOf(installation) {
  const renderers = new Set(installation.renderers().map(({ pid }) => pid));
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number);
  const isBrowser = (pid) => /--remote-debugging-pipe/.test(commandLine(pid)) && !/ --type=/.test(commandLine(pid));
  return pids.filter((pid) => isBrowser(pid) && ancestorsOf(pid).some((above) => renderers.has(above)));
}

function ancestorsOf(pid) {
  const above = parentOf(pid);
  return above > 1 ? [above, ...ancestorsOf(above)] : [];
}

/** Ends a process; 0, for one that is not there, ends nothing. */
export function kill(pid, signal = 'SIGKILL') {
  if (pid > 1) unless(undefined, () => process.kill(pid, signal));
}

/** Ends the process and its whole group. */
export function killGroup(pid) {
  const group = Number(statFields(pid)?.[2]);
  if (group > 1 && group !== Number(statFields(process.pid)[2])) unless(undefined, () => process.kill(-group, 'SIGKILL'));
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** How much longer than on a machine that is free anything may take before a test gives up. */
const PATIENCE = 4;

/** Waits until `holds` gives something true and gives that; fails after `limitMs` (of a free machine), naming what was waited for. */
export async function until(what, holds, limitMs = 15_000) {
  const deadline = Date.now() + limitMs * PATIENCE;
  for (;;) {
    const value = await holds();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`waited ${limitMs * PATIENCE} ms in vain until ${what}`);
    await pause(20);
  }
}

/** Waits until `value` has stopped changing: it is the same nine times in a row. */
export async function untilStill(what, value) {
  let last;
  let times = 0;
  await until(what, async () => {
    await pause(80);
    const now = value();
    times = now === last ? times + 1 : 0;
    last = now;
    return times >= 9;
  });
}
