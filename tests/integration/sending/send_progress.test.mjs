// The progress of a send: an assistant waits for its end, and the operator asks what became of a recipient (`posthorn why`).

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { address, awaitSend, prepareSend, saveContacts } from '../../lib/campaign.mjs';
import { installationFor } from '../../lib/installation.mjs';
import { until } from '../../lib/processes.mjs';
import { makePlace, must } from '../../lib/brand_fixture.mjs';

const LIMIT = { timeout: 600_000 };
const CONTACTS = 3;
const installation = installationFor({ after });
const clock = installation.movableClock();
let server;

before(async () => {
  server = await installation.serve();
});

const inSeconds = (seconds) => new Date(Date.now() + (clock.seconds + seconds) * 1000).toISOString();

/** A brand with contacts, and a client of it that speaks over stdio. */
async function makeAudience(tag) {
  const place = await makePlace(installation, server);
  const client = installation.stdio('--brand', place.brandId);
  await client.initialize();
  const call = (tool, args) => client.tool(tool, args);
  await saveContacts(call, tag, CONTACTS);
  return { ...place, client, call };
}

/** Ordered by a program, which nobody asks to confirm. */
async function startSend({ call, rest }, more = {}) {
  return (await must(rest.call('POST', '/v1/sends', { ...(await prepareSend(call)), ...more }))).sendId;
}

const waitFor = (sendId, waitSeconds) => ({ view: 'send', sendId, waitSeconds });

test('a call that waits is answered when the send has ended, with progress on the way', LIMIT, async () => {
  const audience = await makeAudience('wait');
  const { client } = audience;
  const sendId = await startSend(audience, { scheduledAt: inSeconds(3600) });
  const params = { name: 'get_email_analytics', arguments: waitFor(sendId, 50), _meta: { progressToken: 'p1' } };
  const answer = client.request('tools/call', params);
  await until('progress is told', () => client.others.length > 0);
  clock.advance(3601);
  const { result } = await answer;
  assert.equal(result.structuredContent.status, 'completed', JSON.stringify(result));
  assert.equal(result.structuredContent.stats.delivered, CONTACTS);
  const progress = client.others.filter(({ method }) => method === 'notifications/progress').map(({ params: told }) => told);
  assert.ok(progress.length > 0, 'no progress was told');
  for (const report of progress) assert.equal(report.progressToken, 'p1');
  assert.match(progress[0].message, /^0 of 0 recipients decided/);
});

test('a call that waits ends with its time, and when its caller gives up', LIMIT, async () => {
  const audience = await makeAudience('give-up');
  const { client, call, mcp } = audience;
  const sendId = await startSend(audience, { scheduledAt: inSeconds(3600) });
  const answer = await must(call('get_email_analytics', waitFor(sendId, 1)));
  assert.equal(answer.status, 'scheduled');
  const overHttp = await must(mcp.call('get_email_analytics', waitFor(sendId, 1)));
  assert.equal(overHttp.status, 'scheduled');

  client.request('tools/call', { name: 'get_email_analytics', arguments: waitFor(sendId, 50) }, 'given-up').catch(() => {});
  await call('get_email_analytics', { view: 'send', sendId }); // others are served meanwhile
  client.write('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"given-up"}}\n');
  await must(call('control_email_send', { action: 'cancel', sendId }));
  const ended = await must(call('get_email_analytics', waitFor(sendId, 50)));
  assert.equal(ended.status, 'canceled');
});

test('only a send is waited for, and REST knows no waiting', LIMIT, async () => {
  const audience = await makeAudience('where');
  const { call, rest } = audience;
  const sendId = await startSend(audience, { scheduledAt: inSeconds(3600) });
  const overview = await call('get_email_analytics', { view: 'overview', waitSeconds: 5 });
  assert.equal(overview.body.error.param, 'waitSeconds');
  const long = await call('get_email_analytics', waitFor(sendId, 51));
  assert.equal(long.body.error.param, 'waitSeconds');
  const plain = await rest.call('GET', `/v1/sends/${sendId}?waitSeconds=5`);
  assert.equal(plain.status, 400);
  assert.equal(plain.body.error.param, 'waitSeconds');
});

