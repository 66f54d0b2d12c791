// The outcome of docs/first-job.md, which tests/pages.mjs follows: the case of the new job passes, and the job that lost its worker
// ends with the exact count.
import assert from 'node:assert/strict';
import { read } from './pages/follow_page.mjs';

export const PAGE = 'docs/first-job.md';

const OPERATION = 'contacts.renameSource';

/** Looks at the output of the page's commands and at the generated files. */
export function checkPage({ blocks, printed }) {
  for (const action of ['create', 'append', 'change', 'run']) assert.ok(blocks.some((block) => block.action === action), `the page has no ${action}`);
  assert.ok(printed.some((text) => /^1 passed, 0 failed$/m.test(text)), 'the case of the page passed');
  const killed = printed.find((text) => text.includes('"renamed":'));
  assert.match(killed, /^\{"from":"fair","to":"trade fair","renamed":1000\}$/m, 'each contact is renamed once');
  assert.match(killed, /"source":"trade fair","contacts":1000/, 'no contact keeps the old source');
  assert.equal(read('build/first/killed/runner.log').split('"event":"runner.started"').length, 3, 'a second runner took over');
  assert.match(read('docs/reference/operations.md'), new RegExp(`### ${OPERATION}\n`));
  assert.match(read('build/first/generated/catalogue/job_types.c'), /\[JOB_RENAME_SOURCE\] = &job_rename_source,/);
}

/** Calls the operation in a running installation of the copy, after first_operation.mjs has saved two contacts there. */
export async function checkCall(installation) {
  assert.deepEqual(await installation.call(OPERATION, { from: 'fair', to: 'market' }), { from: 'fair', to: 'market', renamed: 2 });
}
