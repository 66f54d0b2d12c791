// A model plays a job: it gets the brief, the server's instructions and the list of tools, and calls tools until it answers without a
// call. A scripted user answers its questions.

import { Assistant } from '../assistant.mjs';
import { connect } from '../connections.mjs';

const TURNS = 40;
const QUESTIONS = 3;
const ANSWERS = { yes: 'Yes, go ahead.', no: 'No, do not do that.' };

/** `answers` is 'yes', 'no' or nothing. Gives the assistant with its last answer and the tokens that the model used. */
export async function playModel(model, job, place, lens, answers) {
  const connection = await connect(place, lens);
  const player = new Assistant(connection, lens, () => answers);
  try {
    const { tools } = (await connection.request('tools/list', {})).result;
    const { instructions } = (await connection.request('server/discover', {})).result;
    await converse(model, { instructions, tools, brief: job.brief(place) }, player);
    await job.inspect?.(connection, player.trace);
  } finally {
    await connection.close();
  }
  return player;
}

/** The conversation; the player gets the calls, the questions, the tokens and the last answer. */
export async function converse(model, { instructions, tools, brief }, player) {
  const turns = [{ role: 'user', text: `${brief}\n\nIt is ${new Date().toISOString()}.` }];
  player.tokens = 0;
  let questions = 0;
  for (let left = TURNS; left > 0; left--) {
    const turn = await model.ask(instructions, turns, tools);
    player.tokens += turn.tokens;
    player.answer = turn.text;
    turns.push(turn);
    if (turn.calls.length > 0) {
      turns.push({ role: 'results', results: await resultsOf(turn.calls, player) });
      continue;
    }
    const isQuestion = /\?\s*$/.test(turn.text.trim()) && questions < QUESTIONS;
    const answer = isQuestion ? await player.ask(turn.text) : undefined;
    if (answer === undefined) return;
    questions++;
    turns.push({ role: 'user', text: ANSWERS[answer] });
  }
}

async function resultsOf(calls, player) {
  const results = [];
  for (const { id, name, args } of calls) {
    const { ok, value, error } = await player.attempt(name, args);
    results.push({ id, text: JSON.stringify(ok ? value : { error }) });
  }
  return results;
}
