// The fault table: campaigns over a real SMTP path that are disturbed in every way the promise of sending speaks of, each verified
// by the sink's record, which is written before the reply. Prints one table; any breach ends it with status 1.
//
//   faults.sh [short] [ROW…]
//   main.mjs list               the names of the rows of the short run
//
// POSTHORN_FAULT_SEED repeats the choices of a run. POSTHORN_FAULT_KILLS and POSTHORN_FAULT_ROUNDS set the kills of the first two rows,
// POSTHORN_FAULT_RECIPIENTS their recipients.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Random } from '../lib/random.mjs';
import { Sink } from '../lib/smtp_sink.mjs';
import { runAnyKills } from './any_process.mjs';
import { runApprovals } from './approvals.mjs';
import { runAutomationKills } from './automation_mail.mjs';
import * as automations from './automations.mjs';
import { canMount, fullForJournal, fullForOutbox } from './disks.mjs';
import { runKills, runKillsAmidRetries, runStops } from './kills.mjs';
import { describeAll, disposeAll } from './mailing.mjs';
import * as relays from './relays.mjs';
import * as sizes from './sizes.mjs';
import { killedAtSteps } from './steps.mjs';
import { killedAtRelease } from './tranches.mjs';
import * as workers from './workers.mjs';

const SEED = Number(process.env.POSTHORN_FAULT_SEED ?? Date.now() % 1_000_000);
const isShort = process.argv[2] === 'short';
const chosen = process.argv.slice(isShort ? 3 : 2);
const KILLS = Number(process.env.POSTHORN_FAULT_KILLS ?? (isShort ? 5 : 100));
const RECIPIENTS = Number(process.env.POSTHORN_FAULT_RECIPIENTS ?? (isShort ? 4000 : 20_000));

const ROUNDS = Number(process.env.POSTHORN_FAULT_ROUNDS ?? (isShort ? 3 : 100));
const ANY_RECIPIENTS = Number(process.env.POSTHORN_FAULT_RECIPIENTS ?? (isShort ? 3000 : 100_000));

