// The generated documents in docs/reference are those that the declarations make today.
//
//     node docs.mjs GENERATOR SOURCE_ROOT
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [generator, root] = process.argv.slice(2);
if (!generator || !root) {
  console.error('usage: docs.mjs GENERATOR SOURCE_ROOT');
  process.exit(2);
}
const PAGES = 'docs/reference';
const folder = mkdtempSync(join(tmpdir(), 'posthorn-docs-'));
const done = spawnSync(generator, [root, folder], { encoding: 'utf8' });
if (done.status !== 0) {
  console.error(done.stderr);
  process.exit(1);
}
const pages = readdirSync(join(folder, PAGES));
const stale = pages.filter((page) => {
  const made = readFileSync(join(folder, PAGES, page), 'utf8');
  let kept = '';
  try {
    kept = readFileSync(join(root, PAGES, page), 'utf8');
  } catch {
    return true;
  }
  return made !== kept;
});
rmSync(folder, { recursive: true, force: true });
if (pages.length < 4) {
  console.error(`only ${pages.length} pages were made`);
  process.exit(1);
}
if (stale.length > 0) {
  console.error(`out of date: ${stale.map((page) => `${PAGES}/${page}`).join(', ')}; build the target docs and commit them`);
  process.exit(1);
}
console.log(`${pages.length} pages are up to date`);
