// The sweep: before every call of a golden script, the same call with each argument spoilt in every mechanical way: another type, a
// number, list or object as text, an id that is cut short, of another kind, or of the neighbour brand. Each is refused and changes
// nothing; a tool that only reads may also answer as it does the right call, and no tool that destroys takes a value of another type.

import assert from 'node:assert/strict';
import { Assistant } from './assistant.mjs';

const ID = /^[a-z]{3}_[0-9a-z]{13}$/;
const WRONG_TYPES = {
  string: [{}, [1]],
  integer: ['many', {}, 1.5],
  number: ['many', {}],
  boolean: ['maybe', 7],
  array: [7],
  object: [7, 'none'],
};

/** The declared type of an argument; one that may have several is not spoilt by type. */
const typeOf = ({ type, enum: values }) => (values ? 'enum' : type);

/** Spoilt values of one argument: {value, mayHeal}. */
function* spoilt(property, value, foreign) {
  const type = typeOf(property);
  if (type === 'enum') yield* [{ value: 'nonsense' }, { value: {} }];
  for (const wrong of WRONG_TYPES[type] ?? []) yield { value: wrong };
  if (typeof value !== 'string' && value !== null) yield { value: typeof value === 'object' ? JSON.stringify(value) : String(value), mayHeal: true };
  if (typeof value === 'string' && ID.test(value)) yield* spoiltIds(value, foreign);
}

function* spoiltIds(id, foreign) {
  const kind = id.slice(0, 3);
  yield { value: id.slice(0, -1) };
  yield { value: `${kind === 'snd' ? 'eml' : 'snd'}${id.slice(3)}` };
  for (const other of foreign.filter((one) => one.startsWith(kind))) yield { value: other };
}

/** Ids of the neighbour brand, of each kind that it has. */
export async function foreignIds(place) {
  const [emails, groups] = await Promise.all(['emails', 'email-groups'].map((path) => place.rest('GET', `/v1/${path}`, undefined, place.neighbourId)));
  return [emails.data[0].emailId, emails.data[0].emailVersionId, groups.data[0].groupId];
}

export class Sweeper extends Assistant {
  #seen = new Set();
  #isSpoiling = false;
  count = 0;

  constructor(connection, lens, user, place, tools, foreign) {
    super(connection, lens, user);
    Object.assign(this, { place, tools, foreign });
  }

  async attempt(tool, args = {}, params = {}) {
    const isNew = !this.#isSpoiling && !this.#seen.has(JSON.stringify([tool, args]));
    if (isNew) await this.#spoil(this.tools.find(({ name }) => name === tool), args);
    return super.attempt(tool, args, params);
  }

  /** While a poll waits, a job of the server still changes rows: its call is spoilt afterwards. */
  async poll(tool, args, holds) {
    this.#isSpoiling = true;
    const value = await super.poll(tool, args, holds);
    await this.#spoil(this.tools.find(({ name }) => name === tool), args);
    return value;
  }

  async #spoil({ name, inputSchema, annotations }, args) {
    this.#seen.add(JSON.stringify([name, args]));
    this.#isSpoiling = true;
    await this.place.untilAtRest();
    const before = await this.place.ownChecksum();
    for (const [argument, value] of Object.entries(args)) {
      for (const { value: wrong, mayHeal } of spoilt(inputSchema.properties[argument], value, this.foreign)) {
        // A tool that writes may heal the form of a value, and has then done its work; the stumbling player makes such calls.
        if (mayHeal && !annotations.readOnlyHint && !annotations.destructiveHint) continue;
        await this.#judge(name, annotations, { ...args, [argument]: wrong }, mayHeal && args);
        this.count++;
      }
    }
    assert.equal(await this.place.ownChecksum(), before, `a spoilt call of ${name} changed something`);
    this.#isSpoiling = false;
  }

  async #judge(name, { readOnlyHint, destructiveHint }, wrong, meant) {
    const { ok, value } = await super.attempt(name, wrong);
    // A check refuses by its result.
    if (!ok || value.deleted === false || value.valid === false) return;
    assert.ok(meant && readOnlyHint && !destructiveHint, `${name} took ${JSON.stringify(wrong).slice(0, 300)}: ${JSON.stringify(value).slice(0, 300)}`);
    assert.deepEqual(withoutCursor(value), withoutCursor((await super.attempt(name, meant)).value), `${name} did another thing for ${JSON.stringify(wrong)}`);
  }
}

/** Each page has a cursor of its own. */
const withoutCursor = (value) => (value.pagination ? { ...value, pagination: { ...value.pagination, cursor: undefined } } : value);
