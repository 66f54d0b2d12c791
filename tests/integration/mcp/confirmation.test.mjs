// A campaign that an assistant starts must be confirmed: by a form where the client can show one, by a token elsewhere. However often
// the assistant repeats its call, the campaign is sent once.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { awaitSend, prepareSend, saveContacts } from '../../lib/campaign.mjs';
import { installationFor } from '../../lib/installation.mjs';
import { transportsOfKey, makePlace, must, stdioTransport } from '../../lib/brand_fixture.mjs';

const LIMIT = { timeout: 600_000 };
const COUNT = 4;
const VERSION = '2026-07-28';

const installation = installationFor({ after });
let server;

before(async () => {
  server = await installation.serve();
});

const sendsOf = async (place) => (await must(place.rest.call('GET', '/v1/sends'))).data;

async function makeAudience() {
  const place = await makePlace(installation, server);
  await saveContacts(place.mcp.call, 'reader', COUNT);
  return { ...place, order: await prepareSend(place.mcp.call) };
}

/** A client of 2026-07-28 over HTTP that can show forms: the whole result. */
function formClient(place) {
  const http = server.client(place.key);
  return async (args, params = {}) => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': VERSION,
      'io.modelcontextprotocol/clientInfo': { name: 'forms', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
    };
    const headers = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': VERSION, 'mcp-method': 'tools/call', 'mcp-name': 'send_email' };
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'send_email', arguments: args, ...params, _meta } };
    const { body } = await http.post('/mcp', message, headers);
    return typeof body === 'string' ? JSON.parse(body.split('\n').filter((line) => line.startsWith('data: {')).pop().slice(6)).result : body.result;
  };
}

const answerOf = (asked, answer) => ({ requestState: asked.requestState, inputResponses: { confirm: answer } });
const YES = { action: 'accept', content: { send: true } };

test('a campaign is shown before it is sent, and nothing is written until then', LIMIT, async () => {
  const place = await makeAudience();
  const asked = await must(place.mcp.call('send_email', place.order));
  assert.equal(asked.status, 'confirmation_required');
  assert.equal(asked.preview.recipientCount, COUNT);
  assert.equal(asked.preview.subject, 'Hello Name0');
  assert.match(asked.preview.text, /^Dear Name0/);
  const left = Date.parse(asked.expiresAt) - Date.now();
  assert.ok(left > 10 * 60_000 && left <= 15 * 60_000, asked.expiresAt);
  assert.deepEqual(await sendsOf(place), []);
  const { emailSends } = await must(place.rest.call('GET', '/v1/usage'));
  assert.equal(emailSends.used ?? 0, 0);

  const { sendId } = await must(place.mcp.call('send_email', { ...place.order, confirmationToken: asked.confirmationToken }));
  const send = await awaitSend(place.mcp.call, sendId, 20_000);
  assert.equal(send.stats.sent, COUNT);
});

test('R-101: an assistant that repeats itself sends once', LIMIT, async () => {
  const place = await makeAudience();
  const asked = await Promise.all([1, 2].map(() => must(place.mcp.call('send_email', place.order))));
  const confirmed = asked.flatMap(({ confirmationToken }) => [1, 2, 3].map(() => ({ ...place.order, confirmationToken })));
  const answers = await Promise.all(confirmed.map((args) => place.mcp.call('send_email', args)));
  assert.equal(answers.filter(({ ok }) => ok).length, 1);
  for (const { body } of answers.filter(({ ok }) => !ok)) assert.equal(body.error.code, 'EMAIL_ALREADY_SENT');
  assert.equal((await sendsOf(place)).length, 1);
});

test('a token that was used sends nothing more, even when the first send is gone', LIMIT, async () => {
  const place = await makeAudience();
  const order = { ...place.order, scheduledAt: new Date(Date.now() + 3600_000).toISOString() };
  const { confirmationToken } = await must(place.mcp.call('send_email', order));
  const { sendId } = await must(place.mcp.call('send_email', { ...order, confirmationToken }));
  await must(place.mcp.call('control_email_send', { action: 'cancel', sendId }));
  const again = await Promise.all([1, 2, 3].map(() => place.mcp.call('send_email', { ...order, confirmationToken })));
  for (const { ok, body } of again) {
    assert.ok(!ok, JSON.stringify(body));
    assert.deepEqual([body.error.code, body.error.param], ['INVALID_REQUEST', 'confirmationToken']);
  }
  assert.equal((await sendsOf(place)).length, 1);
});

