// Sends over a relay, the SMTP sink: their status and figures while the relay accepts, defers, refuses and stalls, and without one.

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Mailing } from '../../faults/mailing.mjs';
import { pause, until } from '../../lib/processes.mjs';
import { Sink } from '../../lib/smtp_sink.mjs';

const LIMIT = { timeout: 600_000 };
const ENDS_MS = 60_000;
const RETRY_S = 3600; // no retry comes before the clock is moved
const address = (name, script = '') => `${name}${script}@readers.example`;

/** A brand that writes to `addresses` through a sink, or has no relay. */
async function mailingFor(t, addresses, { hasRelay = true, start, ...options } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-relay-'));
  const sink = await Sink.start({ recordFile: join(folder, 'record') });
  const mailing = await Mailing.prepare({ addresses, sinks: hasRelay ? [sink] : [], options: { RETRY_AFTER: 1, ...options }, start });
  t.after(async () => {
    const left = await mailing.dispose();
    await sink.stop();
    rmSync(folder, { recursive: true });
    assert.deepEqual(left, [], 'left behind');
  });
  return { sink, mailing, installation: mailing.installation };
}

/** A call that is refused; gives its error. */
async function refusal(installation, tool, args) {
  const { code, stdout, stderr } = await installation.run('call', tool, JSON.stringify(args));
  assert.notEqual(code, 0, `${tool} was not refused: ${stdout}`);
  return JSON.parse(stderr.split('\n').find((line) => line.startsWith('{"error"'))).error;
}

const figures = ({ stats, delivery }) => ({ sent: stats.sent, delivered: stats.delivered, bounced: stats.bounced, ...delivery });

test('a public domain is refused without a relay, and nothing is kept of the order', LIMIT, async (t) => {
  const { mailing, installation } = await mailingFor(t, [address('ada')], { hasRelay: false });
  await assert.rejects(mailing.start(), /DOMAIN_NOT_READY.*--relay/, 'it says what is missing');
  assert.equal(await mailing.sql('select count(*) from sends'), '0');
  assert.deepEqual(installation.outbox(), []);
});

//
test('figures count the messages that a relay accepted, deferred and refused, during the send and afterwards', LIMIT, async (t) => {
  const plain = ['ada', 'bob', 'cyd'].map((name) => address(name));
  const later = ['dan', 'eve'].map((name) => address(name, '+grey'));
  let clock;
  const start = async (started) => { clock = started.movableClock(); };
  const { sink, mailing } = await mailingFor(t, [...plain, ...later, address('fay', '+550'), address('gus', '+block')], { RETRY_AFTER: RETRY_S, start });
  const send = await mailing.start();
  const waiting = await until('two are put off', async () => {
    const row = await mailing.read(send);
    return row?.delivery.delayed === 2 && row.delivery.delivered === 3 && row.delivery.bounced === 2 && row;
  });
  assert.equal(waiting.status, 'running');
  assert.deepEqual(figures(waiting), { sent: 3, delivered: 3, bounced: 2, accepted: 3, pending: 2, delayed: 2 });
  clock.advance(2 * RETRY_S);
  const row = await mailing.ended(send, ENDS_MS);
  assert.equal(row.status, 'completed');
  assert.deepEqual(figures(row), { sent: 5, delivered: 5, bounced: 2, accepted: 5, pending: 0, delayed: 0 });
  assert.deepEqual(sink.takeRecords().map(({ recipient }) => recipient).sort(), [...plain, ...later].sort());
});

test('an address that does not exist is not mailed again; one whose server blocks the sender is', LIMIT, async (t) => {
  const gone = address('gone', '+550');
  const { sink, mailing, installation } = await mailingFor(t, [address('ada'), gone, address('bob', '+block')]);
  await mailing.ended(await mailing.start(), ENDS_MS);
  assert.equal((await sink.stats()).refused, 2);
  const second = await mailing.ended(await mailing.start(), ENDS_MS);
  assert.equal((await sink.stats()).refused, 3, 'only the blocked one was tried again');
  assert.deepEqual(figures(second), { sent: 1, delivered: 1, bounced: 1, accepted: 1, pending: 0, delayed: 0 });
  const events = await installation.call('get_email_analytics', { view: 'events', eventType: 'bounced' });
  assert.deepEqual(events.data.map(({ recipientEmail }) => recipientEmail).sort(), [address('bob', '+block'), address('bob', '+block'), gone]);
});

