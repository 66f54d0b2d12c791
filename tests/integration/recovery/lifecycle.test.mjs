// The life of the processes: what a start creates, which process starts the one runner of a data folder, how long the runner stays,
// and that work goes on when the process that asked for it has ended.

import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertDelivered, prepareSend, readSend, saveContacts, startSend } from '../../lib/campaign.mjs';
import { installationFor } from '../../lib/installation.mjs';
import { isAlive, kill, parentOf, pause, until } from '../../lib/processes.mjs';

const LIMIT = { timeout: 600_000 };
const IDLE_S = 1;
/** The runner looks once a second whether it may leave; by then it would have. */
const STAY_MS = (IDLE_S + 2) * 1000;

const MODERN = {
  _meta: {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  },
};

const toolOf = (client) => (name, args) => client.tool(name, args);
const isEmpty = (installation) => installation.processes().length === 0;

/** Calls until it succeeds; whatever is said before must be an error that asks for a retry. */
async function callPatiently(client, name, args, refusals = []) {
  for (;;) {
    const { ok, body } = await client.tool(name, args);
    if (ok) return body;
    assert.equal(body.error.code, 'SERVICE_UNAVAILABLE', JSON.stringify(body));
    assert.ok(body.error.retryAfter >= 1, 'a refusal for now says when to come back');
    refusals.push(body.error);
    assert.ok(refusals.length < 100, `refused again and again: ${JSON.stringify(refusals)}`);
    await pause(body.error.retryAfter * 1000);
  }
}

test('starting over stdio touches nothing: no folder, no process', LIMIT, async (t) => {
  const installation = installationFor(t);
  const probe = installation.stdio();
  const discovered = await probe.request('server/discover', MODERN);
  assert.ok(discovered.result.supportedVersions.includes('2026-07-28'), JSON.stringify(discovered));
  probe.close();

  const client = installation.stdio();
  await client.initialize();
  const { result } = await client.request('tools/list', {});
  assert.ok(result.tools.length > 0);
  assert.ok((await client.tool('get_capabilities')).ok, 'help needs no database');

  assert.deepEqual(installation.runners(), []);
  assert.equal(existsSync(installation.data), false, 'the data folder exists');
  assert.equal(await client.close(), 0);
  assert.equal(existsSync(installation.data), false, 'the data folder exists after the end');
});

test('the first database call starts one detached runner, which every other transport then shares', LIMIT, async (t) => {
  const installation = installationFor(t);
  const first = installation.stdio();
  await first.initialize();
  assert.ok((await first.tool('save_contact', { email: 'shared@example.com' })).ok);

  const runner = installation.runnerPid;
  const postmaster = installation.postmasterPid;
  assert.equal(installation.runners().length, 1);
  assert.ok(runner > 0 && postmaster > 0);
  assert.notEqual(parentOf(runner), first.pid, 'the runner is nobody\'s child here');
  assert.equal(parentOf(postmaster), runner);

  const second = installation.stdio();
  await second.initialize();
  const server = await installation.serve();
  const rest = server.client(await installation.key('--brand', await installation.brandId()));
  const counts = [
    (await second.tool('search_contacts', { count: true })).body.count,
    (await installation.call('search_contacts', { count: true })).count,
    (await rest.post('/v1/contacts/search', { count: true })).body.count,
  ];
  assert.deepEqual(counts, [1, 1, 1], 'every transport sees the contact');
  assert.equal(installation.postmasterPid, postmaster);
  assert.equal(installation.runnerPid, runner);
  assert.equal(installation.runners().length, 1);
  assert.equal(installation.postmasters().length, 1);
  rest.close();

  await first.kill();
  assert.ok((await second.tool('search_contacts', { count: true })).ok, 'the runner does not depend on who started it');
  assert.equal(installation.postmasterPid, postmaster);
});

test('four first clients at the same instant start exactly one runner', LIMIT, async (t) => {
  const installation = installationFor(t);
  const clients = [1, 2, 3, 4].map(() => installation.stdio());
  await Promise.all(clients.map((client) => client.initialize()));
  const saved = await Promise.all(clients.map((client, i) => client.tool('save_contact', { email: `first${i}@example.com` })));
  assert.deepEqual(saved.map(({ ok }) => ok), [true, true, true, true], JSON.stringify(saved));
  assert.equal(installation.postmasters().length, 1);
  await until('the runners that came too late have left', () => installation.runners().length === 1);
  assert.equal((await clients[0].tool('search_contacts', { count: true })).body.count, 4);
});

test('the runner stays for a client, leaves when idle, and stays for a send that is scheduled', LIMIT, async (t) => {
  const installation = installationFor(t, { IDLE: IDLE_S });
  const client = installation.stdio();
  await client.initialize();
  const call = toolOf(client);
  await saveContacts(call, 'stay', 3);
  const send = await prepareSend(call);
  const runner = installation.runnerPid;

  await pause(STAY_MS);
  assert.equal(installation.runnerPid, runner, 'it stays while a client is there');
  await client.close();
  await until('the idle runner has left with all its children', () => isEmpty(installation));
  assert.equal(existsSync(`${installation.data}/runner.pid`), false);

  const scheduledAt = new Date(Date.now() + 3600_000).toISOString();
  const { sendId } = await installation.call('send_email', { ...send, scheduledAt });
  const next = installation.runnerPid;
  assert.ok(next > 0 && next !== runner, 'a call starts another one');
  await pause(STAY_MS);
  assert.equal(installation.runnerPid, next, 'it stays for the scheduled send, with nobody there');

  assert.equal((await installation.call('control_email_send', { action: 'cancel', sendId })).status, 'canceled');
  await until('nothing is left to stay for', () => isEmpty(installation));
  assert.deepEqual(installation.outbox(), []);
});

