// Campaigns whose relay misbehaves: it drops sessions at the worst moment, stalls, refuses, changes its mind.

import { pause, until } from '../lib/processes.mjs';
import { verify, sumOf } from './verify.mjs';
import { awaitRestart, killCounted, killEverything, untilSent } from './kills.mjs';
import { Mailing, addressesOf } from './mailing.mjs';

const LIMIT_MS = 120_000;
const CONNECTIONS = 10;
const IMPATIENT = `connections=${CONNECTIONS}&timeout=1&final_timeout=2`;

async function prepare({ recipients, script, startSink, query, options = {} }) {
  const sink = await startSink();
  const mailing = await Mailing.prepare({ addresses: addressesOf(recipients, script), sinks: [sink.url(query)], options: { RETRY_AFTER: 1, ...options } });
  return { sink, mailing };
}

/** Waits for the end and verifies; `mayDouble` is what the sink says it did. */
async function finish({ mailing, sinks, send, ...rest }) {
  await mailing.ended(send, LIMIT_MS);
  const records = sinks.flatMap((sink) => sink.takeRecords()).sort((a, b) => (a.atNs < b.atNs ? -1 : 1));
  const outcome = await mailing.outcome(send);
  const figures = verify({ addresses: mailing.addresses, records, outcome, ...rest });
  const unmarked = records.filter(({ replied }) => !replied)
    .filter(({ recipient }) => !outcome.results.find(([address, , , uncertain]) => address === recipient && uncertain));
  if (unmarked.length > 0) figures.breaches.push(`${unmarked.length} messages without a reply are not marked uncertain`);
  return { figures, records, outcome };
}

export async function dropsAfterDot({ recipients, startSink }) {
  const { sink, mailing } = await prepare({ recipients, startSink });
  await sink.behave('drop-after-dot 0.05');
  const send = await mailing.start();
  await until('messages came', async () => (await sink.stats()).messages >= recipients * 0.9, LIMIT_MS);
  await mailing.ended(send, LIMIT_MS);
  const { unanswered } = await sink.stats();
  const { figures } = await finish({ mailing, sinks: [sink], send, mayDouble: unanswered });
  return { ...figures, disturbance: `${unanswered} drops` };
}

/** What was cut twice is held: it was sent again once, as the operator wishes, and the relay has taken neither. */
export async function dropsMidData({ recipients, startSink }) {
  const { sink, mailing } = await prepare({ recipients, startSink });
  await sink.behave('drop-mid-data 0.01');
  const send = await mailing.start();
  await mailing.ended(send, LIMIT_MS);
  const { cut } = await sink.stats();
  const { figures } = await finish({ mailing, sinks: [sink], send, mayDouble: cut, isHolding: true });
  if (figures.duplicates > 0) figures.breaches.push('a message that the relay never had was doubled');
  if (figures.unseen > cut - figures.uncertain) figures.breaches.push(`${figures.unseen} were held, but only ${cut - figures.uncertain} were cut twice`);
  return { ...figures, disturbance: `${cut} drops` };
}

export async function stalls({ recipients, startSink, random }) {
  const { sink, mailing } = await prepare({ recipients, startSink, query: IMPATIENT });
  await sink.behave('delay 1');
  const send = await mailing.start();
  const count = 3;
  for (let stall = 0; stall < count; stall++) {
    await untilSent(sink, 0, Math.floor((recipients * (stall + random.below(100) / 100)) / count));
    await sink.behave('stall on');
    await pause(3500);
    await sink.behave('stall off');
  }
  const { figures } = await finish({ mailing, sinks: [sink], send, mayDouble: count * CONNECTIONS });
  return { ...figures, disturbance: `${count} stalls` };
}

export async function says421({ recipients, startSink }) {
  const { sink, mailing } = await prepare({ recipients, startSink });
  await sink.behave('421 0.001');
  const send = await mailing.start();
  const { figures } = await finish({ mailing, sinks: [sink], send });
  return { ...figures, disturbance: `${(await sink.stats()).said421} times 421` };
}

export async function isAway({ recipients, startSink, random }) {
  const { sink, mailing } = await prepare({ recipients, startSink });
  await sink.behave('refuse-connections on');
  const send = await mailing.start();
  await pause(2500);
  if ((await sink.stats()).messages > 0) throw new Error('there were messages without a relay');
  await sink.behave('refuse-connections off');
  await untilSent(sink, 0, 1 + random.below(recipients / 2));
  const { figures } = await finish({ mailing, sinks: [sink], send });
  return { ...figures, disturbance: 'no relay for 2.5 s' };
}

