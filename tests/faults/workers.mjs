// Campaigns on a database of their own: with two workers, one of which is killed or frozen; with a PostgreSQL that restarts; and
// with clocks that jump by a day.

import { spawn } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Clock } from '../lib/clock.mjs';
import { BINARY } from '../lib/installation.mjs';
import { Postgres } from '../lib/postgres.mjs';
import { kill, pause, until } from '../lib/processes.mjs';
import { verify } from './verify.mjs';
import { killCounted, untilSent } from './kills.mjs';
import { Mailing, addressesOf } from './mailing.mjs';

const LIMIT_MS = 240_000;
const RANGES_IN_HAND = 6; // of a process: those that wait, and those its hands are at
const RANGE_SIZE = 500;
const CONNECTIONS = 10;
const LEASE_S = 60;
const IDLE_MS = 70_000; // longer than a lease, and than a sender is believed to be there

/** `posthorn worker` with the installation's settings but for `environment`; its log goes to the installation's folder. */
function startWorker(installation, name, environment = {}) {
  const log = join(installation.folder, `${name}.log`);
  const child = spawn('/bin/sh', ['-c', `exec "$0" worker 2>>"$1"`, BINARY, log], {
    env: { ...installation.environment, ...environment }, stdio: 'ignore', cwd: installation.folder,
  });
  return { pid: child.pid, ended: new Promise((resolve) => child.once('exit', resolve)), stop: () => kill(child.pid, 'SIGTERM') };
}

/** A mailing on a database of its own; `workers` start before its first call. */
async function prepare({ recipients, sinks, postgres, startWorkers, options = {} }) {
  let workers = [];
  await postgres.start();
  const mailing = await Mailing.prepare({
    addresses: addressesOf(recipients), sinks, options: { DATABASE: postgres.url, ...options },
    start: (installation) => {
      workers = startWorkers(installation);
      const { dispose } = installation;
      installation.dispose = async function disposeWorkers() {
        for (const worker of workers) worker.stop();
        await Promise.race([Promise.all(workers.map(({ ended }) => ended)), pause(20_000)]);
        const left = await dispose.call(this);
        await postgres.dispose();
        return left;
      };
    },
  });
  return { mailing, workers };
}

/** Two workers, each with a sink of its own, so that what they do is told apart. */
async function prepareTwo({ recipients, startSink, folderOfSecond, postgres = new Postgres() }) {
  const sinks = [await startSink(), await startSink()];
  const { mailing, workers } = await prepare({
    recipients, sinks: [sinks[0]], postgres,
    startWorkers: (installation) => [
      startWorker(installation, 'first'),
      startWorker(installation, 'second', { POSTHORN_RELAY: sinks[1].url(), ...folderOfSecond(installation) }),
    ],
  });
  for (const sink of sinks) await sink.behave('delay 3');
  return { sinks, mailing, workers };
}

const recordsOf = (sinks) => sinks.flatMap((sink) => sink.takeRecords()).sort((a, b) => (a.atNs < b.atNs ? -1 : 1));

async function oneOfTwoDies({ recipients, startSink, random, log, folderOfSecond, postgres, afterKill }) {
  const { sinks, mailing, workers } = await prepareTwo({ recipients, startSink, folderOfSecond, postgres });
  const send = await mailing.start();
  await untilSent(sinks[1], 0, 1 + random.below(recipients / 4));
  const blow = await killCounted(sinks[1], () => { kill(workers[1].pid); afterKill?.(); });
  log(`  killed the second of two workers, ${blow.sessions} sessions open, ${blow.messages} messages of its own`);
  await mailing.ended(send, LIMIT_MS);
  const shares = await Promise.all(sinks.map(async (sink) => (await sink.stats()).messages));
  return { mailing, records: recordsOf(sinks), outcome: await mailing.outcome(send), blow, shares };
}

/** The other worker reads the journal of the dead one. */
export async function sameFolder(context) {
  const { mailing, records, outcome, blow, shares } = await oneOfTwoDies({ ...context, folderOfSecond: () => ({}) });
  const figures = verify({ addresses: mailing.addresses, records, outcome, kills: [blow] });
  return { ...figures, disturbance: `1 kill, shares ${shares.join(' and ')}` };
}

const SIGTERM_BIT = 1n << 14n;

