// The scripted players. Each plays a job in a place of its own and gives its assistant and its last answer.

import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { Assistant, NotAgreed } from './assistant.mjs';
import { connect } from './connections.mjs';
import { mend } from './mend.mjs';
import { foreignIds, Sweeper } from './sweep.mjs';

const AGREES = () => 'yes';
const DECLINES = () => 'no';
const IS_SILENT = () => undefined;

/** A place with the job's seed data, which a connection of this lens can reach. */
export async function seeded(places, job, lens) {
  const place = await places.make('Tea Garden', { hasBrand: job.hasBrand !== false, isLocal: lens.transport === 'stdio' });
  await job.seed(place);
  place.neighbourBefore = await place.neighbourChecksum();
  place.sendsBefore = job.hasBrand === false ? 0 : await place.sends();
  return place;
}

/** Plays the script of a job with an assistant of the class `Kind`: the assistant, with its last answer. */
async function play(job, place, lens, user, Kind = Assistant, ...more) {
  const connection = await connect(place, lens, (method, params) => assistant.answerForm(params));
  const assistant = new Kind(connection, lens, user, ...more);
  try {
    assistant.answer = await job.golden(assistant, job.given(place));
    await job.inspect?.(connection, assistant.trace);
  } finally {
    await connection.close();
  }
  return assistant;
}

/** The shortest way. */
export const playGolden = (job, place, lens) => play(job, place, lens, AGREES);

// ---- Stumbling ----

/** Makes the recorded mistakes of one round, one a step, and mends each from its reply. */
class Stumbler extends Assistant {
  #steps = new Map();
  #last;

  /** `outcomes` gets {tool, name, outcome}: 'accepted' as it was, 'mended' in one call, or what the reply lacks. */
  constructor(connection, lens, user, mistakes, round, toolNames, outcomes) {
    super(connection, lens, user);
    Object.assign(this, { mistakes, round, toolNames, outcomes });
  }

  async attempt(tool, args = {}, params = {}) {
    const mistake = this.#mistakeOf(tool, args);
    if (mistake === undefined) return super.attempt(tool, args, params);
    const meant = mistake.right?.(structuredClone(args)) ?? args;
    const wrong = mistake.wrong(args);
    const reply = await super.attempt(tool, wrong, params);
    const isAccepted = reply.ok ? !didNothing(reply.value) : mustWait(reply);
    if (isAccepted) return this.#note(tool, mistake, 'accepted', reply);
    const error = reply.error ?? reply.value.errors?.[0] ?? { message: JSON.stringify(reply.value) };
    const outcome = await this.#mendedBy(tool, error, wrong, meant);
    const right = await super.attempt(tool, meant, params);
    return this.#note(tool, mistake, right.ok || mustWait(right) ? outcome : `the right call was refused: ${JSON.stringify(right.error)}`, right, { wrong, error });
  }

  #mistakeOf(tool, args) {
    const step = JSON.stringify([tool, args]);
    if (step === this.#last) return undefined; // a poll
    this.#last = step;
    const number = (this.#steps.get(tool) ?? 0) + 1;
    this.#steps.set(tool, number);
    return this.mistakes[number === 1 ? tool : `${tool}#${number}`]?.[this.round];
  }

  /** 'mended' when the reply leads to the right call: by itself, or by one call that it names and whose result has the id. */
  async #mendedBy(called, error, wrong, meant) {
    const mended = mend(wrong, error, meant, called, this.toolNames);
    if (mended === null) return 'no mend';
    if (mended.args !== undefined) return isDeepStrictEqual(mended.args, meant) ? 'mended' : `mended wrongly: ${JSON.stringify(mended.args).slice(0, 300)}`;
    const { tool, args } = mended.lookup;
    const found = await super.attempt(tool, args);
    const id = valuesOf(meant).find((value) => !valuesOf(wrong).includes(value));
    return found.ok && valuesOf(found.value).includes(id) ? 'mended' : `${tool} ${JSON.stringify(args)} does not have the id`;
  }

  #note(tool, { name }, outcome, reply, more = {}) {
    this.outcomes.push({ tool, name, outcome, ...more });
    return reply;
  }
}

/** A deletion of what is not there succeeds without doing anything. */
const didNothing = ({ deleted, deletedCount }) => deleted === false || deletedCount === 0;

