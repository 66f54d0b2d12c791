// Single writes share their commits. Two servers on one database save the same people at the same time, and one of them is
// killed in the middle of it: what was acknowledged is there, under its key only once, and nothing waits for ever.
//
// POSTHORN_FAULT_ROUNDS is how often a server is killed (default 3), POSTHORN_FAULT_SEED repeats a run.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installationFor } from '../../lib/installation.mjs';
import { contactsOf } from '../../lib/writers.mjs';
import { until } from '../../lib/processes.mjs';
import { Random } from '../../lib/random.mjs';

const ROUNDS = Number(process.env.POSTHORN_FAULT_ROUNDS ?? 3);
const SEED = Number(process.env.POSTHORN_FAULT_SEED ?? Date.now() % 1_000_000);
const CONNECTIONS = 16;
const PEOPLE = 10;
const LIMIT = { timeout: 600_000 + 15_000 * ROUNDS };

const email = (person) => `shared-${person}@example.com`;

/** Saves people through one connection until told to stop; each call has its key, its person and a value of its own. */
class Saver {
  acknowledged = new Map(); // key → { key, person, field, value, id, status, body }
  unanswered = []; // calls that the server died under
  refused = [];
  #ended;
  #stopping = false;

  constructor(client, name, round, random) {
    this.client = client;
    this.#ended = this.#work(name, round, random);
  }

  async #work(name, round, random) {
    for (let number = 0; !this.#stopping; number++) {
      const key = `${name}-${round}-${number}`;
      const call = { key, person: random.below(PEOPLE), field: `of${name}`, value: key };
      const answer = await save(this.client, call).catch(() => null);
      if (answer === null) {
        this.unanswered.push(call);
        return;
      }
      if (answer.status < 300) this.acknowledged.set(call.key, { ...call, id: answer.body.id, status: answer.status, body: answer.body });
      else this.refused.push(answer);
    }
  }

  stop() {
    this.#stopping = true;
    return this.#ended;
  }
}

function save(client, { key, person, field, value }) {
  return client.post('/v1/contacts', { email: email(person), customFields: { [field]: value } }, { 'idempotency-key': key });
}

test(`two servers save the same ${PEOPLE} people, one is killed, ${ROUNDS} rounds: nothing acknowledged is lost (R-074, R-145, R-148)`, LIMIT, async (t) => {
  t.diagnostic(`POSTHORN_FAULT_SEED=${SEED}`);
  const random = new Random(SEED);
  const installation = installationFor(t);
  const lasting = await installation.serve('--log-level', 'error');
  const { brandId } = await installation.admin('brand', 'create', 'Shared');
  const key = await installation.key('--brand', brandId);
  const acknowledged = new Map();

  for (let round = 1; round <= ROUNDS; round++) {
    const doomed = await installation.serve('--log-level', 'error');
    const clients = [lasting, doomed].map((server) => Array.from({ length: CONNECTIONS }, () => server.client(key)));
    const savers = clients.map((own, side) => own.map((client, index) => new Saver(client, `S${side}c${index}`, round, random)));
    const doneBy = (side) => savers[side].reduce((sum, { acknowledged: own }) => sum + own.size, 0);
    const target = 100 + random.below(400);
    await until(`${target} writes are acknowledged by both`, () => Math.min(doneBy(0), doneBy(1)) >= target, 30_000);
    await doomed.kill();
    await Promise.all(savers[1].map((saver) => saver.stop()));
    const before = doneBy(0);
    await until('the other server goes on', () => doneBy(0) > before + CONNECTIONS);
    await Promise.all(savers[0].map((saver) => saver.stop()));
    assert.deepEqual(savers.flat().flatMap(({ refused }) => refused.map(({ body }) => body)), [], 'nobody was refused');
    const unanswered = savers[1].flatMap((saver) => saver.unanswered);
    t.diagnostic(`round ${round}: ${doneBy(0)} and ${doneBy(1)} acknowledged, ${unanswered.length} without an answer`);

    // The same calls again, through the server that is left: the answers of before; what was not answered is done now or was.
    const [client] = clients[0];
    const sample = savers[1].flatMap((saver) => [...saver.acknowledged.values()].slice(-1));
    for (const call of sample) {
      const again = await save(client, call);
      assert.deepEqual([again.status, again.body], [call.status, call.body], 'the very same answer');
    }
    for (const call of unanswered) assert.ok((await save(client, call)).status < 300);
    for (const saver of savers.flat()) for (const [name, call] of saver.acknowledged) acknowledged.set(name, call);
    for (const call of unanswered) acknowledged.set(call.key, call);
    clients.flat().forEach((it) => it.close());
  }

  // Each saver's field of a person holds the last value that was acknowledged to it.
  const client = lasting.client(key);
  const found = await contactsOf(client, 'shared');
  assert.equal(found.size, PEOPLE, 'each person once');
  const last = new Map();
  for (const call of acknowledged.values()) {
    last.set(`${call.field} ${call.person}`, call);
    if (call.id !== undefined) assert.equal(found.get(email(call.person)).id, call.id);
  }
  for (const { person, field, value } of last.values()) assert.equal(found.get(email(person)).customFields[field], value);
  client.close();
});
