// Gradual sends over a relay, the SMTP sink, with a clock that the test moves: tranches, a pause, runners that are killed between two
// tranches and at a release, a cancel, and the guard.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { awaitRestart, killEverything } from '../../faults/kills.mjs';
import { Mailing, addressesOf } from '../../faults/mailing.mjs';
import { holdOnceWritten } from '../../lib/database.mjs';
import { until } from '../../lib/processes.mjs';
import { Sink } from '../../lib/smtp_sink.mjs';

const LIMIT = { timeout: 600_000 };
const ENDS_MS = 60_000;
const DAY_S = 86_400;
const GUARD_S = 301; // longer than the guard waits between two looks

async function mailingFor(t, addresses) {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-gradual-'));
  const sink = await Sink.start({ recordFile: join(folder, 'record') });
  let clock;
  const mailing = await Mailing.prepare({ addresses, sinks: [sink], start: async (installation) => { clock = installation.movableClock(); } });
  t.after(async () => {
    const left = await mailing.dispose();
    await sink.stop();
    rmSync(folder, { recursive: true });
    assert.deepEqual(left, [], 'left behind');
  });
  const control = (send, action) => mailing.installation.call('control_email_send', { sendId: send.sendId, action });
  return { sink, mailing, clock, control };
}

const plan = (startingPercentage, incrementPercentage) =>
  ({ gradualSend: { startingPercentage, incrementPercentage, interval: { value: 1, unit: 'day' }, timeZone: 'Europe/Berlin' } });

const localTime = (iso) => new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Berlin', timeStyle: 'medium' }).format(new Date(iso));

const nextTranche = (mailing, send) => mailing.sql(`select next_tranche_at from gradual_sends where send_id = ${send.key}`);

/** Waits until so many recipients have a result, and the send is in this state. */
const untilDecided = (mailing, send, count, status = 'running') => until(`${count} are decided`, async () => {
  const row = await mailing.read(send);
  return row?.stats && row.delivery.delivered + row.delivery.bounced === count && row.status === status && row;
}, ENDS_MS);

/** Nothing is left to lease. */
const untilIdle = (mailing) => until('no range is open', async () => (await mailing.sql('select count(*) from send_ranges where next_ordinal <= to_ordinal')) === '0');

// D-121
test('tranches go out at the same local time, across a pause and two killed runners, to everybody once', LIMIT, async (t) => {
  const addresses = addressesOf(50);
  const { sink, mailing, clock, control } = await mailingFor(t, addresses);
  const send = await mailing.start(plan(20, 40));
  const first = await untilDecided(mailing, send, 10);
  assert.equal((await sink.stats()).messages, 10);
  assert.equal(first.gradualSend.currentTranche, 1);
  const timeOfDay = localTime(first.startedAt);
  assert.equal(localTime(await nextTranche(mailing, send)), timeOfDay);

  const last = await mailing.sql(`select email from send_recipients where send_id = ${send.key} and ordinal = 50`);
  const why = JSON.parse((await mailing.installation.run('why', last)).stdout);
  const [told] = why.sends;
  assert.equal(told.tranche, 3);
  assert.match(told.summary, /^Not mailed yet: waits for tranche 3 of 3, due at /);
  assert.equal(localTime(told.trancheDueAt), timeOfDay);

  const paused = await control(send, 'pause');
  assert.equal(paused.status, 'paused');
  clock.advance(2.25 * DAY_S); // tranches are late from here on, by less than half an interval
  assert.equal((await mailing.read(send)).status, 'paused');
  const resumed = await control(send, 'resume');
  assert.equal(resumed.status, 'running');
  assert.equal(localTime(await nextTranche(mailing, send)), timeOfDay);

  // Killed between two tranches; the next call brings another runner.
  await untilIdle(mailing);
  const killed = killEverything(mailing.installation, false);
  clock.advance(DAY_S);
  await awaitRestart(mailing, send, killed);
  const second = await untilDecided(mailing, send, 30);
  assert.equal(second.gradualSend.currentTranche, 2);
  assert.equal(localTime(await nextTranche(mailing, send)), timeOfDay);

  // Killed in the transaction that releases a tranche: its ranges exist, its usage is not counted yet.
  await untilIdle(mailing);
  const hold = await holdOnceWritten(mailing.installation, 'email_usage');
  await hold.held;
  clock.advance(DAY_S);
  await until('the release waits', async () => (await mailing.sql("select count(*) from pg_stat_activity where wait_event_type = 'Lock'")) !== '0', ENDS_MS);
  const killedAgain = killEverything(mailing.installation, false);
  assert.equal((await sink.stats()).messages, 30);
  await hold.release();
  await awaitRestart(mailing, send, killedAgain);
  const row = await mailing.ended(send, ENDS_MS);
  assert.equal(row.status, 'completed');
  assert.equal(row.gradualSend.currentTranche, 3);
  assert.deepEqual(sink.takeRecords().map(({ recipient }) => recipient).sort(), addresses.toSorted());
  assert.equal(await mailing.sql('select sum(sent) from email_usage'), '50');
});

// D-120, A-02
test('a relay that refuses many stops a gradual send; a canceled one delivers nothing more', LIMIT, async (t) => {
  const addresses = addressesOf(200, (index) => (index % 5 === 0 ? '+550' : ''));
  const { sink, mailing, clock, control } = await mailingFor(t, addresses);
  const send = await mailing.start(plan(60, 20));
  await untilDecided(mailing, send, 120);
  clock.advance(GUARD_S);
  const stopped = await untilDecided(mailing, send, 120, 'paused');
  assert.equal(stopped.pauseReason, 'manual');
  assert.match(stopped.error, /^The bounce guard paused this send: \d+ of 120 messages \(/);
  clock.advance(DAY_S);
  const { messages } = await sink.stats();
  assert.equal((await control(send, 'resume')).status, 'running');
  clock.advance(DAY_S);
  await untilDecided(mailing, send, 160);
  assert.ok((await sink.stats()).messages > messages);
  await control(send, 'pause');
  const canceled = await control(send, 'cancel');
  assert.equal(canceled.status, 'canceled');
  assert.equal(await mailing.sql('select sum(sent) from email_usage'), '160');
  const { messages: atCancel } = await sink.stats();
  clock.advance(3 * DAY_S);
  await until('no job is open', async () => (await mailing.sql("select count(*) from jobs where state in ('queued', 'running')")) === '0', ENDS_MS);
  assert.equal((await sink.stats()).messages, atCancel);
  assert.equal((await mailing.read(send)).status, 'canceled');
});
