// Runs one MCP conformance suite as its own process and reads back the checks it recorded, scenario by scenario.

import { spawn } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const RUN_LIMIT_MS = 600_000;

/** The three runs that are counted, and how many scenarios each must count. */
export const RUNS = [
  { id: '0.1.16', label: 'conformance 0.1.16 all', tree: 'conformance-0.1', args: ['--suite', 'all'], total: 32 },
  { id: '2025-11-25', label: '2025-11-25', tree: 'conformance-0.2', args: ['--requirements', '2025-11-25'], total: 30 },
  { id: '2026-07-28', label: '2026-07-28', tree: 'conformance-0.2', args: ['--requirements', '2026-07-28'], total: 37 },
];

/** Runs `run` against `url`; gives a Map of scenario name to its recorded checks. */
export async function runSuite(installDir, run, url) {
  const outDir = await mkdtemp(join(tmpdir(), 'conformance-'));
  try {
    const entry = join(installDir, 'node_modules', run.tree, 'dist', 'index.js');
    const complaints = await runToEnd([entry, 'server', '--url', url, ...run.args, '--output-dir', outDir]);
    const results = await readResults(outDir);
    if (results.size === 0) console.error(`${run.label}: the suite did not run\n${complaints}`);
    return results;
  } finally {
    await rm(outDir, { recursive: true, force: true });
  }
}

/** The scenarios that count for `run`: its frozen requirement list, or everything the suite ran. */
export async function scoredScenarios(installDir, run, results) {
  if (!run.args.includes('--requirements')) return [...results.keys()];

  const file = join(installDir, 'node_modules', run.tree, 'requirements', `${run.id}.yaml`);
  return topLevelList(await readFile(file, 'utf8'), 'server');
}

/** Runs a node program; gives its standard error. The verdict is read from the files it leaves, never from its exit code. */
function runToEnd(argv) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, argv, { stdio: ['ignore', 'ignore', 'pipe'] });
    const timer = setTimeout(() => child.kill('SIGKILL'), RUN_LIMIT_MS);
    let complaints = '';
    child.stderr.setEncoding('utf8').on('data', (chunk) => (complaints += chunk));
    child.once('error', reject);
    child.once('close', () => {
      clearTimeout(timer);
      resolve(complaints);
    });
  });
}

/** The suite leaves one directory a scenario: server-<scenario>-<time>/checks.json. */
async function readResults(outDir) {
  const results = new Map();
  for (const entry of await readdir(outDir)) {
    const match = /^server-(.+)-\d{4}-\d{2}-\d{2}T[\d-]+Z$/.exec(entry);
    if (!match) continue;
    const text = await readFile(join(outDir, entry, 'checks.json'), 'utf8').catch(() => undefined);
    if (text !== undefined) results.set(match[1], JSON.parse(text));
  }
  return results;
}

/** The items of the block list `name:` at the top level of a YAML file that uses nothing fancier. */
function topLevelList(yaml, name) {
  const lines = yaml.split('\n');
  const start = lines.indexOf(`${name}:`);
  const items = [];
  for (const line of lines.slice(start + 1)) {
    const item = /^  - (\S+)$/.exec(line);
    if (!item) break;
    items.push(item[1]);
  }
  return start < 0 ? [] : items;
}
