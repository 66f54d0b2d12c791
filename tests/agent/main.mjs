// The evaluation of the tools without a model: every job with its scripted players. Ends with 'N passed, M failed'.
//
//   node tests/agent/main.mjs [shrink] [JOB…]      JOB is the beginning of a file name in tests/agent/jobs, such as 08
//
// `shrink` writes smaller budgets and docs/agents.md. AGENT_STACKS=1 shows where a failure comes from, AGENT_MISTAKES=1 every mistake
// with its reply.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkPage, excess, pageOf, readBudgets, shrink } from './budgets.mjs';
import { BOUNDS, evaluate, isMended, loadJobs, openEvaluation, totalsOf } from './evaluation.mjs';
import { judgeChecks } from './judge_check.mjs';
import { loopChecks } from './model/loop_check.mjs';

const KNOWN = join(import.meta.dirname, 'known.json');
const words = process.argv.slice(2);
const writes = words[0] === 'shrink';
const wanted = writes ? words.slice(1) : words;
const jobs = await loadJobs(wanted);

let passed = 0;
const failures = [];
const judge = (holds, sentence) => (holds ? passed++ : failures.push(sentence));

function show(run) {
  const { job, golden, mistakes } = run;
  const figures = golden ? `${golden.figures.calls} of ${job.calls} calls, ${golden.figures.errors} errors, ${golden.figures.bytes} bytes` : 'not done';
  console.log(`${run.failures.length === 0 ? 'ok  ' : 'FAIL'} ${job.name}: ${figures}; ${mistakes.filter(isMended).length} of ${mistakes.length} mistakes mended, ${run.spoilt ?? 0} spoilt calls refused`);
  for (const mistake of mistakes) if (!isMended(mistake) || process.env.AGENT_MISTAKES) console.log(`     ${mistake.tool}, ${mistake.name}: ${describe(mistake)}`);
}

const describe = ({ outcome, wrong, error }) => `${outcome}${error ? `; ${JSON.stringify(wrong).slice(0, 200)} was answered with ${JSON.stringify({ ...error, docs: undefined })}` : ''}`;

// ---- Parts of the run ----

/** Plays the jobs; writes and compares the budgets. */
async function playJobs(places) {
  const { runs, waiting, tools } = await evaluate(places, jobs, show);
  const measured = {};
  for (const run of runs) {
    passed += run.passed;
    failures.push(...run.failures);
    if (run.golden && run.failures.length === 0) measured[run.job.name] = { ...run.golden.figures, mistakes: run.mistakes.length };
  }
  if (writes) shrink(measured);
  const budgets = readBudgets();
  for (const [name, figures] of Object.entries(measured)) {
    const above = excess(name, figures, budgets);
    judge(above === null, `${name}: ${above}`);
  }
  return { runs, waiting, tools, budgets };
}

/** The judge must find what it is there for, and the loop for models is tested without a model. */
async function checkFrame(places) {
  const job = jobs['14-schedule-cancel'];
  const groups = { 'the judge': judgeChecks(places, job), 'the loop for models': loopChecks(places, job) };
  for (const [group, checks] of Object.entries(groups)) {
    for (const [name, check] of Object.entries(checks)) await check().then(() => passed++, (error) => failures.push(`${group}, ${name}: ${error.message}`));
  }
}

function judgeTotals({ bytes, mistakes, mended, listBytes, toolBytes }) {
  judge(bytes <= BOUNDS.bytes, `all golden players have ${bytes} bytes of results`);
  judge(listBytes <= BOUNDS.listBytes && toolBytes <= BOUNDS.toolBytes, `tools/list has ${listBytes} bytes, ${Math.round(toolBytes)} a tool`);
  if (mended < BOUNDS.mendedShare * mistakes) console.log(`     ${mended} of ${mistakes} mistakes are mended in one call; the target is ${100 * BOUNDS.mendedShare} of 100`);
}

/** A mistake that no reply mends is listed in known.json with the reason; a line that is not needed any more is an error. */
function judgeMistakes(runs) {
  const known = JSON.parse(readFileSync(KNOWN, 'utf8'));
  const nameOf = ({ job, tool, mistake }) => `${job}, ${tool}, ${mistake}`;
  const unmended = new Set(runs.flatMap(({ job, mistakes }) => mistakes.filter((one) => !isMended(one)).map(({ tool, name }) => nameOf({ job: job.name, tool, mistake: name }))));
  const listed = new Set(known.map(nameOf));
  for (const name of unmended) judge(listed.has(name), `no reply mends: ${name}`);
  const played = new Set(runs.map(({ job }) => job.name));
  for (const line of known) if (played.has(line.job)) judge(unmended.has(nameOf(line)), `is mended now, and can leave known.json: ${nameOf(line)}`);
}

function printWaiting(runs, waiting) {
  const parts = runs.filter(({ job }) => job.waitingParts.length > 0);
  for (const { job } of parts) console.log(`     ${job.name}: ${job.waitingParts.join(', ')} waits for ${Object.values(job.parts).flat().join(', ')}`);
  for (const [name, missing] of Object.entries(waiting)) console.log(`     ${name} waits for ${missing.join(', ')}`);
  console.log('     with a model: skipped here; tests/agent/with_model.mjs plays the jobs with one that AGENT_URL and AGENT_MODEL name');
}

async function runAll(places) {
  const started = performance.now();
  const { runs, waiting, tools, budgets } = await playJobs(places);
  const totals = totalsOf(runs, tools);
  judgeTotals(totals);
  judgeMistakes(runs);
  if (wanted.length === 0) {
    await checkFrame(places);
    const page = pageOf(jobs, budgets, waiting, { tools: totals.tools, bytes: Math.ceil(totals.listBytes / 1000) * 1000 });
    judge(checkPage(page, writes), 'docs/agents.md differs from what the run makes; run tests/agent/main.mjs shrink');
  }
  printWaiting(runs, waiting);
  const seconds = Math.round((performance.now() - started) / 1000);
  console.log(`${totals.mended} of ${totals.mistakes} mistakes mended; ${totals.bytes} bytes; tools/list ${totals.listBytes} bytes of ${totals.tools} tools; ${seconds} s`);
}

// ---- The run ----

const { places, close } = await openEvaluation();
try {
  await runAll(places);
} finally {
  const left = await close();
  judge(left.length === 0, `left behind: ${JSON.stringify(left)}`);
}
for (const failure of failures) console.log(`FAILED ${failure}`);
console.log(`${passed} passed, ${failures.length} failed`);
process.exit(failures.length === 0 ? 0 : 1);
