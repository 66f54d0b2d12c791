// The evaluation of the tools without a model: every job with its scripted players. Ends with 'N passed, M failed'.
//
//   node tests/agent/main.mjs [shrink] [JOB…]      JOB is the beginning of a file name in tests/agent/jobs, such as 08
//
// `shrink` writes smaller budgets and docs/agents.md. AGENT_STACKS=1 shows where a failure comes from, AGENT_MISTAKES=1 every mistake
// with its reply.

import { checkPage, excess, pageOf, readBudgets, shrink } from './budgets.mjs';
import { BOUNDS, evaluate, isMended, loadJobs, openWorkshop, totalsOf } from './evaluation.mjs';
import { judgeChecks } from './judge_check.mjs';
import { loopChecks } from './model/loop_check.mjs';

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

const { places, close } = await openWorkshop();
const started = performance.now();
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
  const above = excess(name, { ...figures, mistakes: 0 }, budgets);
  judge(above === null, `${name}: ${above}`);
}

// The judge must find what it is there for, and the loop for models is tested without a model.
if (wanted.length === 0) {
  const job = jobs['14-schedule-cancel'];
  const groups = { 'the judge': judgeChecks(places, job), 'the loop for models': loopChecks(places, job) };
  for (const [group, checks] of Object.entries(groups)) {
    for (const [name, check] of Object.entries(checks)) await check().then(() => passed++, (error) => failures.push(`${group}, ${name}: ${error.message}`));
  }
}

const totals = totalsOf(runs, tools);
judge(totals.listBytes <= BOUNDS.listBytes && totals.toolBytes <= BOUNDS.toolBytes, `tools/list has ${totals.listBytes} bytes, ${Math.round(totals.toolBytes)} a tool`);
judge(totals.mended >= BOUNDS.mendedShare * totals.mistakes, `${totals.mended} of ${totals.mistakes} mistakes are mended in one call`);
if (wanted.length === 0) {
  const page = pageOf(jobs, budgets, waiting, { tools: totals.tools, bytes: Math.ceil(totals.listBytes / 1000) * 1000 });
  judge(checkPage(page, writes), 'docs/agents.md differs from what the run makes; run tests/agent/main.mjs shrink');
}

for (const { job } of runs) if (job.waitingParts.length > 0) console.log(`     ${job.name}: ${job.waitingParts.join(', ')} waits for ${Object.values(job.parts).flat().join(', ')}`);
for (const [name, missing] of Object.entries(waiting)) console.log(`     ${name} waits for ${missing.join(', ')}`);
console.log('     with a model: skipped here; tests/agent/with_model.mjs plays the jobs with one that AGENT_URL and AGENT_MODEL name');
const left = await close();
judge(left.length === 0, `left behind: ${JSON.stringify(left)}`);
console.log(`${totals.mended} of ${totals.mistakes} mistakes mended; ${totals.bytes} bytes; tools/list ${totals.listBytes} bytes of ${totals.tools} tools; ${Math.round((performance.now() - started) / 1000)} s`);
for (const failure of failures) console.log(`FAILED ${failure}`);
console.log(`${passed} passed, ${failures.length} failed`);
process.exit(failures.length === 0 ? 0 : 1);
