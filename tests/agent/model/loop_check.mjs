// Tests the loop with a fake model on loopback, over both APIs and with all answers of the user.

import assert from 'node:assert/strict';
import { LENSES } from '../connections.mjs';
import { judgeAlways, judgeDone, judgeUndone } from '../judge.mjs';
import { seeded } from '../players.mjs';
import { FakeModel } from './fake_model.mjs';
import { playModel } from './loop.mjs';
import { modelFrom } from './model.mjs';

/** One conversation; `answers` as in playModel. */
async function talk(places, job, api, answers) {
  const place = await seeded(places, job, LENSES[0]);
  const fake = await FakeModel.start(job, job.given(place));
  const model = modelFrom({ AGENT_URL: fake.url, AGENT_MODEL: 'fake', AGENT_API: api });
  const player = await playModel(model, job, place, LENSES[0], answers).finally(() => fake.stop());
  return { place, player };
}

/** Gives the tests by name; `job` is one that asks the user. */
export function loopChecks(places, job) {
  const done = (api) => async () => {
    const { place, player } = await talk(places, job, api, 'yes');
    await judgeAlways(job, place, player.agreements);
    await judgeDone(job, place, player.answer);
    assert.equal(player.agreements, 1);
    assert.ok(player.tokens >= 110 * job.calls, `${player.tokens} tokens`);
  };
  const undone = (answers) => async () => {
    const { place, player } = await talk(places, job, 'chat', answers);
    await judgeUndone(job, place, 0);
    await judgeAlways(job, place, 0);
    assert.ok(player.trace.some(({ question }) => question !== undefined), 'the user was asked');
    await assert.rejects(judgeDone(job, place, player.answer), 'an undone job does not pass');
  };
  return { 'chat completions': done('chat'), messages: done('messages'), 'a user who says no': undone('no'), 'a user who does not answer': undone(undefined) };
}
