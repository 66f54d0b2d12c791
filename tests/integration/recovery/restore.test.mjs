// A database that is restored from a dump, and a data folder that is restored from a copy: sends that went out in between do not go
// out again before the operator releases them; new ones do.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { makePlace, must, transportsOfKey } from '../../lib/brand_fixture.mjs';
import { prepareSend, saveContacts } from '../../lib/campaign.mjs';
import { sql } from '../../lib/database.mjs';
import { installationFor } from '../../lib/installation.mjs';
import { Postgres } from '../../lib/postgres.mjs';
import { until } from '../../lib/processes.mjs';

const LIMIT = { timeout: 600_000 };
const COUNT = 3;
const run = promisify(execFile);

const inAnHour = () => new Date(Date.now() + 3600_000).toISOString();
const messagesOf = (installation, sendId) => installation.outbox().filter((name) => name.startsWith(sendId)).length;

/** A send whose time has passed, and whose job is not due yet. */
async function overdueSend(installation, place) {
  const { sendId } = await must(place.rest.call('POST', '/v1/sends', { ...(await prepareSend(place.mcp.call)), scheduledAt: inAnHour() }));
  await sql(installation, "update sends set scheduled_at = now() - interval '1 minute' where status = 'scheduled'");
  return sendId;
}

const runItsJob = (installation) =>
  sql(installation, "update jobs set run_after = now() where kind = 'campaign' and state = 'queued'; select pg_notify('posthorn_work', '')");

const completed = (place, sendId) =>
  until('the send has ended', async () => (await must(place.rest.call('GET', `/v1/sends/${sendId}`))).status === 'completed', 30_000);

/** The send is held, says so everywhere, and stays in place while a new one goes out. */
async function assertHeld(installation, place, sendId, messages) {
  const status = await installation.admin('restore', 'status');
  assert.equal(status.held, 1);
  assert.deepEqual(status.sends.map((send) => [send.sendId, send.brandId, send.status]), [[sendId, place.brandId, 'scheduled']]);
  const doctor = await installation.run('doctor');
  assert.equal(JSON.parse(doctor.stdout).database.sendsHeld, 1);
  assert.equal(doctor.code, 1);
  const why = await installation.run('why', 'reader-0@example.com', sendId, '--brand', place.brandId);
  assert.match(why.stdout, /because the database was restored from an older state/);

  await runItsJob(installation);
  const fresh = await must(place.rest.call('POST', '/v1/sends', await prepareSend(place.mcp.call, 'New')));
  await completed(place, fresh.sendId);
  assert.equal(messagesOf(installation, fresh.sendId), COUNT);
  await until('the job of the held send has run and waits', async () => (await sql(installation,
    "select count(*) from jobs where kind = 'campaign' and state = 'queued' and run_after > now() + interval '1 minute'"))[0] === '1', 30_000);
  assert.equal(messagesOf(installation, sendId), messages);
  assert.equal((await must(place.rest.call('GET', `/v1/sends/${sendId}`))).status, 'scheduled');
}

async function assertReleased(installation, place, sendId) {
  assert.deepEqual(await installation.admin('restore', 'release', '--send', sendId), { released: 1 });
  await completed(place, sendId);
  assert.equal((await installation.admin('restore', 'status')).held, 0);
  assert.equal((await installation.run('doctor')).code, 0);
  assert.deepEqual(await sql(installation, "select operation from audit_log where operation = 'admin.restore.release'"), ['admin.restore.release']);
}

test('a dump that is restored', LIMIT, async () => {
  const postgres = new Postgres();
  after(() => postgres.dispose());
  const installation = installationFor({ after }, { DATABASE: postgres.url });
  await postgres.start();
  let server = await installation.serve();
  let place = await makePlace(installation, server);
  await saveContacts(place.mcp.call, 'reader', COUNT);
  const sendId = await overdueSend(installation, place);
  const dump = join(installation.folder, 'backup.dump');
  await run('pg_dump', ['-Fc', '-n', 'posthorn', '-f', dump, postgres.url]);

  place.close();
  await server.stop();
  server = await installation.serve(); // a start moves the generation on
  assert.equal((await installation.admin('restore', 'status')).held, 0);
  const reach = () => ({ ...place, ...transportsOfKey(server, place.key) });
  place = reach();
  await runItsJob(installation);
  await completed(place, sendId);
  assert.equal(messagesOf(installation, sendId), COUNT);
  place.close();
  await server.stop();

  await run('psql', [postgres.url, '-qX', '-v', 'ON_ERROR_STOP=1', '-c', 'drop schema posthorn cascade']);
  await run('pg_restore', ['-d', postgres.url, '--exit-on-error', dump]);
  rmSync(join(installation.data, 'outbox'), { recursive: true }); // a second delivery would replace the files
  server = await installation.serve();
  place = reach();
  assert.ok(server.log.some((line) => line.includes('"restore.held"') && line.includes('older than this data folder')), server.log.join('\n'));
  await assertHeld(installation, place, sendId, 0);

  // Killed and started anew: no second alarm, and the hold stays.
  place.close();
  await server.kill();
  server = await installation.serve();
  place = reach();
  assert.ok(!server.log.some((line) => line.includes('restore.held')));
  await assertReleased(installation, place, sendId);
  place.close();
});

test('a data folder that is restored from a copy', LIMIT, async () => {
  const installation = installationFor({ after });
  let server = await installation.serve();
  let place = await makePlace(installation, server);
  await saveContacts(place.mcp.call, 'reader', COUNT);
  const sendId = await overdueSend(installation, place);
  await sql(installation, "update data_folders set moved_at = moved_at - interval '1 hour'");
  place.close();
  await server.stop();
  await installation.stop();
  const copy = join(installation.folder, 'copy');
  await run('cp', ['-a', installation.data, copy]);
  rmSync(installation.data, { recursive: true });
  await run('cp', ['-a', copy, installation.data]);

  server = await installation.serve();
  place = { ...place, ...transportsOfKey(server, place.key) };
  await until('the runner has looked', () => installation.runnerLog.includes('restore.held'), 30_000);
  await assertHeld(installation, place, sendId, 0);
  await assertReleased(installation, place, sendId);
  place.close();
});
