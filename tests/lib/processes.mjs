// Processes as Linux shows them under /proc: which belong to a test, what they hold open, whether they are still alive. And the waits
// of the tests.

import { readFileSync, readdirSync, readlinkSync } from 'node:fs';

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
