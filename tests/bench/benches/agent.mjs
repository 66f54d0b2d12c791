// What the jobs of assistants cost (tests/agent): bytes of results, calls beside those needed, mistakes mended, the list of tools. With
// AGENT_URL and AGENT_MODEL, the same jobs with that model.

import { BOUNDS, evaluate, loadJobs, openEvaluation, totalsOf } from '../../agent/evaluation.mjs';
import { evaluateModel } from '../../agent/model/run.mjs';

export async function run(report) {
  const { places, close } = await openEvaluation();
  const { runs, waiting, tools } = await evaluate(places, await loadJobs(), () => {});
  await close();
  for (const { job, golden, failures } of runs) {
    if (golden === undefined) report.failure(failures[0]);
    else reportJob(report, job, golden.figures);
  }
  for (const [name, missing] of Object.entries(waiting)) report.note(`${name} waits for ${missing.join(', ')}`);

  const totals = totalsOf(runs, tools);
  report.limit('bytes of results, all golden players', totals.bytes, 'bytes', { atMost: BOUNDS.bytes });
  report.limit('mistakes mended in one call', (100 * totals.mended) / totals.mistakes, '%', { atLeast: 100 * BOUNDS.mendedShare });
  report.limit('tools/list, a tool', totals.toolBytes, 'bytes', { atMost: BOUNDS.toolBytes });
  report.limit('tools/list, all', totals.listBytes, 'bytes', { atMost: BOUNDS.listBytes });
  await evaluateModel([], (line) => report.note(line));
}

function reportJob(report, job, { calls, bytes }) {
  report.limit(`${job.name}, calls beside the calls needed`, calls - job.calls, 'calls', { atMost: BOUNDS.callsMore });
  report.limit(`${job.name}, bytes of results`, bytes, 'bytes', {});
}