async function why(brandId, ...words) {
  const { code, stdout, stderr } = await installation.run('why', ...words, '--brand', brandId);
  return code === 0 ? JSON.parse(stdout) : { code, error: JSON.parse(stderr.split('\n')[0]).error };
}

test('posthorn why reports the result of each recipient', LIMIT, async () => {
  const audience = await makeAudience('why');
  const { brandId, call } = audience;
  await must(call('save_contact', { email: 'left@example.com', subscribed: false }));
  const sendId = await startSend(audience);
  await awaitSend(call, sendId, 30_000);

  const reached = await why(brandId, address('why', 0));
  assert.equal(reached.known, true);
  assert.equal(reached.contact.subscribed, true);
  assert.equal(reached.sends.length, 1);
  assert.equal(reached.sends[0].sendId, sendId);
  assert.equal(reached.sends[0].outcome, 'delivered');
  assert.match(reached.sends[0].summary, /^Captured in the outbox at .*simulated/);
  assert.deepEqual(reached.sends[0].events.map(({ eventType }) => eventType), ['delivered', 'sent']);

  const left = await why(brandId, 'left@example.com', sendId);
  assert.equal(left.sends[0].isRecipient, false);
  assert.match(left.sends[0].summary, /^Not mailed: /);
  const unknown = await why(brandId, 'nobody@example.com');
  assert.equal(unknown.known, false);
  assert.match(unknown.summary, /^Unknown: /);
  assert.deepEqual(unknown.sends, []);
});

test('posthorn why finds the recipient and the send of a message by its Message-ID', LIMIT, async () => {
  const audience = await makeAudience('bounced');
  const sendId = await startSend(audience);
  await awaitSend(audience.call, sendId, 30_000);
  const message = installation.outbox().filter((name) => name.startsWith(sendId)).map((name) => installation.readMessage(name))
    .find((text) => text.includes(`To: ${address('bounced', 1)}`));
  const [, messageId] = /^Message-ID: *(\S+)\r$/m.exec(message);

  // A bounce tells nothing else; the brand is another than the default one.
  const { code, stdout, stderr } = await installation.run('why', messageId);
  assert.equal(code, 0, stderr);
  const found = JSON.parse(stdout);
  assert.equal(found.email, address('bounced', 1));
  assert.deepEqual(found.sends.map((send) => [send.sendId, send.outcome]), [[sendId, 'delivered']]);
  assert.equal((await why(audience.brandId, messageId)).email, found.email);
  assert.equal((await why(audience.brandId, messageId, sendId)).error.param, 'sendId');
  const { brandId: other } = await makePlace(installation, server);
  assert.equal((await why(other, messageId)).error.code, 'BRAND_NOT_FOUND');

  const { emailId } = await prepareSend(audience.call);
  const before = new Set(installation.outbox());
  await must(audience.rest.call('POST', '/v1/sends', { test: true, emailId, to: ['ada@example.com'], subject: 'Trial' }));
  const [trial] = installation.outbox().filter((name) => !before.has(name));
  const [, testId] = /^Message-ID: *(\S+)\r$/m.exec(installation.readMessage(trial));
  const refused = await why(audience.brandId, testId);
  assert.equal(refused.error.code, 'SEND_NOT_FOUND');
  assert.match(refused.error.message, /test message/);
});

test('posthorn why refuses what it does not understand', LIMIT, async () => {
  const { brandId } = await makeAudience('refused');
  assert.equal((await why(brandId)).error.param, 'email');
  assert.equal((await why(brandId, 'nobody')).error.param, 'email');
  assert.equal((await why(brandId, 'nobody@example.com', 'nonsense')).error.code, 'SEND_NOT_FOUND');
  assert.equal((await why(brandId, 'nobody@example.com', 'snd_0000000000000')).error.code, 'SEND_NOT_FOUND');
});

test('reads of analytics that were given up are gone (R-287)', LIMIT, async () => {
  const { rest } = await makePlace(installation, server);
  for (const name of ['sends', 'campaigns', 'trigger-instances']) {
    const { status, body } = await rest.call('GET', `/v1/analytics/${name}`);
    assert.equal(status, 404, name);
    assert.equal(body.error.code, 'NOT_FOUND');
  }
});
