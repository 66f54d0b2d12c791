// The worker is killed in the middle of a run of insights: the run is repeated, ends once, and blocks nothing afterwards.

import assert from 'node:assert/strict';
import test from 'node:test';
import { SqlSession, sql } from '../../lib/database.mjs';
import { installationFor } from '../../lib/installation.mjs';
import { killGroup, until } from '../../lib/processes.mjs';

// A brand whose domain has lost a record: a finding without any statistics.
const LOST_DOMAIN = `with domain as (
  insert into domains (brand_id, organization_id, name, kind, status, sending_purpose, created_at, updated_at)
  select id, organization_id, 'news.example', 'sending', 'pending', 'marketing', now(), now() from brands returning id, brand_id)
  insert into sends (brand_id, kind, message_class, email_id, email_version_id, status, subject, subject_code, from_address, domain_id,
                     target, target_hash, started_at, created_at, updated_at)
  select brand_id, 'campaign', 'marketing', 1, 1, 'completed', 'Hi', '', 'a@b.example', id, 'all', '', now(), now(), now() from domain`;
const BLOCKED = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%event_rollups%'";
const RUN = "select attempt_status, running_job is null, succeeded_at is not null from insight_runs";

test('a worker is killed in the middle of a run of insights: another one repeats the run (R-397)', { timeout: 600_000 }, async (t) => {
  const installation = installationFor(t);
  const client = installation.stdio();
  await client.initialize();
  assert.ok((await client.tool('get_capabilities', { topic: 'account' })).ok);
  await sql(installation, LOST_DOMAIN);

  const lock = await SqlSession.open(installation);
  await lock.rows('begin');
  await lock.rows('lock table event_rollups in access exclusive mode');
  const running = installation.run('insights', 'run');
  running.catch(() => {}); // awaited below
  await until('the run waits for the rollups', async () => (await sql(installation, BLOCKED))[0] !== '0');
  assert.deepEqual(await sql(installation, RUN), ['running|f|f']);
  const killed = installation.runnerPid;
  killGroup(killed);
  await until('another runner has come', () => installation.runnerPid > 0 && installation.runnerPid !== killed);
  // The server ends with its runner, and the lock with the server; an operator's server stays.
  await lock.rows('rollback').then(() => lock.close(), () => {});

  const { stdout } = await running;
  assert.equal(JSON.parse(stdout).active, 0, 'one run only has saved what it found');
  assert.deepEqual(await sql(installation, RUN), ['succeeded|t|t']);
  assert.deepEqual(await sql(installation, 'select detector, held, missed, state is null from insights'), ['lostRecord|1|0|t']);
  const again = JSON.parse((await installation.run('insights', 'run')).stdout);
  assert.equal(again.active, 1);
  assert.deepEqual(await sql(installation, "select distinct state from jobs where kind = 'find_insights'"), ['done']);
});
