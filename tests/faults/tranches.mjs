// Gradual sends whose runner is killed in the transaction that releases a tranche, and while the tranche goes out. The clock of the
// installation moves from tranche to tranche.

import { holdOnceWritten } from '../lib/database.mjs';
import { until } from '../lib/processes.mjs';
import { awaitRestart, killCounted, killEverything, untilSent } from './kills.mjs';
import { Mailing, addressesOf } from './mailing.mjs';
import { verify } from './verify.mjs';

const LIMIT_MS = 90_000;
const HOUR_S = 3600;
const PLAN = { startingPercentage: 10, incrementPercentage: 30, interval: { value: 1, unit: 'hour' }, timeZone: 'UTC' };
const TRANCHES = 4;

/** Waits until a tranche is released and its recipients have their messages. */
const untilDone = (mailing, send, tranche) => until(`tranche ${tranche} is done`, async () => {
  const row = await mailing.read(send);
  const released = await mailing.sql(`select released from gradual_sends where send_id = ${send.key} and tranche = ${tranche}`);
  return row && released !== '' && row.delivery.delivered === Number(released);
}, LIMIT_MS);

/** Kills the runner while the release waits for the usage. The ranges of the tranche are written and not committed. */
async function killAtRelease({ mailing, sink, clock, send, tranche }) {
  await untilDone(mailing, send, tranche - 1);
  const hold = await holdOnceWritten(mailing.installation, 'email_usage');
  await hold.held;
  clock.advance(HOUR_S);
  const waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%email_usage%'";
  await until('the release waits', async () => (await mailing.sql(waiting)) !== '0', LIMIT_MS);
  let killed;
  const blow = await killCounted(sink, () => { killed = killEverything(mailing.installation, false); });
  await hold.release();
  await awaitRestart(mailing, send, killed);
  return blow;
}

async function killAmidTranche({ mailing, sink, random, send, from, to }) {
  await untilSent(sink, 0, from + random.below(to - from - 1) + 1);
  let killed;
  const blow = await killCounted(sink, () => { killed = killEverything(mailing.installation, random.below(2) === 0); });
  await awaitRestart(mailing, send, killed);
  return blow;
}

/** Each tranche is killed at its release, and once more while it goes out. */
export async function killedAtRelease({ recipients, random, startSink, log }) {
  const sink = await startSink();
  let clock;
  const mailing = await Mailing.prepare({
    addresses: addressesOf(recipients), sinks: [sink], start: async (installation) => { clock = installation.movableClock(); },
  });
  await sink.behave('delay 2');
  const send = await mailing.start({ gradualSend: PLAN });
  const kills = [];
  for (let tranche = 2; tranche <= TRANCHES; tranche++) {
    const share = (number) => Math.ceil((recipients * (10 + 30 * (number - 1))) / 100);
    kills.push(await killAtRelease({ mailing, sink, clock, send, tranche }));
    kills.push(await killAmidTranche({ mailing, sink, random, send, from: share(tranche - 1), to: share(tranche) }));
    log(`  tranche ${tranche}: killed at ${kills.at(-2).messages} and at ${kills.at(-1).messages} messages`);
  }
  await mailing.ended(send, LIMIT_MS);
  const figures = verify({ addresses: mailing.addresses, records: sink.takeRecords(), outcome: await mailing.outcome(send), kills });
  const used = Number(await mailing.sql('select sum(sent) from email_usage'));
  if (used !== recipients) figures.breaches.push(`${used} messages were counted for ${recipients} recipients`);
  return { ...figures, disturbance: `${kills.length} kills at and after releases` };
}
