// The check sees what it is there to see: a good campaign passes, and each thing that may go wrong is named.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verify } from './verify.mjs';

const ADDRESSES = ['a@x', 'b@x', 'c@x', 'd+550@x'];

/** A campaign in which b was in hand when the sender was killed at 25. */
function campaign() {
  const record = (atNs, session, recipient) => ({ atNs: BigInt(atNs), session, recipient, messageId: `<${recipient}>`, replied: true });
  const delivered = ['a@x', 'b@x', 'c@x'];
  return {
    addresses: ADDRESSES,
    records: [record(10, '1', 'a@x'), record(20, '1', 'b@x'), record(30, '2', 'b@x'), record(40, '2', 'c@x')],
    kills: [{ atNs: 15n, goneNs: 25n, sessions: 1 }],
    outcome: {
      send: { status: 'completed' },
      results: [['a@x', 'delivered', null, false, 1], ['b@x', 'delivered', null, true, 2], ['c@x', 'delivered', null, false, 1], ['d+550@x', 'bounced', 'hard', false, 1]],
      events: [...delivered.flatMap((address) => [['sent', address], ['delivered', address]]), ['bounced', 'd+550@x']],
      stats: { accepted: 3, sent: 3, delivered: 3, bounced: 1, skipped: 0, failed: 0, held: 0 },
      counted: { sent: 3, delivered: 3, bounced: 1 },
      open: 0,
    },
  };
}

test('a good campaign passes', () => {
  const { breaches, ...figures } = verify(campaign());
  assert.deepEqual(breaches, []);
  assert.deepEqual(figures, { recipients: 4, recorded: 3, missing: 0, duplicates: 1, bound: 1, uncertain: 1, held: 0, unseen: 0 });
});

test('messages in hand at a second kill that follows the first at once belong to the second', () => {
  const followed = campaign();
  const { outcome } = followed;
  followed.records.splice(1, 0, { ...followed.records[0], atNs: 18n, session: '3', recipient: 'c@x', messageId: '<c@x>' });
  outcome.results[2] = ['c@x', 'delivered', null, true, 2];
  followed.kills = [{ atNs: 15n, goneNs: 28n, sessions: 1 }, { atNs: 29n, goneNs: 35n, sessions: 1 }];
  assert.deepEqual(verify(followed).breaches, []);
  followed.kills[1].sessions = 0;
  assert.ok(verify(followed).breaches.some((breach) => breach.includes('more than the sessions')));
});

test('a held recipient may have got nothing with --uncertain hold, and only with it', () => {
  const holding = campaign();
  const { outcome } = holding;
  holding.records.pop();
  outcome.results[2] = ['c@x', 'held', null, true, 1];
  outcome.events = outcome.events.filter(([, address]) => address !== 'c@x');
  outcome.stats = { accepted: 2, sent: 2, delivered: 2, bounced: 1, skipped: 0, failed: 0, held: 1 };
  outcome.counted = { sent: 2, delivered: 2, bounced: 1 };
  outcome.send.status = 'partially_completed';
  holding.mayDouble = 1;
  assert.deepEqual(verify({ ...holding, isHolding: true }).breaches, []);
  assert.deepEqual(verify(holding).breaches, ['1 are missing, such as c@x']);
});

test('a send that carries messages of an automation stays running, with a held recipient as well', () => {
  const carried = campaign();
  const { outcome } = carried;
  outcome.results[1] = ['b@x', 'held', null, true, 2];
  outcome.events = outcome.events.filter(([, address]) => address !== 'b@x');
  outcome.stats = { accepted: 2, sent: 2, delivered: 2, bounced: 1, skipped: 0, failed: 0, held: 1 };
  outcome.counted = { sent: 2, delivered: 2, bounced: 1 };
  assert.deepEqual(verify({ ...carried, isCarrier: true }).breaches, ['the send is completed instead of running']);
  outcome.send.status = 'running';
  assert.deepEqual(verify({ ...carried, isCarrier: true }).breaches, []);
});

const WRONGS = {
  'are missing': ({ records }) => records.pop(),
  'another outcome': ({ outcome }) => { outcome.results[2][1] = 'bounced'; },
  'were expanded': ({ outcome }) => outcome.results.pop(),
  'strangers got mail': ({ records }) => { records.push({ ...records[0], recipient: 'z@x', messageId: '<z>' }); },
  'not marked uncertain': ({ outcome }) => { outcome.results[1][3] = false; },
  'another Message-ID': ({ records }) => { records[2].messageId = '<other>'; },
  'more than twice': ({ records }) => { records.push({ ...records[2], atNs: 50n }); },
  'have 2 Message-IDs': ({ records }) => { records[3].messageId = records[0].messageId; },
  'doubled more than the sessions': ({ kills }) => { kills[0].sessions = 0; },
  'no kill between them': ({ kills }) => { kills[0].goneNs = 5n; },
  'more than one duplicate': ({ records, outcome, kills }) => {
    records.push({ ...records[0], atNs: 50n });
    outcome.results[0][3] = true;
    kills[0].sessions = 2;
  },
  'uncertain rows where': ({ outcome }) => { outcome.results[0][3] = true; },
  'held without being uncertain': ({ outcome }) => { outcome.results[2][1] = 'held'; },
  'the figure delivered': ({ outcome }) => { outcome.stats.delivered = 4; },
  'events sent': ({ outcome }) => { outcome.events.push(['sent', 'a@x']); },
  'events bounced': ({ outcome }) => outcome.events.pop(),
  'the hours count': ({ outcome }) => { outcome.counted.sent = 4; },
  'instead of completed': ({ outcome }) => { outcome.send.status = 'partially_completed'; },
  'still open': ({ outcome }) => { outcome.open = 1; },
  'without a recorded result': ({ records }) => { records.push({ ...records[0], recipient: 'd+550@x', messageId: '<d>', session: '9' }); },
};

for (const [what, spoil] of Object.entries(WRONGS)) {
  test(`seen: ${what}`, () => {
    const spoilt = campaign();
    spoil(spoilt);
    const { breaches } = verify(spoilt);
    assert.ok(breaches.some((breach) => breach.includes(what)), `${JSON.stringify(breaches)} names: ${what}`);
  });
}
