// Campaigns whose runner is killed at random moments: while recipients are expanded, while mail goes out, just after a restart,
// while the last results are settled.

import { kill, killGroup, pause, until } from '../lib/processes.mjs';
import { outcomeOf, verify, sumOf } from './verify.mjs';
import { Mailing, addressesOf } from './mailing.mjs';

const RESTART_LIMIT_MS = 30_000;
const CAMPAIGN_LIMIT_MS = 90_000;
const DELAYS_MS = [0, 2, 5]; // of the relay's last reply: the longer, the more messages are in hand at a kill
const KILLS_OF_CAMPAIGN = { least: 4, spread: 7 };

// ---- Killing ----

/** What dies: always the runner's process group; its PostgreSQL, too, in half of the kills. */
export function killEverything(installation, withPostgres) {
  const runner = installation.runnerPid;
  const others = withPostgres ? installation.processes().map(({ pid }) => pid) : [];
  killGroup(runner);
  others.forEach((pid) => kill(pid));
  return runner;
}

/** Kills and counts: {atNs, goneNs, sessions} as the check wants it, with the sessions that were lost by it. */
export async function killCounted(sink, strike) {
  const before = await sink.stats();
  const atNs = process.hrtime.bigint();
  strike();
  const after = await until('the sink has lost its sessions', async () => {
    const now = await sink.stats();
    return now.open === 0 && now;
  });
  return { atNs, goneNs: process.hrtime.bigint(), sessions: after.lost - before.lost, messages: before.messages };
}

/** Waits until another runner serves. A call starts one, but one that comes while the old runner is dying may still be answered by its
 * server, and then leaves none behind: `call` is repeated until there is a runner. */
export async function awaitRunner({ installation }, killed, call = () => installation.call('get_capabilities', { topic: 'account' })) {
  const isBack = async () => (await call().catch(() => null)) && installation.runnerPid > 0 && installation.runnerPid !== killed;
  await until('another runner has come', isBack, RESTART_LIMIT_MS);
}

export const awaitRestart = (mailing, send, killed) => awaitRunner(mailing, killed, () => mailing.read(send));

// ---- Moments ----

/** Waits until so many messages came since the campaign began. */
export function untilSent(sink, base, target) {
  const look = async () => {
    for (let tries = 0; tries < 50; tries++) if ((await sink.stats()).messages - base >= target) return true;
    return false;
  };
  return until(`${target} messages came`, look, CAMPAIGN_LIMIT_MS);
}

/** Waits for one more message; no more come when all recipients have theirs. */
async function untilNext(sink, base, recipients) {
  const { messages } = await sink.stats();
  await untilSent(sink, base, Math.min(messages - base + 1, recipients));
}

/** The moments of a campaign's kills in their order, each {name, wait()}. */
function drawMoments(random, count, recipients, sink, base) {
  const targets = Array.from({ length: count }, () => random.below(recipients)).sort((a, b) => a - b);
  return targets.map((target, index) => {
    const kind = random.below(100);
    if (kind < 10 || (index === 0 && kind < 30)) {
      const ms = random.below(index === 0 ? 150 : 500);
      return { name: `${ms} ms after ${index === 0 ? 'the order' : 'a restart'}`, wait: () => pause(ms) };
    }
    if (index > 0 && kind < 25) return { name: 'at the first message after a restart', wait: () => untilNext(sink, base, recipients) };
    if (index === count - 1 && kind > 70) {
      const ms = random.below(120);
      return { name: `${ms} ms after the last message`, wait: () => untilSent(sink, base, recipients).then(() => pause(ms)) };
    }
    return { name: `at ${target} messages`, wait: () => untilSent(sink, base, target) };
  });
}

// ---- A campaign ----

async function hasEnded(mailing, send, at) {
  const completedAt = await mailing.sql(`select extract(epoch from completed_at) * 1000 from sends where id = ${send.key}`);
  return completedAt !== '' && Number(completedAt) < at;
}

