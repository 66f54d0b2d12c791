// Checks a running server with the MCP conformance suites and prints one line a run.
//
//   main.mjs fixture URL       all scored scenarios of the three runs
//   main.mjs product URL KEY   the scenarios of generic.json, which need no fixture catalogue; one line for all
//
// A scenario passes when none of its checks failed and at least one succeeded: the suites call a scenario that tested
// nothing a pass, this does not. Exit 0 only when everything passed.

import { readFile } from 'node:fs/promises';
import { packageFolder } from '../lib/packages.mjs';
import { RUNS, runSuite, scoredScenarios } from './suites.mjs';
import { startKeyProxy } from './key_proxy.mjs';

const MESSAGE_LIMIT = 400;

const installDir = packageFolder('conformance');
const [mode, url, key] = process.argv.slice(2);

if (!url || (mode === 'product' && !key) || !['fixture', 'product'].includes(mode)) {
  console.error('usage: main.mjs fixture URL | product URL KEY');
  process.exit(2);
}

const allPassed = mode === 'fixture' ? await checkFixture() : await checkProduct();
process.exit(allPassed ? 0 : 1);

async function checkFixture() {
  let allPassed = true;
  for (const run of RUNS) {
    const results = await runSuite(installDir, run, url);
    const verdicts = verdictsOf(await scoredScenarios(installDir, run, results), results, () => false);
    const passed = verdicts.filter((verdict) => verdict.passed).length;

    console.log(`${run.label}: ${passed}/${run.total}`);
    printNotes(verdicts);
    if (passed !== run.total || verdicts.length !== run.total) allPassed = false;
  }
  return allPassed;
}

async function checkProduct() {
  const generic = JSON.parse(await readFile(new URL('generic.json', import.meta.url), 'utf8'));
  const proxy = await startKeyProxy(new URL(url), key);
  const verdicts = [];
  try {
    for (const run of RUNS) {
      const results = await runSuite(installDir, run, proxy.url);
      const excused = (scenario, check) => needsFixture(generic, scenario, check);
      for (const verdict of verdictsOf(generic.scenarios[run.id], results, excused)) {
        verdicts.push({ ...verdict, scenario: `${run.id} ${verdict.scenario}` });
      }
    }
  } finally {
    proxy.close();
  }

  const passed = verdicts.filter((verdict) => verdict.passed).length;
  console.log(`product: ${passed}/${verdicts.length}`);
  printNotes(verdicts);
  return passed === verdicts.length;
}

/** A check that only a fixture tool can meet, and that the suite itself calls untestable without it. */
function needsFixture(generic, scenario, check) {
  return (generic.needsFixture[scenario] ?? []).includes(check.id) && check.details?.untestable === true;
}

function verdictsOf(scenarios, results, excused) {
  return scenarios.map((scenario) => {
    const checks = (results.get(scenario) ?? []).filter((check) => !excused(scenario, check));
    const failures = checks.filter((check) => check.status === 'FAILURE').map(describe);
    if (!results.has(scenario)) failures.push('the suite gave no result');
    else if (!checks.some((check) => check.status === 'SUCCESS')) failures.push('no check succeeded: nothing was tested');

    const warnings = checks.filter((check) => check.status === 'WARNING').map(describe);
    return { scenario, passed: failures.length === 0, failures, warnings };
  });
}

function describe(check) {
  const message = (check.errorMessage ?? check.description ?? '').replace(/\s+/g, ' ').slice(0, MESSAGE_LIMIT);
  return `${check.id}: ${message}`;
}

function printNotes(verdicts) {
  for (const { scenario, failures } of verdicts) {
    for (const failure of failures) console.log(`  failed ${scenario}: ${failure}`);
  }
  for (const { scenario, warnings } of verdicts) {
    for (const warning of warnings) console.log(`  warned ${scenario}: ${warning}`);
  }
}
