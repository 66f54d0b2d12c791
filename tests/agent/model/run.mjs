// The run with a model: all jobs whose tools are built, in an installation of its own, and the jobs that a peer has too.

import { loadJobs, listTools, openEvaluation, waitsFor } from '../evaluation.mjs';
import { modelFrom } from './model.mjs';
import { peerFrom, tryPeer } from './peer.mjs';
import { tryJob } from './trials.mjs';

const cells = (...values) => values.map((value, i) => (i === 0 ? String(value).padEnd(46) : String(value).padStart(10))).join('');

const rowOf = (name, { successes, tries, calls, errors, tokens }) => cells(name, `${successes}/${tries}`, calls, errors, tokens);

/** Prints a row a job; 0, or 1 when a try failed. */
export async function evaluateModel(wanted, print) {
  const model = modelFrom(process.env);
  if (model === null) {
    print('skipped: no model is given (AGENT_URL and AGENT_MODEL)');
    return 0;
  }
  const peer = await peerFrom(process.env);
  if (peer === null) print('the peer is skipped: RESEND_API_KEY is not set, or its package is not installed');
  const jobs = await loadJobs(wanted);
  const { places, close } = await openEvaluation();
  const tools = await listTools(places);
  let hasFailed = false;
  print(cells(model.name, 'done', 'calls', 'errors', 'tokens'));
  for (const job of Object.values(jobs).filter((one) => waitsFor(one, tools) === undefined)) {
    const ours = await tryJob(places, job, model);
    print(rowOf(job.name, ours));
    if (peer !== null && job.peer !== undefined) print(rowOf(`  ${peer.name}`, await tryPeer(peer, job, model)));
    for (const problem of ours.problems) print(`    ${problem.slice(0, 300)}`);
    hasFailed ||= ours.successes < ours.tries;
  }
  await close();
  return hasFailed ? 1 : 0;
}
