// A campaign as an assistant makes one: contacts, a design, an accepted send; and the check of its result.
// `call(tool, args)` gives {ok, body}, over any transport.

import assert from 'node:assert/strict';
import { until } from './processes.mjs';

const BATCH = 1000;
const PAGE = 50; // fits the response budget of every transport
const NEWSLETTER = `<!doctype html><html><head><title>Letter</title></head><body>
<p>Dear {{ firstName | default: 'reader' }},</p><p>this is the letter. <a href="https://example.com/more">More</a></p></body></html>`;

export const address = (tag, index) => `${tag}-${index}@example.com`;

async function must(call, tool, args) {
  const answer = await call(tool, args);
  assert.ok(answer.ok, `${tool}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

export async function saveContacts(call, tag, count) {
  for (let from = 0; from < count; from += BATCH) {
    const indices = Array.from({ length: Math.min(BATCH, count - from) }, (_, i) => from + i);
    const contacts = indices.map((index) => ({ email: address(tag, index), firstName: `Name${index}` }));
    const { summary } = await must(call, 'save_contact', { contacts });
    assert.equal(summary.failed, 0, JSON.stringify(summary));
  }
}

/** What a send needs: a fresh design and the sandbox domain. */
export async function prepareSend(call, title = 'Letter') {
  const { emailId } = await must(call, 'import_email', { content: NEWSLETTER, title, subjectLine: 'Hello' });
  const { domains } = await must(call, 'get_capabilities', { topic: 'account' });
  return { emailId, domainId: domains[0].domainId, audienceId: 'all', subject: 'Hello {{ firstName }}' };
}

/** Sends, and confirms when the transport asks: the accepted send. */
export async function sendConfirmed(call, send) {
  const answer = await must(call, 'send_email', send);
  if (answer.status !== 'confirmation_required') return answer;
  return must(call, 'send_email', { ...send, confirmationToken: answer.confirmationToken });
}

export async function startSend(call, send) {
  return (await sendConfirmed(call, send)).sendId;
}

export async function readSend(call, sendId) {
  return must(call, 'get_email_analytics', { view: 'send', sendId });
}

/** Waits for the end of a send, however often its server goes away meanwhile. */
export function awaitSend(call, sendId, limitMs) {
  const ended = async () => {
    const { ok, body } = await call('get_email_analytics', { view: 'send', sendId, detail: 'full' }).catch(() => ({ ok: false }));
    return ok && !['queued', 'running', 'scheduled'].includes(body.status) && body;
  };
  return until(`the send ${sendId} has ended`, ended, limitMs);
}

async function eventsOf(call, sendId, eventType) {
  const rows = [];
  let cursor;
  do {
    const page = await must(call, 'get_email_analytics', { view: 'events', sendId, eventType, limit: PAGE, ...(cursor && { cursor }) });
    rows.push(...page.data);
    cursor = page.pagination.cursor ?? undefined;
  } while (cursor !== undefined);
  return rows;
}

/** The addresses of the messages that were in the outbox under these names. */
function recipientsOf(installation, names) {
  return names.map((name) => /^To: .*?([^\s<>]+@[^\s<>]+?)>?\r$/m.exec(installation.readMessage(name))?.[1]);
}

/** The outbox, the figures and the events have the same recipients, each of them once. */
export async function assertDelivered(call, installation, send, tag, count, namesBefore) {
  assert.equal(send.status, 'completed', JSON.stringify(send));
  assert.equal(send.recipientCount, count);
  const old = new Set(namesBefore);
  const delivered = recipientsOf(installation, installation.outbox().filter((name) => !old.has(name)));
  const wanted = Array.from({ length: count }, (_, index) => address(tag, index)).sort();
  assert.deepEqual(delivered.sort(), wanted, 'the outbox holds one message for each recipient');
  assert.equal(send.stats.sent, count, 'figures: sent');
  assert.equal(send.stats.delivered, count, 'figures: delivered');
  const events = await eventsOf(call, send.sendId, 'delivered');
  assert.deepEqual(events.map(({ recipientEmail }) => recipientEmail).sort(), wanted, 'each recipient has one event delivered');
}
