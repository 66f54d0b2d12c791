// Compares the classes of bounces with those of libsisimai-perl over the public set of bounce mails of its project, which is
// downloaded into the build folder (or is in the folder that REPORT_SET names), and compares the processor time of both.
//
//     node tests/third_party/report_judge.mjs BUILD_DIR
//
// It fails when an address is taken as dead that the judge calls blocked or full, when less than 97 of 100 dead addresses are found, and
// when a difference is not as report_judge.json says. Without the judge or the set it says so and passes.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SET = 'https://github.com/sisimai/set-of-emails';
const HERE = dirname(fileURLToPath(import.meta.url));
const FOUND_AT_LEAST = 0.97;
const ROUNDS = { ours: 20, judge: 2 };

/** Reasons of the judge with which the address itself is fine. */
const NOT_DEAD = ['blocked', 'mailboxfull', 'spamdetected', 'policyviolation', 'securityerror', 'toomanyconn', 'virusdetected', 'norelaying'];

/** Reports about which both differ, with both verdicts and the reason. A row of which a verdict changes, or that is not needed, fails the run. */
const KNOWN = new Map(JSON.parse(readFileSync(join(HERE, 'report_judge.json'), 'utf8')).map((row) => [row.file, row]));

const skip = (reason) => {
  console.log(`report judge: SKIPPED: ${reason}`);
  process.exit(0);
};

function findSet(build) {
  if (process.env.REPORT_SET) return process.env.REPORT_SET;
  const folder = join(build, 'set-of-emails');
  if (!existsSync(folder)) {
    mkdirSync(build, { recursive: true });
    const cloned = spawnSync('git', ['clone', '--quiet', '--depth', '1', SET, folder], { encoding: 'utf8', timeout: 120_000 });
    if (cloned.status !== 0) skip(`the set of bounce mails cannot be downloaded: ${cloned.stderr}`);
  }
  return join(folder, 'maildir/bsd');
}

const lines = (program, args) =>
  execFileSync(program, args, { encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] })
    .split('\n').filter(Boolean).map((line) => JSON.parse(line));

const build = process.argv[2];
if (spawnSync('perl', ['-MSisimai', '-e', '1']).status !== 0) skip('libsisimai-perl is not installed (tests/setup.sh full installs it)');
const folder = findSet(build);
const files = readdirSync(folder).filter((name) => name.endsWith('.eml')).sort().map((name) => join(folder, name));
const driver = join(build, 'report_driver');
const judged = new Map(lines('perl', [join(HERE, 'report_judge.pl'), ...files]).map((row) => [row.file, row.rows]));

const table = new Map();
const wrong = [];
const missed = [];
const differing = [];
let dead = 0;

/** A difference that is known is told, and fails the run when it is another one now. */
function tellKnown(known, verdict, reason, isNeeded) {
  KNOWN.delete(known.file);
  const problem = verdict !== known.ours || reason !== known.judge ? `ours is ${verdict} now, the judge's ${reason}` : isNeeded ? null : 'is not needed any more';
  if (problem) differing.push(`${known.file}: ${problem}`);
  console.log(`known: ${known.file}: ours ${verdict}, judge ${reason}: ${known.why}`);
}

for (const ours of lines(driver, files)) {
  const rows = judged.get(ours.file);
  const theirs = rows.find(({ recipient }) => recipient === ours.recipient?.toLowerCase()) ?? rows[0];
  if (theirs === undefined) continue;
  const verdict = ours.class || ours.kind;
  const isWrong = verdict === 'hard' && NOT_DEAD.includes(theirs.reason);
  const isMissed = theirs.hard && verdict !== 'hard';
  if (KNOWN.has(ours.file)) {
    tellKnown(KNOWN.get(ours.file), verdict, theirs.reason, isWrong || isMissed);
    continue;
  }
  const row = table.get(theirs.reason) ?? new Map();
  table.set(theirs.reason, row.set(verdict, (row.get(verdict) ?? 0) + 1));
  if (isWrong) wrong.push(`${ours.file}: ${theirs.reason}: ${ours.diagnostic}`);
  if (theirs.hard) dead++;
  if (isMissed) missed.push(`${ours.file}: ${theirs.reason}, ours ${verdict}: ${ours.diagnostic ?? ''}`);
}

for (const [reason, row] of [...table].sort()) console.log(`${reason.padEnd(16)} ${[...row].map(([verdict, count]) => `${verdict} ${count}`).join(', ')}`);
for (const line of missed) console.log(`missed: ${line.slice(0, 160)}`);
for (const line of wrong) console.log(`WRONG: ${line.slice(0, 160)}`);
for (const file of KNOWN.keys()) differing.push(`${file} is not in the set, or the judge does not read it`);
for (const line of differing) console.log(`DIFFERS: ${line}`);
const found = (dead - missed.length) / dead;
console.log(`dead addresses: ${dead - missed.length} of ${dead} found (${(found * 100).toFixed(1)} %), ${wrong.length} wrong`);

const [ours] = lines(driver, ['--times', String(ROUNDS.ours), ...files]);
const [theirs] = lines('perl', [join(HERE, 'report_judge.pl'), '--times', String(ROUNDS.judge), ...files]);
const speed = theirs.secondsPerRound / ours.secondsPerRound;
console.log(`processor time of ${files.length} files: ${(ours.secondsPerRound * 1000).toFixed(1)} ms, judge ${(theirs.secondsPerRound * 1000).toFixed(0)} ms: ${speed.toFixed(0)} times as fast`);

const failed = wrong.length > 0 || differing.length > 0 || found < FOUND_AT_LEAST;
console.log(failed ? 'report judge: failed' : 'report judge: passed');
process.exitCode = failed ? 1 : 0;