const folder = mkdtempSync(join(tmpdir(), 'posthorn-faults-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/** `size`: recipients of the whole run and of the short one, which leaves out what has none. */
const ROWS = [
  { name: 'killed', size: [RECIPIENTS, RECIPIENTS], run: (context) => runKills({ kills: KILLS, ...context }) },
  { name: 'any-killed', size: [ANY_RECIPIENTS, ANY_RECIPIENTS], run: (context) => runAnyKills({ rounds: ROUNDS, ...context }) },
  { name: 'automation-killed', size: [20_000, 3000], run: (context) => runAutomationKills({ kills: isShort ? 4 : 50, ...context }) },
  { name: 'killed-amid-retries', size: [10_000], run: (context) => runKillsAmidRetries({ kills: 15, ...context }) },
  { name: 'killed-at-approval', size: [2000, 500], run: (context) => runApprovals({ campaigns: isShort ? 2 : 20, ...context }) },
  { name: 'large-journal', size: [20_000, 2000], run: (context) => sizes.largeJournal({ records: isShort ? 100_000 : 1_000_000, ...context }) },
  { name: 'wide-recipients', size: [2000, 600], run: (context) => sizes.wideRecipients({ kills: isShort ? 2 : 10, wide: isShort ? 40 : 180, ...context }) },
  { name: 'killed-at-release', size: [10_000, 1000], run: killedAtRelease },
  { name: 'stopped', size: [10_000], run: runStops },
  { name: 'drops-after-dot', size: [10_000, 1000], run: relays.dropsAfterDot },
  { name: 'drops-mid-data', size: [10_000], run: relays.dropsMidData },
  { name: 'stalls', size: [10_000], run: relays.stalls },
  { name: 'says-421', size: [10_000], run: relays.says421 },
  { name: 'is-away', size: [5000], run: relays.isAway },
  { name: 'refuses-half', size: [5000, 1000], run: relays.refusesHalf },
  { name: 'changes-its-mind', size: [5000, 1000], run: relays.changesItsMind },
  { name: 'uncertain-hold', size: [20_000, 2000], run: relays.holds },
  { name: 'one-of-two-stalls', size: [20_000, 2000], run: relays.oneOfTwoStalls },
  { name: 'journal-full', size: [10_000, 2000], run: fullForJournal, unless: () => !canMount(join(folder, 'mount')) && 'nothing can be mounted here' },
  { name: 'outbox-full', size: [5000], run: fullForOutbox, unless: () => !canMount(join(folder, 'mount')) && 'nothing can be mounted here' },
  { name: 'one-of-two-workers', size: [20_000, 4000], run: workers.sameFolder },
  { name: 'session-outlives', size: [20_000, 4000], run: workers.sessionOutlives },
  { name: 'leases-end-early', size: [20_000, 4000], run: workers.leasesEndEarly },
  { name: 'one-of-two-hosts', size: [20_000], run: workers.otherFolders },
  { name: 'one-of-two-freezes', size: [20_000], run: workers.oneOfTwoFreezes },
  { name: 'database-restarts', size: [10_000], run: workers.databaseRestarts },
  { name: 'clocks-jump', size: [10_000, 2000], run: workers.clocksJump },
  { name: 'killed-at-steps', size: [20_000, 1000], run: (context) => killedAtSteps({ kills: isShort ? 3 : 50, ...context }) },
  { name: 'key-lost', size: [500], run: automations.keyLost },
  { name: 'trigger-storm', size: [4000], run: automations.triggerStorm },
  { name: 'payload-bombs', size: [300], run: automations.payloadBombs },
  { name: 'steps-disk-full', size: [1000], run: automations.fullForSteps, unless: () => !canMount(join(folder, 'mount')) && 'nothing can be mounted here' },
  { name: 'clock-jumps-idle', size: [1000], run: workers.clockJumpsIdle },
];

const log = (line) => console.log(line);

// ---- A row ----

async function runRow({ name, run, unless }, recipients) {
  const left = unless?.();
  if (left) return { name, disturbance: `LEFT OUT: ${left}`, breaches: [], isLeftOut: true };
  log(`${name}: ${recipients} recipients`);
  const rowStartedAt = performance.now();
  const logTimed = (line) => log(`${((performance.now() - rowStartedAt) / 1000).toFixed(1).padStart(8)} s ${line}`);
  const random = new Random(SEED + ROWS.findIndex((row) => row.name === name));
  const sinks = [];
  const startSink = async ({ port = 0 } = {}) => {
    sinks.push(await Sink.start({ recordFile: join(folder, `${name}-${sinks.length}`), seed: SEED, port }));
    return sinks.at(-1);
  };
  const startedAt = Date.now();
  let figures;
  try {
    figures = await run({ recipients, random, startSink, log: logTimed });
    logTimed('  verified');
  } catch (problem) {
    log(problem.stack);
    log(await describeAll());
    figures = { breaches: [problem.message.split('\n')[0]] };
  }
  const remains = (await disposeAll()).flat();
  if (remains.length > 0) figures.breaches.push(`left behind: ${JSON.stringify(remains).slice(0, 500)}`);
  for (const sink of sinks) await sink.stop();
  return { name, seconds: Math.round((Date.now() - startedAt) / 1000), ...figures };
}

// ---- The table ----

const COLUMNS = [
  ['row', ({ name }) => name], ['disturbance', ({ disturbance }) => disturbance], ['recipients', ({ recipients }) => recipients],
  ['recorded', ({ recorded }) => recorded], ['missing', ({ missing }) => missing], ['doubled', ({ duplicates }) => duplicates],
  ['uncertain', ({ uncertain }) => uncertain], ['bound', ({ bound }) => bound], ['held', ({ held }) => held], ['unseen', ({ unseen }) => unseen],
  ['seconds', ({ seconds }) => seconds], ['', ({ breaches, isLeftOut }) => (isLeftOut ? '' : breaches.length === 0 ? 'holds' : 'BROKEN')],
];

function printTable(rows) {
  const cells = [COLUMNS.map(([title]) => title), ...rows.map((row) => COLUMNS.map(([, value]) => String(value(row) ?? '')))];
  const widths = COLUMNS.map((_, column) => Math.max(...cells.map((line) => line[column].length)));
  for (const line of cells) {
    log(line.map((cell, column) => (column < 2 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]))).join('  ').trimEnd());
  }
  for (const { name, breaches } of rows) for (const breach of breaches) log(`FAILED ${name}: ${breach}`);
}

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => disposeAll().finally(() => process.exit(1)));
}

const isShortRow = ({ size }) => size[1] !== undefined;
if (process.argv[2] === 'list') {
  for (const { name } of ROWS.filter(isShortRow)) console.log(name);
  process.exit(0);
}

const unknown = chosen.filter((name) => !ROWS.some((row) => row.name === name));
if (unknown.length > 0) {
  console.error(`no row is named ${unknown.join(', ')}; there are ${ROWS.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}
log(`POSTHORN_FAULT_SEED=${SEED}`);
const rows = [];
for (const row of ROWS) {
  const recipients = row.size[isShort ? 1 : 0];
  const isWanted = chosen.length > 0 ? chosen.includes(row.name) : recipients !== undefined;
  if (isWanted) rows.push(await runRow(row, recipients ?? row.size[0]));
}
log('');
printTable(rows);
const broken = rows.filter(({ breaches }) => breaches.length > 0).length;
log(`faults, seed ${SEED}: ${rows.length - broken} passed, ${broken} failed`);
process.exitCode = broken > 0 || rows.length === 0 ? 1 : 0;
