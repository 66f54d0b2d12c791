// Processes as Linux shows them under /proc: who belongs to a test, what it holds, whether it is still there.

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