test('under one idempotency key, the preview is asked for and the confirmed call is stored', LIMIT, async () => {
  const place = await makeAudience();
  const order = { ...place.order, idempotencyKey: `confirmed-${place.brandId}` };
  const first = await must(place.mcp.call('send_email', order));
  const second = await must(place.mcp.call('send_email', order));
  assert.notEqual(second.confirmationToken, first.confirmationToken, 'a preview is not stored under the key');
  const accepted = await must(place.mcp.call('send_email', { ...order, confirmationToken: second.confirmationToken }));
  for (const args of [order, { ...order, confirmationToken: second.confirmationToken }, { ...order, confirmationToken: first.confirmationToken }])
    assert.deepEqual(await must(place.mcp.call('send_email', args)), accepted, 'a repetition is a replay');
});

test('a client with forms is asked by one, and its person decides', LIMIT, async () => {
  const place = await makeAudience();
  const call = formClient(place);
  const asked = await call(place.order);
  assert.equal(asked.resultType, 'input_required');
  const { method, params } = asked.inputRequests.confirm;
  assert.equal(method, 'elicitation/create');
  assert.match(params.message, new RegExp(`^Send this email to ${COUNT} recipients \\(all subscribed contacts\\), now\\?`));
  assert.equal(params.requestedSchema.properties.send.type, 'boolean');

  const declined = await call(place.order, answerOf(asked, { action: 'decline' }));
  assert.equal(declined.structuredContent.status, 'not_sent');
  assert.notEqual(declined.isError, true);
  assert.deepEqual(await sendsOf(place), []);

  // What was declined stays declined, in whatever form the token comes back.
  const afterwards = await call(place.order, answerOf(asked, YES));
  assert.ok(afterwards.isError);
  assert.match(afterwards.content[0].text, /used or declined/);
  assert.equal((await place.mcp.call('send_email', { ...place.order, confirmationToken: asked.requestState })).body.error.param, 'confirmationToken');
  for (const answer of [{ action: 'decline' }, { action: 'cancel' }, { action: 'accept', content: { send: false } }])
    assert.equal((await call(place.order, answerOf(asked, answer))).structuredContent.status, 'not_sent');
  const trial = await call({ emailId: place.order.emailId, subject: 'Trial', test: true, to: ['me@example.com'] }, answerOf(asked, { action: 'decline' }));
  assert.equal(trial.structuredContent.status, 'not_sent');
  assert.deepEqual(await sendsOf(place), []);

  const anew = await call(place.order);
  const forged = await call({ ...place.order, subject: 'Something else' }, answerOf(anew, YES));
  assert.ok(forged.isError);
  assert.match(forged.content[0].text, /confirmationToken/);
  assert.deepEqual(await sendsOf(place), []);

  const accepted = await call(place.order, answerOf(anew, YES));
  assert.equal(accepted.resultType, 'complete');
  assert.equal(accepted.structuredContent.status, 'queued');
  assert.ok((await call(place.order, answerOf(anew, YES))).isError, 'an answer counts once');
  const tooLate = await call(place.order, answerOf(anew, { action: 'decline' }));
  assert.ok(tooLate.isError, 'a send that was made cannot be declined');
  assert.equal((await sendsOf(place)).length, 1);
});

test('a list with a stranger or somebody who left is confirmed, however short it is', LIMIT, async () => {
  const place = await makeAudience();
  await must(place.mcp.call('save_contact', { email: 'gone@example.com', subscribed: false }));
  const lenient = await stdioTransport(installation, '--brand', place.brandId, '--confirm-above', '50');
  const order = { ...place.order, audienceId: undefined };
  const lists = [
    [['stranger@example.com'], 1, /no contacts of this brand/],
    [['reader-0@example.com', 'gone@example.com'], 1, /gone@example\.com \(unsubscribed\)/],
  ];
  for (const [to, recipientCount, warning] of lists) {
    const asked = await must(lenient.call('send_email', { ...order, to }));
    assert.equal(asked.status, 'confirmation_required', JSON.stringify(to));
    assert.equal(asked.preview.recipientCount, recipientCount);
    assert.match(asked.preview.warnings.join('\n'), warning);
  }
  assert.deepEqual(await sendsOf(place), []);
  const accepted = await must(lenient.call('send_email', { ...order, to: ['reader-0@example.com', 'reader-1@example.com', 'READER-1@example.com'] }));
  assert.deepEqual([accepted.status, accepted.recipientCount, accepted.leftOut, accepted.captured], ['queued', 2, { duplicate: 1 }, true]);
  const off = await stdioTransport(installation, '--brand', place.brandId, '--confirm-above', 'off');
  const stranger = await must(off.call('send_email', { ...order, to: ['stranger@example.com'] }));
  assert.deepEqual([stranger.status, stranger.recipientCount, stranger.unknownCount], ['queued', 1, 1]);
});