async function killOnce({ mailing, sink, random, send, moment, log }) {
  await moment.wait();
  const withPostgres = random.below(2) === 0;
  let killed;
  const at = Date.now();
  const blow = await killCounted(sink, () => { killed = killEverything(mailing.installation, withPostgres); });
  await awaitRestart(mailing, send, killed);
  const downMs = Date.now() - at;
  const late = await hasEnded(mailing, send, at);
  log(`  +${at - send.startedAt} ms, ${moment.name}: ${withPostgres ? 'runner and PostgreSQL' : 'runner'}, ${blow.sessions} sessions open, `
    + `${blow.messages} messages so far, back after ${downMs} ms${late ? '; the campaign had ended, not counted' : ''}`);
  return { ...blow, late };
}

async function runCampaign({ mailing, sink, random, kills, log, skipped }) {
  const delay = random.pick(DELAYS_MS);
  await sink.behave(`delay ${delay}`);
  const base = (await sink.stats()).messages;
  const willTake = mailing.addresses.filter((address) => outcomeOf(address) === 'delivered').length;
  const moments = drawMoments(random, kills, willTake, sink, base);
  const send = await mailing.start();
  log(`campaign with ${kills} kills, relay ${delay} ms late`);
  const blows = [];
  for (const moment of moments) {
    blows.push(await killOnce({ mailing, sink, random, send, moment, log }));
    if (blows.at(-1).late) break;
  }
  await mailing.ended(send, CAMPAIGN_LIMIT_MS);
  const figures = verify({ addresses: mailing.addresses, records: sink.takeRecords(), outcome: await mailing.outcome(send), kills: blows, skipped });
  log(`  ${JSON.stringify(figures)}`);
  return { figures, counted: blows.filter(({ late }) => !late).length };
}

export async function runKills({ kills, recipients, random, startSink, script, options = {}, onReady, log }) {
  const sink = await startSink();
  const mailing = await Mailing.prepare({ addresses: addressesOf(recipients, script), sinks: [sink], options });
  await onReady?.(mailing);
  const all = [];
  let done = 0;
  let skipped = new Set();
  while (done < kills) {
    const few = Math.min(kills - done, KILLS_OF_CAMPAIGN.least + random.below(KILLS_OF_CAMPAIGN.spread));
    const { figures, counted } = await runCampaign({ mailing, sink, random, kills: few, log, skipped });
    all.push(figures);
    done += counted;
    skipped = new Set(mailing.addresses.filter((address) => address.includes('+550@'))); // suppressed from now on
    await sink.behave('forget');
  }
  return { ...sumOf(all), disturbance: `${done} kills in ${all.length} campaigns` };
}

/** Killed while many wait for another attempt and others bounce. */
export function runKillsAmidRetries(context) {
  const script = (index) => ['+grey', '', '+550', ''][index % 4];
  return runKills({ ...context, script, options: { RETRY_AFTER: 1 } });
}

/** Asked to end, and begun again: nobody is doubled, nobody in doubt. */
export async function runStops({ recipients, random, startSink, log }) {
  const sink = await startSink();
  const mailing = await Mailing.prepare({ addresses: addressesOf(recipients), sinks: [sink] });
  await sink.behave('delay 5');
  const send = await mailing.start();
  const stops = 5;
  for (let stop = 0; stop < stops; stop++) {
    await untilSent(sink, 0, Math.floor((recipients * (stop + random.below(100) / 100)) / (stops + 1)));
    const { runnerPid } = mailing.installation;
    await mailing.installation.stop();
    log(`  stopped at ${(await sink.stats()).messages} messages`);
    await awaitRestart(mailing, send, runnerPid);
  }
  await mailing.ended(send, CAMPAIGN_LIMIT_MS);
  const figures = verify({ addresses: mailing.addresses, records: sink.takeRecords(), outcome: await mailing.outcome(send) });
  return { ...figures, disturbance: `${stops} stops` };
}