/** The signal has come to a process that is stopped, which does not act on it. */
const hasTerminatePending = (pid) => {
  const [, mask] = /^ShdPnd:\s+([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'));
  return (BigInt(`0x${mask}`) & SIGTERM_BIT) !== 0n;
};

/** Stops a session of the worker whose relay has this port; gives its worker and its number. */
function stopIdleSession(mailing, port) {
  // The session that has been idle for longest has no lock that others wait for, unless it works again before it is stopped.
  const longest = `select a.application_name, a.pid from pg_stat_activity a join senders s on s.owner = a.application_name
    where right(s.relays[1], ${String(port).length + 1}) = ':${port}' and a.state = 'idle' order by a.state_change limit 1`;
  return until('an idle session is stopped', async () => {
    const [owner, pid] = (await mailing.sql(longest)).split('|');
    if (pid === undefined) return false;
    kill(Number(pid), 'SIGSTOP');
    if ((await mailing.sql(`select state from pg_stat_activity where pid = ${pid}`)) === 'idle') return [owner, pid];
    kill(Number(pid), 'SIGCONT');
    return false;
  });
}

/** A session of the killed worker outlives it. It may still lease work, so the journal is read when it has ended. */
export async function sessionOutlives({ recipients, startSink, random, log }) {
  const { sinks, mailing, workers } = await prepareTwo({ recipients, startSink, folderOfSecond: () => ({}) });
  const send = await mailing.start();
  await untilSent(sinks[1], 0, 1 + random.below(recipients / 4));
  const [owner, pid] = await stopIdleSession(mailing, sinks[1].port);
  const blow = await killCounted(sinks[1], () => kill(workers[1].pid));
  log(`  killed the second of two workers, ${blow.sessions} sessions open, its session ${pid} is stopped`);
  await until('the other worker has ended the session', () => hasTerminatePending(pid));
  const journals = readdirSync(join(mailing.installation.data, 'journal')).filter((name) => name.startsWith(`${owner}.`));
  kill(Number(pid), 'SIGCONT');
  await mailing.ended(send, LIMIT_MS);
  const figures = verify({ addresses: mailing.addresses, records: recordsOf(sinks), outcome: await mailing.outcome(send), kills: [blow] });
  if (journals.length === 0) figures.breaches.push('the journal was read while a session of its process was there');
  return { ...figures, disturbance: '1 kill, 1 session outlives it' };
}

/** The leases of the dead worker end at once, before its journal is read: the clock of the database jumps with the kill. */
export async function leasesEndEarly(context) {
  const postgres = new Postgres();
  const clock = new Clock(join(postgres.folder, 'clock'));
  postgres.environment = { ...process.env, ...clock.environment };
  const { mailing, records, outcome, blow, shares } = await oneOfTwoDies({
    ...context, postgres, folderOfSecond: () => ({}), afterKill: () => clock.setSeconds(LEASE_S + 1),
  });
  const figures = verify({ addresses: mailing.addresses, records, outcome, kills: [blow] });
  return { ...figures, disturbance: `1 kill and a jump, shares ${shares.join(' and ')}` };
}

/** Nobody can read the journal: what was leased is uncertain as a whole, once its lease is over. */
export async function otherFolders(context) {
  const { mailing, records, outcome, blow, shares } = await oneOfTwoDies({
    ...context,
    folderOfSecond: (installation) => ({
      POSTHORN_DATA: join(installation.folder, 'elsewhere'),
      POSTHORN_KEY_FILE: join(installation.data, 'master.key'),
    }),
  });
  const figures = verify({ addresses: mailing.addresses, records, outcome, mayDouble: RANGES_IN_HAND * RANGE_SIZE, perSession: Infinity });
  return { ...figures, disturbance: `1 kill, ${blow.sessions} sessions, shares ${shares.join(' and ')}` };
}

/**
 * A worker stands still for more than its lease and has lost its connections, as on a host that was suspended: the other one takes
 * over. When it wakes it may not go on with what is no longer its own.
 */
export async function oneOfTwoFreezes({ recipients, startSink, random, log }) {
  const { sinks, mailing, workers } = await prepareTwo({ recipients, startSink, folderOfSecond: () => ({}) });
  const send = await mailing.start();
  await untilSent(sinks[1], 0, 1 + random.below(recipients / 4));
  kill(workers[1].pid, 'SIGSTOP');
  const left = (await sinks[1].stats()).messages;
  const connections = await mailing.sql(`select count(pg_terminate_backend(pid)) from pg_stat_activity a
    where application_name in (select owner from senders where ':${sinks[1].port}' = right(relays[1], ${String(sinks[1].port).length + 1}))`);
  log(`  froze the second of two workers at ${left} messages of its own, ${connections} connections cut`);
  await mailing.ended(send, LIMIT_MS);
  kill(workers[1].pid, 'SIGCONT');
  await pause(5000);
  const shares = await Promise.all(sinks.map(async (sink) => (await sink.stats()).messages));
  const figures = verify({
    addresses: mailing.addresses, records: recordsOf(sinks), outcome: await mailing.outcome(send),
    mayDouble: RANGES_IN_HAND * RANGE_SIZE, perSession: Infinity,
  });
  if (connections === '0') figures.breaches.push('no connection was cut');
  if (shares[1] - left > 2 * CONNECTIONS) figures.breaches.push(`the frozen worker went on with ${shares[1] - left} messages`);
  return { ...figures, disturbance: `frozen, then ${shares[1] - left} more, shares ${shares.join(' and ')}` };
}

// ---- A database that goes away ----

/** The worker lives on and knows what it did: nobody is doubled, nobody in doubt. */
export async function databaseRestarts({ recipients, startSink, random, log }) {
  const sink = await startSink();
  const postgres = new Postgres();
  const { mailing } = await prepare({ recipients, sinks: [sink], postgres, startWorkers: (installation) => [startWorker(installation, 'first')] });
  await sink.behave('delay 3');
  const send = await mailing.start();
  const signals = ['SIGKILL', 'SIGQUIT', 'SIGINT', 'SIGKILL'];
  for (const [index, signal] of signals.entries()) {
    await untilSent(sink, 0, Math.floor((recipients * (index + random.below(100) / 100)) / (signals.length + 1)));
    await postgres.end(signal);
    await pause(random.below(1500));
    await postgres.start();
    log(`  PostgreSQL was ended by ${signal} at ${(await sink.stats()).messages} messages`);
  }
  await mailing.ended(send, LIMIT_MS);
  const figures = verify({ addresses: mailing.addresses, records: sink.takeRecords(), outcome: await mailing.outcome(send) });
  return { ...figures, disturbance: `${signals.length} restarts of PostgreSQL` };
}

// ---- Clocks ----

const DAY_S = 86_400;

/** Counts the results that a worker whose clock is a day ahead has stored while the clock of PostgreSQL is right. */
const resultsAhead = (send) => `select count(*) from send_results where send_id = ${send.key} and occurred_at > now() + interval '12 hours'`;

/** The wall clocks of the worker and of PostgreSQL jump by a day, forward and back, one alone and both. */
export async function clocksJump({ recipients, startSink, random, log }) {
  const sink = await startSink();
  const postgres = new Postgres();
  const clocks = { postgres: new Clock(join(postgres.folder, 'clock')) };
  postgres.environment = { ...process.env, ...clocks.postgres.environment };
  const { mailing } = await prepare({
    recipients, sinks: [sink], postgres,
    startWorkers: (installation) => {
      clocks.worker = new Clock(join(installation.folder, 'clock'));
      return [startWorker(installation, 'first', clocks.worker.environment)];
    },
  });
  await sink.behave('delay 3');
  const send = await mailing.start();
  const jumps = [['worker', 1], ['postgres', 1], ['worker', 0], ['postgres', -1], ['worker', -1], ['postgres', 0], ['worker', 0]];
  for (const [index, [who, days]] of jumps.entries()) {
    await untilSent(sink, 0, Math.floor((recipients * (index + random.below(100) / 100)) / (jumps.length + 1)));
    clocks[who].setSeconds(days * DAY_S);
    log(`  the clock of ${who}: ${days} days`);
    // Results are stored some time after their replies. Those of the first jump must be stored before the clock goes back.
    if (index === 0) await until('a result is of the day after', () => mailing.sql(resultsAhead(send)).then((count) => Number(count) > 0), LIMIT_MS);
  }
  await mailing.ended(send, LIMIT_MS);
  const figures = verify({ addresses: mailing.addresses, records: sink.takeRecords(), outcome: await mailing.outcome(send) });
  const days = Number(await mailing.sql(`select count(distinct (occurred_at at time zone 'UTC')::date) from send_results where send_id = ${send.key}`));
  if (days < 2) figures.breaches.push(`the results are all of one day: the clock of the worker did not jump`);
  return { ...figures, disturbance: `${jumps.length} jumps` };
}

/** The clock is set back while a worker has nothing to do: it still knows the time that passes, and takes the next campaign. */
export async function clockJumpsIdle({ recipients, startSink, log }) {
  const sink = await startSink();
  let clock;
  const { mailing } = await prepare({
    recipients, sinks: [sink], postgres: new Postgres(),
    startWorkers: (installation) => {
      clock = new Clock(join(installation.folder, 'clock'));
      return [startWorker(installation, 'first', clock.environment)];
    },
  });
  await mailing.ended(await mailing.start(), LIMIT_MS);
  sink.takeRecords();
  clock.setSeconds(DAY_S); // what waits from now on waits as if the clock was set back meanwhile
  await pause(IDLE_MS);
  log(`  a campaign after ${IDLE_MS} ms without work`);
  const send = await mailing.start();
  await mailing.ended(send, LIMIT_MS);
  const figures = verify({ addresses: mailing.addresses, records: sink.takeRecords(), outcome: await mailing.outcome(send) });
  return { ...figures, disturbance: '1 jump' };
}