test('no preview holds a link that unsubscribes somebody, and the link of a test message does nothing', LIMIT, async () => {
  const place = await makeAudience();
  const content = '<html><head><title>T</title></head><body><p>Hi {{ firstName }}</p><a href="{{ unsubscribeUrl }}">Leave</a></body></html>';
  const { emailId } = await must(place.mcp.call('import_email', { content }));
  const order = { ...place.order, emailId };
  const asked = await must(place.mcp.call('send_email', order));
  const shown = await must(place.mcp.call('get_email', { emailId, contact: 'reader-0@example.com', include: ['html'] }));
  for (const text of [JSON.stringify(asked), JSON.stringify(shown)]) {
    assert.match(text, /https:\/\/example\.com\/unsubscribe-preview/);
    assert.doesNotMatch(text, /\/u\//);
  }
  const names = new Set(installation.outbox());
  const trial = await must(place.mcp.call('send_email', { emailId, subject: 'T', to: ['reader-0@example.com'], test: true }));
  assert.deepEqual([trial.captured, trial.emptyValues], [true, []]);
  const message = installation.readMessage(installation.outbox().find((name) => !names.has(name)));
  const [, token] = /\/u\/([\w-]{96})/.exec(message.replace(/=\r?\n/g, ''));
  const http = server.client(place.key);
  await http.post(`/u/${token}`, 'List-Unsubscribe=One-Click', { 'content-type': 'application/x-www-form-urlencoded' });
  const { data } = await must(place.mcp.call('search_contacts', { search: 'reader-0@' }));
  assert.deepEqual(data.map(({ email, subscribed }) => [email, subscribed]), [['reader-0@example.com', true]]);
});

test('a token belongs to its brand and key', LIMIT, async () => {
  const place = await makeAudience();
  const { confirmationToken } = await must(place.mcp.call('send_email', place.order));
  const otherKey = await installation.key('--brand', place.brandId);
  const { ok, body } = await transportsOfKey(server, otherKey).mcp.call('send_email', { ...place.order, confirmationToken });
  assert.ok(!ok);
  assert.equal(body.error.param, 'confirmationToken');
  const local = await stdioTransport(installation, '--brand', place.brandId);
  assert.ok(!(await local.call('send_email', { ...place.order, confirmationToken })).ok, 'nor is it the local owner\'s');
  const own = await must(local.call('send_email', place.order));
  assert.equal((await must(local.call('send_email', { ...place.order, confirmationToken: own.confirmationToken }))).status, 'queued');
});

test('only assistants are asked, only above the threshold, and only if the operator wants it', LIMIT, async () => {
  const place = await makeAudience();
  assert.equal((await must(place.rest.call('POST', '/v1/sends', place.order))).status, 'queued');
  const { emailId } = await must(place.mcp.call('import_email', { content: '<html><head><title>T</title></head><body><p>Hi</p></body></html>' }));
  const order = { ...place.order, emailId };
  const trial = { emailId, subject: 'Hi', to: ['me@example.com'], test: true };
  assert.equal((await must(place.mcp.call('send_email', trial))).status, 'completed');
  const one = { ...order, audienceId: undefined, to: ['reader-0@example.com'] };
  assert.equal((await must(place.mcp.call('send_email', one))).status, 'queued');
  const two = { ...order, audienceId: undefined, to: ['reader-0@example.com', 'reader-1@example.com'] };
  assert.equal((await must(place.mcp.call('send_email', two))).status, 'confirmation_required');

  const higher = await stdioTransport(installation, '--brand', place.brandId, '--confirm-above', String(COUNT));
  assert.equal((await must(higher.call('send_email', two))).status, 'queued');
  const off = await stdioTransport(installation, '--brand', place.brandId, '--confirm-above', 'off');
  assert.equal((await must(off.call('send_email', order))).status, 'queued');
  const { code, stderr } = await installation.run('mcp', '--confirm-above', 'some');
  assert.notEqual(code, 0);
  assert.match(stderr, /--confirm-above/);
});

test('what was changed after the preview is not sent', LIMIT, async () => {
  const place = await makeAudience();
  const { confirmationToken } = await must(place.mcp.call('send_email', place.order));
  await saveContacts(place.mcp.call, 'late', 11);
  const grown = await place.mcp.call('send_email', { ...place.order, confirmationToken });
  assert.match(grown.body.error.message, /4 recipients were confirmed and there are 15 now/);
  const again = await must(place.mcp.call('send_email', place.order));
  assert.equal(again.preview.recipientCount, 15);
  assert.equal((await must(place.mcp.call('send_email', { ...place.order, confirmationToken: again.confirmationToken }))).status, 'queued');
});
