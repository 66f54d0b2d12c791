// Drives the server with the Inspector's command line, as a user would type it.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageFolder } from '../lib/packages.mjs';

/** The launcher script of the Inspector. */
const INSPECTOR = join(packageFolder('clients'), 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js');
const ERAS = ['legacy', 'auto', 'modern'];

export async function inspector(report, server) {
  const home = await mkdtemp(join(tmpdir(), 'inspector-home-'));
  try {
    for (const [transport, target] of targets(server)) {
      for (const era of ERAS) await drive(report, `inspector ${era} ${transport}`, home, era, target);
    }
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

function targets(server) {
  return [
    ['stdio', { before: [], after: ['--', ...server.stdioCommand] }],
    ['http', {
      before: ['--server-url', server.url, '--transport', 'http', '--header', `Authorization: Bearer ${server.key}`],
      after: [],
    }],
  ];
}

async function drive(report, label, home, era, target) {
  await report.check(`${label}: tools/list is portable`, async () => {
    const { result, findings } = await run(home, era, target, ['--method', 'tools/list', '--strict']);
    assert.ok(result.tools.some((tool) => tool.name === 'get_capabilities'), 'get_capabilities is not listed');
    assert.deepEqual(findings, []);
  });

  await report.check(`${label}: tools/call`, async () => {
    const args = JSON.stringify({ email: 'ada@example.com', firstName: 'Ada' });
    const words = ['--method', 'tools/call', '--tool-name', 'save_contact', '--tool-args-json', args];
    const { result } = await run(home, era, target, words);
    assert.notEqual(result.isError, true, JSON.stringify(result.content));
  });
}

/** One invocation; gives the result it printed and what it found wrong with schemas, and fails on any exit code but 0. */
async function run(home, era, target, words) {
  const argv = [INSPECTOR, '--cli', '--protocol-era', era, '--format', 'json', ...words, ...target.before, ...target.after];
  const { code, stdout, stderr } = await runToEnd(argv, { ...process.env, HOME: home });
  assert.equal(code, 0, `exit ${code}: ${stderr || stdout}`);
  return { result: JSON.parse(stdout).result, findings: stderr.match(/^(Error|Warning): tool .*(\n  .*)*/gm) ?? [] };
}

function runToEnd(argv, env) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, argv, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk) => (stdout += chunk));
    child.stderr.on('data', (chunk) => (stderr += chunk));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
}
