// A run that ends the process whenever it is stepped: it is found by halving the transactions, fails with its reason, and all others
// go on.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { awaitRunner, killEverything } from '../../faults/kills.mjs';
import { Mailing, addressesOf } from '../../faults/mailing.mjs';
import { addAutomation, link, mailNode, startRuns, triggerNode } from '../../lib/automation_fixture.mjs';
import { stateOf } from '../../lib/automation_state.mjs';
import { until } from '../../lib/processes.mjs';
import { Sink } from '../../lib/smtp_sink.mjs';

const LIMIT = { timeout: 600_000 };
const ENDS_MS = 20_000;
const FIRST = 8;
const LATER = 2;
const BAD = 5; // of the first ones
const KILLS = 6; // with 8, 4 and 2 runs in the transaction, and three times alone

/** The write of a visit of this recipient's run waits, so that the process can be killed there. */
const stopAt = (mailing, email) => mailing.sql(`create function stop_here() returns trigger language plpgsql as $$ begin
    perform pg_sleep(600) from automation_runs r where r.brand_id = new.brand_id and r.id = new.run_id and r.email = '${email}';
    return new;
  end $$;
  create trigger stop_here before insert on automation_steps for each row execute function stop_here()`);

//
test('a run that ends the process fails with its reason, and the others go on', LIMIT, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-crashing-'));
  const sink = await Sink.start({ recordFile: join(folder, 'record') });
  const addresses = addressesOf(FIRST + LATER);
  const mailing = await Mailing.prepare({ addresses, sinks: [sink] });
  t.after(async () => {
    const left = await mailing.dispose();
    await sink.stop();
    rmSync(folder, { recursive: true });
    assert.deepEqual(left, [], 'left behind');
  });
  await addAutomation(mailing, [triggerNode, await mailNode(mailing, 'welcome')], [link('start', 'welcome')]);
  const look = (statement) => mailing.sql(statement).catch(() => '');
  const comes = (what, holds) =>
    until(what, holds, ENDS_MS).catch(async (problem) => { throw new Error(`${problem.message}\n${await stateOf(mailing)}`); });
  const hasFailed = async () => await look("select count(*) from automation_runs where status = 'failed'") === '1';
  const isStopped = async () => await look("select count(*) from pg_stat_activity where wait_event = 'PgSleep'") === '1';
  const isDelivered = async () => await look('select (select count(*) from automation_sends) = (select count(*) from send_results)') === 't';

  const bad = addresses[BAD];
  await stopAt(mailing, bad);
  await startRuns(mailing, addresses.slice(0, FIRST));
  let kills = 0;
  for (;;) {
    await comes('the run stops the process, or has failed', async () => await isStopped() || await hasFailed());
    if (await hasFailed()) break;
    await comes('no message is under way, which would be sent again after the kill', isDelivered);
    const killed = killEverything(mailing.installation, false);
    kills++;
    await awaitRunner(mailing, killed);
    if (kills === 2) await startRuns(mailing, addresses.slice(FIRST)); // while the process is stopped by the bad run again
    if (kills === 3) await comes('the next process steps others before the suspect runs', async () => await look(`select count(*) from automation_runs
      where status = 'completed' and email in ('${addresses.slice(FIRST).join("', '")}')`) === String(LATER));
  }
  assert.equal(kills, KILLS);
  await comes('all others have their mail', async () => await look(`select count(*) from send_results`) === String(addresses.length - 1));
  assert.deepEqual(sink.takeRecords().map(({ recipient }) => recipient).sort(), addresses.filter((address) => address !== bad).sort());
  assert.equal(await mailing.sql('select status, email, error from automation_runs order by status desc limit 1'),
    `failed|${bad}|The service ended three times while it stepped this run.`);
  assert.equal(await mailing.sql('select count(*) from step_crashes'), '0');
  const wrong = await mailing.sql(`select run_id, visit, count(*) from automation_steps group by 1, 2 having count(*) <> 1`);
  assert.equal(wrong, '', 'visits that were written twice');
});
