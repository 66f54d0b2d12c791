// The capture outbox has a bound. An organization that has filled its share of it stops nobody else's sandbox mail, and its own is
// retried like mail to a full mailbox: a_full_outbox_defers_the_message.

import assert from 'node:assert/strict';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { must, transportsOfKey } from '../../lib/brand_fixture.mjs';
import { address, awaitSend, prepareSend, saveContacts } from '../../lib/campaign.mjs';
import { installationFor } from '../../lib/installation.mjs';
import { until } from '../../lib/processes.mjs';

const LIMIT = { timeout: 600_000 };
const OUTBOX_MIB = 1;
const READERS = 12;
const LARGE_TEXT_CHARACTERS = 60_000; // in both parts of a message: twelve are more than the outbox holds

async function organization(installation, server, name) {
  const { orgId } = await installation.admin('org', 'create', name);
  const { brandId } = await installation.admin('brand', 'create', name, '--org', orgId);
  const { rest, mcp } = transportsOfKey(server, await installation.key('--brand', brandId));
  return { brandId, rest, call: (tool, args) => mcp.call(tool, args) };
}

/** Ordered by a program, which nobody asks to confirm. */
const startSend = async ({ rest }, send) => (await must(rest.call('POST', '/v1/sends', send))).sendId;

async function largeDesign(call) {
  const text = 'word '.repeat(LARGE_TEXT_CHARACTERS / 5);
  const content = `<!doctype html><html><head><title>Long</title></head><body><p>${text}</p></body></html>`;
  return (await must(call('import_email', { content, title: 'Long', subjectLine: 'Long' }))).emailId;
}

async function explain(installation, brandId, email) {
  const { stdout } = await installation.run('why', email, '--brand', brandId);
  return JSON.parse(stdout);
}

test('an organization whose share of the capture outbox is full delays only itself', LIMIT, async (t) => {
  const installation = installationFor(t, { OUTBOX_MAX: OUTBOX_MIB, RETRY_AFTER: 1 });
  const server = await installation.serve();
  const busy = await organization(installation, server, 'Busy');
  const calm = await organization(installation, server, 'Calm');
  await saveContacts(busy.call, 'busy', READERS);
  await saveContacts(calm.call, 'calm', READERS);

  const large = await startSend(busy, { ...await prepareSend(busy.call), emailId: await largeDesign(busy.call) });
  const refused = await until('a message finds no room', async () => {
    const readers = Array.from({ length: READERS }, (_, reader) => address('busy', reader));
    const told = await Promise.all(readers.map((email) => explain(installation, busy.brandId, email)));
    return told.find(({ sends: [send] }) => send?.reply?.startsWith('452 4.3.1'));
  });
  assert.match(refused.sends[0].reply, /no room for this message/);

  const small = await startSend(calm, await prepareSend(calm.call));
  assert.equal((await awaitSend(calm.call, small, 60_000)).stats.delivered, READERS);
  const { domainId } = await prepareSend(busy.call);
  const trial = await busy.rest.call('POST', '/v1/sends',
    { test: true, emailId: await largeDesign(busy.call), domainId, to: 'me@example.com', subject: 'Trial' });
  assert.match(JSON.stringify(trial), /no room for this message/);

  const { status } = await must(busy.call('get_email_analytics', { view: 'send', sendId: large }));
  assert.equal(status, 'running');
  // A reader deletes what has arrived, until every message has found room.
  const read = new Set();
  const folder = join(installation.data, 'outbox/new');
  const ended = awaitSend(busy.call, large, 300_000);
  let isOver = false;
  ended.finally(() => { isOver = true; }).catch(() => {});
  await until('all mail is read', () => {
    const wasOver = isOver;
    for (const name of readdirSync(folder).filter((each) => each.startsWith(large))) {
      assert.ok(!read.has(name), `${name} came twice`);
      read.add(name);
      rmSync(join(folder, name));
    }
    return wasOver;
  }, 300_000);
  assert.equal((await ended).stats.delivered, READERS);
  assert.equal(read.size, READERS);
});
