// Follows the pages of docs that add an operation and a job, in one copy of the source tree and with one build, and checks the
// outcome of each. Takes the time of one build.
//
//   pages.mjs
import assert from 'node:assert/strict';
import { join } from 'node:path';
import * as job from './first_job.mjs';
import * as operation from './first_operation.mjs';
import { COPY, copyTree, followPages, stopRunners } from './pages/follow_page.mjs';

copyTree();
let followed;
try {
  followed = followPages([operation.PAGE, job.PAGE]);
} finally {
  stopRunners();
}
await operation.checkPage(followed.get(operation.PAGE));
job.checkPage(followed.get(job.PAGE));

process.env.POSTHORN_BIN = join(COPY, 'build/first/posthorn');
const { Installation } = await import('./lib/installation.mjs');
const installation = new Installation();
let orphans;
try {
  const server = await installation.serve();
  await operation.checkTransports(installation, server);
  await job.checkCall(installation);
} finally {
  orphans = await installation.dispose();
}
assert.deepEqual(orphans, []);
for (const [page, { blocks }] of followed) console.log(`${blocks.length} blocks of ${page} followed: passed`);
