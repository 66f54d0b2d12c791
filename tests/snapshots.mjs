// A snapshot a tool: its description for assistants, so that no change of it goes unseen.
//
//   snapshots.mjs POSTHORN [update]
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [posthorn, mode] = process.argv.slice(2);
const folder = join(dirname(fileURLToPath(import.meta.url)), 'snapshots');
mkdirSync(folder, { recursive: true });

const names = execFileSync(posthorn, ['tools']).toString().trim().split('\n').map((line) => line.split(' ')[0]);
const stale = new Set(readdirSync(folder));
let passed = 0;
let failed = 0;
for (const name of names) {
  const file = join(folder, `${name}.json`);
  const now = execFileSync(posthorn, ['tools', name]).toString();
  stale.delete(`${name}.json`);
  if (mode === 'update') writeFileSync(file, now);
  let before = null;
  try {
    before = readFileSync(file, 'utf8');
  } catch {
    // A new tool has no snapshot yet.
  }
  if (before === now) {
    passed++;
  } else {
    failed++;
    console.log(`FAILED ${name}: differs from tests/snapshots/${name}.json; run with 'update' when that is meant`);
  }
}
for (const file of stale) {
  if (mode === 'update') unlinkSync(join(folder, file));
  else failed++, console.log(`FAILED ${file}: there is no such tool any more`);
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
