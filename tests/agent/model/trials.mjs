// The jobs with a model: three tries each with a user who says yes, and for jobs that ask, one with a user who says no and one with a user
// who does not answer, after which nothing may be done.

import { judgeAlways, judgeDone, judgeUndone } from '../judge.mjs';
import { LENSES } from '../connections.mjs';
import { seeded } from '../players.mjs';
import { playModel } from './loop.mjs';

const TRIES = 3;

/** One try: {done, calls, errors, tokens, problem}. */
export async function tryOnce(places, job, model, answers) {
  const place = await seeded(places, job, LENSES[0]);
  const messagesBefore = place.messages().length;
  let player;
  try {
    player = await playModel(model, job, place, LENSES[0], answers);
    await judgeAlways(job, place, player.agreements);
    if (answers === 'yes') await judgeDone(job, place, player.answer);
    else await judgeUndone(job, place, messagesBefore);
    return { done: true, ...player.figures, tokens: player.tokens, asked: player.trace.some(({ question }) => question !== undefined) };
  } catch (error) {
    return { done: false, ...player?.figures, tokens: player?.tokens ?? 0, problem: error.message };
  }
}

const mean = (tries, what) => Math.round(tries.reduce((sum, one) => sum + (one[what] ?? 0), 0) / tries.length);

/** All tries of a job: {successes, tries, calls, errors, tokens, problems}. */
export async function tryJob(places, job, model) {
  const tries = [];
  for (let i = 0; i < TRIES; i++) tries.push(await tryOnce(places, job, model, 'yes'));
  if (job.sends > 0) for (const answers of ['no', undefined]) tries.push(await tryOnce(places, job, model, answers));
  return {
    successes: tries.filter(({ done }) => done).length, tries: tries.length,
    calls: mean(tries, 'calls'), errors: mean(tries, 'errors'), tokens: mean(tries, 'tokens'),
    problems: tries.map(({ problem }) => problem).filter(Boolean),
  };
}
