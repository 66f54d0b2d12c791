// The processes of a data folder, read from proc(5): every process that names the folder in its arguments, has its working folder or
// an open file in it, and all descendants of these processes.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

// Gives [{ pid, name, pssKb }] without this process.
export function processTreeOf(folder) {
  const processes = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry)).map(Number)
    .filter((pid) => pid !== process.pid).map(describe).filter(Boolean);
  const members = new Set(processes.filter((it) => belongs(it.pid, folder)).map((it) => it.pid));
  for (let before = -1; before !== members.size;) {
    before = members.size;
    for (const it of processes) if (members.has(it.parent)) members.add(it.pid);
  }
  return processes.filter((it) => members.has(it.pid)).map(({ pid, name }) => ({ pid, name, pssKb: pssOf(pid) }));
}

// A zombie counts as ended.
export function isRunning(pid) {
  return describe(pid) !== undefined;
}

function describe(pid) {
  const stat = read(`/proc/${pid}/stat`);
  const nameEnd = stat.lastIndexOf(')');
  if (nameEnd < 0) return undefined;
  const [state, parent] = stat.slice(nameEnd + 2).split(' ');
  return state === 'Z' ? undefined : { pid, name: stat.slice(stat.indexOf('(') + 1, nameEnd), parent: Number(parent) };
}

function belongs(pid, folder) {
  const inFolder = (file) => file === folder || file.startsWith(`${folder}/`);
  return read(`/proc/${pid}/cmdline`).split('\0').some(inFolder)
    || inFolder(link(`/proc/${pid}/cwd`))
    || list(`/proc/${pid}/fd`).some((fd) => inFolder(link(`/proc/${pid}/fd/${fd}`)));
}

function pssOf(pid) {
  return Number(/^Pss:\s+(\d+) kB/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0);
}

// A process may end while its files are read.
function orElse(instead, readIt) {
  try {
    return readIt();
  } catch {
    return instead;
  }
}

const read = (file) => orElse('', () => readFileSync(file, 'utf8'));
const link = (file) => orElse('', () => readlinkSync(file));
const list = (folder) => orElse([], () => readdirSync(folder));