/** Half of the recipients do not exist, others are blocked: only the first are never mailed again. */
export async function refusesHalf({ recipients, startSink }) {
  const script = (index) => (index % 2 ? '+550' : ['', '', '', '+block', '+5xxdot'][(index / 2) % 5]);
  const { sink, mailing } = await prepare({ recipients, startSink, script });
  const of = (word) => new Set(mailing.addresses.filter((address) => address.includes(`+${word}@`)));
  const breaches = [];
  const check = (holds, what) => holds || breaches.push(what);
  const first = await finish({ mailing, sinks: [sink], send: await mailing.start() });
  const reasons = new Map(first.outcome.results.filter(([, result]) => result === 'bounced').map(([address, , reason]) => [address, reason]));
  for (const [word, reason] of [['550', 'hard'], ['block', 'block'], ['5xxdot', 'refused']]) {
    const wrong = [...of(word)].filter((address) => reasons.get(address) !== reason);
    check(wrong.length === 0, `${wrong.length} bounces are not ${reason}, such as ${wrong[0]}`);
  }
  check(first.outcome.suppressed === of('550').size, `${first.outcome.suppressed} addresses are suppressed instead of ${of('550').size}`);
  const refusedBefore = (await sink.stats()).refused;
  const second = await finish({ mailing, sinks: [sink], send: await mailing.start(), skipped: of('550') });
  const tried = (await sink.stats()).refused - refusedBefore;
  check(tried === of('block').size + of('5xxdot').size, `the second campaign tried ${tried} who refuse`);
  const total = sumOf([first.figures, second.figures]);
  return { ...total, breaches: [...total.breaches, ...breaches], disturbance: `${refusedBefore} refusals` };
}

export async function changesItsMind({ recipients, startSink }) {
  const { sink, mailing } = await prepare({ recipients, startSink, script: (index) => (index % 3 ? '' : '+grey') });
  const { figures, outcome } = await finish({ mailing, sinks: [sink], send: await mailing.start() });
  const once = outcome.results.filter(([address, , , , attempts]) => attempts !== (address.includes('+grey') ? 2 : 1));
  if (once.length > 0) figures.breaches.push(`${once.length} were not tried as often as they should, such as ${once[0]}`);
  return { ...figures, disturbance: `${(await sink.stats()).deferred} put off` };
}

/** A message that may have arrived is held and not sent again, so no recipient gets two. */
export async function holds({ recipients, startSink, random, log }) {
  const { sink, mailing } = await prepare({ recipients, startSink, options: { UNCERTAIN: 'hold' } });
  await sink.behave('drop-after-dot 0.002');
  await sink.behave('delay 2');
  const send = await mailing.start();
  const kills = [];
  for (const target of [1, 2, 3].map(() => 1 + random.below(recipients * 0.9)).sort((a, b) => a - b)) {
    await untilSent(sink, 0, target);
    let killed;
    kills.push(await killCounted(sink, () => { killed = killEverything(mailing.installation, false); }));
    await awaitRestart(mailing, send, killed);
    log(`  killed at ${target} messages, ${kills.at(-1).sessions} sessions open`);
  }
  await mailing.ended(send, LIMIT_MS);
  const { unanswered } = await sink.stats();
  const { figures } = await finish({ mailing, sinks: [sink], send, kills, mayDouble: unanswered, isHolding: true });
  if (figures.duplicates > 0) figures.breaches.push('somebody was mailed twice');
  if (figures.held !== figures.uncertain) figures.breaches.push(`${figures.uncertain} uncertain, but ${figures.held} held`);
  return { ...figures, disturbance: `${kills.length} kills, ${unanswered} drops` };
}

/** Of two relays one stalls: the other takes everything but what the stalled one has in hand. */
export async function oneOfTwoStalls({ recipients, startSink }) {
  const sinks = [await startSink(), await startSink()];
  const query = `connections=${CONNECTIONS}&timeout=300&final_timeout=300`;
  const mailing = await Mailing.prepare({ addresses: addressesOf(recipients), sinks: sinks.map((sink) => sink.url(query)) });
  const send = await mailing.start();
  await untilSent(sinks[1], 0, 50);
  await sinks[1].behave('stall on');
  const taken = async () => {
    const [healthy, stalled] = await Promise.all(sinks.map((sink) => sink.stats()));
    return healthy.messages + stalled.messages >= recipients - CONNECTIONS;
  };
  await until('the other relay has taken what is left', taken, LIMIT_MS);
  await sinks[1].behave('stall off');
  const { figures } = await finish({ mailing, sinks, send });
  const [healthy, stalled] = await Promise.all(sinks.map((sink) => sink.stats()));
  return { ...figures, disturbance: `${healthy.messages} and ${stalled.messages} messages` };
}
