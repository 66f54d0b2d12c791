// Writers that repeat until they succeed: each saves contacts one after the other, every one under its own idempotency key, and
// repeats a call under the same key until it is acknowledged. The test compares the database with their records.

import assert from 'node:assert/strict';
import { pause } from './processes.mjs';

export class Writers {
  acknowledged = [];
  refusals = [];
  /** Calls without an answer: the server died under them. */
  broken = 0;
  #ending = false;
  #abandoned = false;
  #running;

  /** `clients` are one connection each; a function gives them, so that they may follow a server that moves. */
  constructor(tag, clients) {
    this.tag = tag;
    this.#running = clients.map((client, index) => this.#write(client, index));
  }

  async #write(client, index) {
    for (let number = 0; !this.#ending; number++) {
      const key = `${this.tag}-${index}-${number}`;
      await this.#saveUntilAcknowledged(client, key);
    }
  }

  async #saveUntilAcknowledged(client, key) {
    while (!this.#abandoned) {
      const began = Date.now();
      const answer = await client().post('/v1/contacts', { email: `${key}@example.com` }, { 'idempotency-key': key }).catch(() => null);
      if (answer !== null && answer.status < 300) {
        this.acknowledged.push({ key, id: answer.body.id, began });
        return;
      }
      if (answer === null) this.broken++;
      else this.refusals.push(answer);
      await pause(50);
    }
  }

  /** Waits until a call that began after `since` was acknowledged, and gives how long after that was. */
  async recovery(since, limitMs) {
    const deadline = Date.now() + limitMs;
    for (;;) {
      const first = this.acknowledged.find(({ began }) => began >= since);
      if (first) return Date.now() - since;
      const last = JSON.stringify(this.refusals.at(-1)?.body);
      assert.ok(Date.now() < deadline, `no write was acknowledged within ${limitMs} ms; last refusal ${last}`);
      await pause(20);
    }
  }

  end() {
    this.#ending = true;
    return Promise.all(this.#running);
  }

  /** Ends them without a reply to their last call, when a test has failed and its server has ended. */
  abandon() {
    this.#abandoned = true;
    return this.end();
  }

  /** Every refusal was honest: 503, and when to come back. */
  assertHonest() {
    for (const { status, headers, body } of this.refusals) {
      assert.equal(status, 503, JSON.stringify(body));
      assert.equal(body.error.code, 'SERVICE_UNAVAILABLE');
      assert.ok(Number(headers['retry-after']) >= 1, 'Retry-After');
      assert.equal(body.error.retryAfter, Number(headers['retry-after']));
    }
  }
}

/** Every contact whose address begins with `tag`, by address; each of them once. */
export async function contactsOf(client, tag) {
  const found = new Map();
  let cursor;
  do {
    const query = { search: `${tag}-`, sort: 'email', order: 'asc', ...(cursor && { cursor }) };
    const { status, body } = await client.post('/v1/contacts/search', query);
    assert.equal(status, 200, JSON.stringify(body));
    for (const contact of body.data) {
      assert.equal(found.has(contact.email), false, `${contact.email} is there twice`);
      found.set(contact.email, contact);
    }
    cursor = body.pagination.cursor;
  } while (cursor !== null);
  return found;
}