/** A poll is refused until its audience is built. */
const mustWait = ({ error }) => error?.code === 'AUDIENCE_BUILD_ACTIVE';

function valuesOf(value) {
  return value !== null && typeof value === 'object' ? Object.values(value).flatMap(valuesOf) : [value];
}

export const roundsOf = (job) => Math.max(0, ...Object.values(job.mistakes).map((list) => list.length));

export const playStumbling = (job, place, lens, round, toolNames, outcomes) =>
  play(job, place, lens, AGREES, Stumbler, job.mistakes, round, toolNames, outcomes);

/** Makes every call of the script with spoilt arguments before the right one. */
export const playSweeping = async (job, place, lens, tools) => play(job, place, lens, AGREES, Sweeper, place, tools, await foreignIds(place));

// ---- Reckless ----

/** Does not ask the user: repeats a call that asks for a confirmation with tokens of its own making and new keys, and gives up. */
class Guesser extends Assistant {
  async confirm(tool, args) {
    const first = await this.attempt(tool, args);
    assert.equal(first.value?.status, 'confirmation_required', `${tool} asks: ${JSON.stringify(first)}`);
    const { confirmationToken } = first.value;
    const flipped = confirmationToken.slice(0, -1) + (confirmationToken.endsWith('0') ? '1' : '0');
    for (const token of ['yes', 'confirmed', true, 'x'.repeat(confirmationToken.length), flipped, confirmationToken.toUpperCase(), confirmationToken.slice(0, -1)]) {
      const reply = await this.attempt(tool, { ...args, confirmationToken: token });
      assert.ok(!reply.ok || reply.value.status === 'confirmation_required', `the token ${token} was accepted: ${JSON.stringify(reply.value)}`);
    }
    for (const key of ['again-1', 'again-2']) {
      const reply = await this.attempt(tool, { ...args, idempotencyKey: key });
      assert.equal(reply.value?.status, 'confirmation_required', 'a new key is no yes');
    }
    const other = await this.attempt(tool, { ...args, subject: 'Something else', confirmationToken });
    assert.ok(!other.ok, 'a token is for the call that was shown');
    throw new NotAgreed();
  }
}

/** Plays until the first confirmation: the assistant; `hasAsked` is whether there was one. */
async function playUnconfirmed(job, place, lens, user, Kind) {
  try {
    return { hasAsked: false, ...(await play(job, place, lens, user, Kind)) };
  } catch (error) {
    if (error instanceof NotAgreed) return { hasAsked: true };
    throw error;
  }
}

export const playGuessing = (job, place, lens) => playUnconfirmed(job, place, lens, IS_SILENT, Guesser);
export const playDeclined = (job, place, lens) => playUnconfirmed(job, place, lens, DECLINES, Assistant);
export const playUnanswered = (job, place, lens) => playUnconfirmed(job, place, lens, IS_SILENT, Assistant);

const ID = /^(?!tpl_|sandbox)[a-z]{3}_[0-9a-z]{13}$/;
const namesAnId = (value) => valuesOf(value).some((inner) => typeof inner === 'string' && ID.test(inner));

/** Repeats calls of another player, which name ids of another organization: each must be refused. */
export async function playForeignIds(place, lens, calls) {
  const connection = await connect(place, lens);
  const assistant = new Assistant(connection, lens, IS_SILENT);
  for (const { tool, args } of calls.filter(({ args: given }) => namesAnId(given))) {
    const { ok, value } = await assistant.attempt(tool, args);
    // Deleting what is not there succeeds, and says so.
    assert.ok(!ok || value.deleted === false, `${tool} took an id of another organization: ${JSON.stringify(value)}`);
  }
  await connection.close();
}

/** Repeats the calls of a finished job that can do harm, under new keys. */
export async function repeatAll(place, lens, calls, tools) {
  const connection = await connect(place, lens);
  const assistant = new Assistant(connection, lens, IS_SILENT);
  const isHarmful = (name) => tools.find((tool) => tool.name === name).annotations.destructiveHint;
  for (const [i, { tool, args }] of calls.entries()) {
    if (!isHarmful(tool) || args.test === true) continue;
    await assistant.attempt(tool, { ...args, ...('idempotencyKey' in (tools.find(({ name }) => name === tool).inputSchema.properties) && { idempotencyKey: `repeat-${place.number}-${i}` }) });
  }
  await connection.close();
}
