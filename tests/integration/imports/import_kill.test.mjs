// the process that imports is killed at random moments, and the import ends with exactly the file's contacts all the same.
//
//   POSTHORN_FAULT_ROUNDS   kills (3)
//   POSTHORN_FAULT_SEED     their moments; printed, so that a failing run can be repeated

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { storedContacts, writeContacts } from '../../lib/contact_files.mjs';
import { sql } from '../../lib/database.mjs';
import { installationFor } from '../../lib/installation.mjs';
import { kill, killGroup, pause, until } from '../../lib/processes.mjs';
import { Random } from '../../lib/random.mjs';

const KILLS = Number(process.env.POSTHORN_FAULT_ROUNDS ?? 3);
const SEED = Number(process.env.POSTHORN_FAULT_SEED ?? Date.now() % 1_000_000);
const ROWS = 120_000;
const RECOVERY_LIMIT_MS = 60_000; // PostgreSQL reads its log again before a runner can start

// How far the import has come, in chunks of its shards; -1 when there is none.
async function chunksDone(installation) {
  const [line] = await sql(installation,
    "select coalesce(max(done), -1) from (select sum(chunks) as done from import_lanes join imports i on i.id = import_id and i.status = 'running' group by import_id) lanes");
  return Number(line);
}

test(`an import of ${ROWS} rows is killed ${KILLS} times: nobody missing, nobody twice (R-371)`, { timeout: 600_000 + KILLS * 30_000 }, async (t) => {
  t.diagnostic(`POSTHORN_FAULT_SEED=${SEED}`);
  const random = new Random(SEED);
  const installation = installationFor(t);
  const root = join(installation.folder, 'files');
  mkdirSync(root);
  const { bad, expected } = writeContacts(join(root, 'contacts.csv'), ROWS);
  const client = installation.stdio('--import-root', root);
  await client.initialize();
  assert.ok((await client.tool('get_capabilities', { topic: 'account' })).ok);

  let kills = 0;
  for (let round = 1; kills < KILLS; round++) {
    await sql(installation, 'delete from contacts');
    const idempotencyKey = `round ${round}`;
    let hasEnded = false;
    const importing = client.toolToEnd('import_contacts_csv', { path: 'contacts.csv', idempotencyKey }).finally(() => { hasEnded = true; });
    // Up to three of the kills fall into one import.
    for (let more = 1 + random.below(3); more > 0 && kills < KILLS; more--) {
      await pause(random.below(900));
      const runner = installation.runnerPid;
      if (hasEnded || runner === 0) break;
      const at = await chunksDone(installation).catch(() => 'no');
      if (random.below(4) === 0) kill(installation.postmasterPid);
      killGroup(runner);
      kills++;
      t.diagnostic(`round ${round}: killed runner ${runner} at ${at} chunks`);
      // A caller that waits for the import starts another runner; when the import had just ended, none does.
      const isReplaced = () => installation.runnerPid > 0 && installation.runnerPid !== runner;
      await until('another runner has come', () => isReplaced() || hasEnded, RECOVERY_LIMIT_MS);
    }
    const { ok, body } = await importing;
    // A kill just after the end has ended PostgreSQL, too: another call starts it.
    await until('a runner has started it', async () => (await client.tool('get_capabilities', { topic: 'account' })).ok);
    assert.ok(ok, JSON.stringify(body));
    assert.equal(body.status, 'completed');
    const { inserted, updated, unchanged, failed } = body.summary;
    assert.equal(failed, bad);
    assert.equal(inserted + updated + unchanged + failed, ROWS, 'every row is counted once');
    assert.equal(inserted, expected.length);
    assert.deepEqual(await storedContacts(installation), expected);
    const [lines] = await sql(installation, 'select count(*), count(distinct line) from import_errors where import_id = (select max(id) from imports)');
    assert.equal(lines, `${bad}|${bad}`, 'every bad row is told once');
    assert.deepEqual(await client.tool('import_contacts_csv', { path: 'contacts.csv', idempotencyKey }), { ok, body }, 'the same answer again');
  }
});