//
test('a send that is running cannot be cancelled, and goes on when its relay does', LIMIT, async (t) => {
  const addresses = Array.from({ length: 50 }, (_, index) => address(`n${index}`));
  const { sink, mailing, installation } = await mailingFor(t, addresses);
  await sink.behave('stall on');
  const send = await mailing.start();
  await until('it is running', async () => (await mailing.read(send))?.status === 'running');
  const error = await refusal(installation, 'control_email_send', { sendId: send.sendId, action: 'cancel' });
  assert.equal(error.code, 'SEND_NOT_CANCELLABLE');
  assert.equal((await mailing.read(send)).status, 'running');
  await sink.behave('stall off');
  assert.equal((await mailing.ended(send, ENDS_MS)).delivery.delivered, addresses.length);
});

//
test('a scheduled send reaches the relay at its time, a cancelled one never', LIMIT, async (t) => {
  let clock;
  const start = (started) => (clock = started.movableClock());
  const { sink, mailing, installation } = await mailingFor(t, [address('ada')], { start });
  const at = (hours) => ({ scheduledAt: new Date(Date.now() + hours * 3600_000).toISOString() });
  const cancelled = await mailing.start(at(1));
  const kept = await mailing.start(at(2));
  assert.equal((await installation.call('control_email_send', { sendId: cancelled.sendId, action: 'cancel' })).status, 'canceled');
  assert.equal((await mailing.read(kept)).status, 'scheduled');
  assert.equal((await sink.stats()).messages, 0);
  // The cancelled one would be due before the other.
  clock.advance(2 * 3600);
  assert.equal((await mailing.ended(kept, ENDS_MS)).delivery.delivered, 1);
  assert.equal((await sink.stats()).messages, 1);
  assert.equal((await mailing.read(cancelled)).status, 'canceled');
});

//
test('a test message goes through the relay while its caller waits; no send is kept, a refusal is told', LIMIT, async (t) => {
  const { sink, mailing, installation } = await mailingFor(t, [address('ada')]);
  const { emailId } = await installation.call('import_email', { content: '<p>Hello</p>', title: 'Letter', subjectLine: 'Hello' });
  const order = (to) => ({ test: true, emailId, domainId: mailing.domainId, to, subject: 'Hello', from: mailing.from });
  const before = sink.takeRecords().length;
  const answer = await installation.call('send_email', order(address('me')));
  assert.equal(answer.status, 'completed');
  assert.deepEqual([before, sink.takeRecords().map(({ recipient }) => recipient)], [0, [address('me')]]);
  const error = await refusal(installation, 'send_email', order(address('me', '+550')));
  assert.match(error.message, /no such mailbox/, 'in the words of the relay');
  assert.equal(await mailing.sql('select count(*) from sends'), '0');
  assert.equal(await mailing.sql(`select count(*) from suppressions`), '0', 'a test suppresses nobody');
});

test('an orderly stop while a relay is away leaves no journal, and the next start goes on', LIMIT, async (t) => {
  const addresses = Array.from({ length: 30 }, (_, index) => address(`n${index}`));
  const { sink, mailing, installation } = await mailingFor(t, addresses);
  await sink.behave('refuse-connections on');
  const send = await mailing.start();
  await until('it is running', async () => (await mailing.read(send))?.status === 'running');
  await pause(700); // somebody waits for the relay by now
  await installation.stop();
  const journals = readdirSync(join(installation.data, 'journal')).filter((name) => name.endsWith('.journal'));
  assert.deepEqual(journals, []);
  await sink.behave('refuse-connections off');
  assert.equal((await mailing.ended(send, ENDS_MS)).delivery.delivered, addresses.length);
});