test('posthorn stop ends the runner, its server and its helpers; stopping again changes nothing', LIMIT, async (t) => {
  const installation = installationFor(t);
  assert.deepEqual(await installation.stop(), { stopped: false, reason: 'not_running' });
  assert.equal(existsSync(installation.data), false, 'asking to stop creates nothing');

  const client = installation.stdio();
  await client.initialize();
  await prepareSend(toolOf(client));
  assert.equal(installation.renderers().length, 1);
  assert.deepEqual(await installation.stop(), { stopped: true });
  await until('only the client is left', () => installation.processes().every(({ pid }) => pid === client.pid));
  assert.deepEqual(await installation.stop(), { stopped: false, reason: 'not_running' });
});

for (const [what, end] of [
  ['stopped', (installation) => installation.stop()],
  ['killed', (installation) => kill(installation.runnerPid)],
  ['killed together with its server', (installation) => [installation.postmasterPid, installation.runnerPid].forEach((pid) => kill(pid))],
]) {
  test(`a client lives on after its runner was ${what}`, LIMIT, async (t) => {
    const installation = installationFor(t);
    const client = installation.stdio();
    await client.initialize();
    assert.ok((await client.tool('save_contact', { email: 'before@example.com' })).ok);
    for (let round = 1; round <= 2; round++) {
      const runner = installation.runnerPid;
      await end(installation);
      await until('the runner is gone', () => !isAlive(runner));
      // The first search makes a connection of its own, the later ones renew it: both must bring the runner back. How often
      // they are refused meanwhile depends on how fast the old server's children leave.
      const { count } = await callPatiently(client, 'search_contacts', { count: true });
      assert.equal(count, round, 'nothing that was answered is lost');
      await callPatiently(client, 'save_contact', { email: `after${round}@example.com` });
      assert.notEqual(installation.runnerPid, runner);
      assert.ok(installation.runners().length > 0, 'the calls brought a runner back');
    }
    await until('a runner that came too late has left', () => installation.runners().length === 1);
    assert.equal(installation.postmasters().length, 1);
  });
}

test('a call after the end of the runner brings one back, although sessions of the old server still answer', LIMIT, async (t) => {
  const installation = installationFor(t);
  const client = installation.stdio();
  await client.initialize();
  const search = () => callPatiently(client, 'search_contacts', { count: true });
  assert.ok((await client.tool('save_contact', { email: 'before@example.com' })).ok);
  assert.equal((await search()).count, 1);
  const { runnerPid: runner, postmasterPid: postmaster } = installation;
  // A stopped server neither ends its sessions nor sees that its runner has ended.
  kill(postmaster, 'SIGSTOP');
  kill(runner);
  await until('the runner is gone', () => !isAlive(runner));
  const called = search();
  await until('the call has brought a runner', () => installation.runners().length === 1);
  kill(postmaster, 'SIGCONT');
  assert.equal((await called).count, 1);
  await until('the runner serves', () => installation.runnerPid > 0 && installation.runnerPid !== runner);
});

test('posthorn stop asks no other process, whatever number a killed runner left behind', LIMIT, async (t) => {
  const [installation, other] = [installationFor(t), installationFor(t)];
  for (const each of [installation, other]) await each.call('save_contact', { email: 'kept@example.com' });
  const pidFile = join(installation.data, 'runner.pid');
  const { runnerPid: runner } = installation;
  const { runnerPid: otherRunner } = other;
  writeFileSync(pidFile, `${otherRunner}\n`);
  const stopped = installation.stop();
  await pause(500);
  writeFileSync(pidFile, `${runner}\n`);
  assert.deepEqual(await stopped, { stopped: true });
  assert.equal(other.runnerPid, otherRunner, 'the runner of the other folder was not asked');
});

test('a killed runner leaves no orphan, even if nobody comes back', LIMIT, async (t) => {
  const installation = installationFor(t);
  const client = installation.stdio();
  await client.initialize();
  await prepareSend(toolOf(client));
  assert.equal(installation.renderers().length, 1);
  await client.close();
  kill(installation.runnerPid);
  await until('PostgreSQL and the HTML process followed the runner', () => isEmpty(installation));
});

test('a campaign goes on after its client was killed', LIMIT, async (t) => {
  const RECIPIENTS = 1500;
  const installation = installationFor(t, { IDLE: IDLE_S });
  const client = installation.stdio();
  await client.initialize();
  const call = toolOf(client);
  await saveContacts(call, 'goes-on', RECIPIENTS);
  const send = await prepareSend(call);
  const sendId = await startSend(call, send);
  const deliveredBefore = installation.outbox().length;
  await client.kill();
  assert.ok(deliveredBefore < RECIPIENTS, 'the client was killed in the middle');

  await until('the runner has done its work and left', () => isEmpty(installation), 30_000);
  const local = async (tool, args) => ({ ok: true, body: await installation.call(tool, args) });
  await assertDelivered(local, installation, await readSend(local, sendId), 'goes-on', RECIPIENTS, []);
});
