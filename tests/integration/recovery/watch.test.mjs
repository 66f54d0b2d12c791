// The clients of a private cluster watch its runner: one that was killed comes back without a call, exactly one of several clients
// brings it, and a runner whose folder is gone ends with its PostgreSQL.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync } from 'node:fs';
import { test } from 'node:test';
import { prepareSend, saveContacts } from '../../lib/campaign.mjs';
import { installationFor } from '../../lib/installation.mjs';
import { isAlive, kill, until } from '../../lib/processes.mjs';

const HOUR_S = 3600;
const ROUNDS = Number(process.env.POSTHORN_FAULT_ROUNDS ?? 3);
const LIMIT = { timeout: 600_000 };
const LONG = { timeout: LIMIT.timeout + ROUNDS * 20_000 };

const toolOf = (client) => (name, args) => client.tool(name, args);

async function assistant(installation) {
  const client = installation.stdio();
  await client.initialize();
  assert.ok((await client.tool('get_capabilities', { topic: 'account' })).ok);
  return client;
}

/** How many runners have served the folder so far. */
const startsOf = (installation) => installation.runnerLog.split('"event":"runner.started"').length - 1;

/** Waits for a runner other than `before` that serves. No call is made. */
async function untilServed(installation, before, starts) {
  await until('another runner serves', () => installation.runnerPid > 0 && installation.runnerPid !== before && startsOf(installation) === starts);
}

test('a scheduled send leaves although the runner was killed and nobody calls', LIMIT, async (t) => {
  const installation = installationFor(t);
  const clock = installation.movableClock();
  const server = await installation.serve();
  await saveContacts(async (tool, args) => ({ ok: true, body: await installation.call(tool, args) }), 'alone', 3);
  const send = await prepareSend(async (tool, args) => ({ ok: true, body: await installation.call(tool, args) }));
  await installation.call('send_email', { ...send, scheduledAt: new Date(Date.now() + HOUR_S * 1000).toISOString() });
  kill(installation.runnerPid);
  clock.advance(HOUR_S);
  await until('the messages have left', () => installation.outbox().length === 3, 60_000);
  assert.ok(isAlive(server.pid));
});

test('of several clients exactly one brings the killed runner back, whatever was killed with it', LONG, async (t) => {
  const installation = installationFor(t);
  await installation.serve();
  await assistant(installation);
  await assistant(installation);
  for (let round = 1; round <= ROUNDS; round++) {
    const { runnerPid, postmasterPid } = installation;
    if (round % 3 === 2) kill(postmasterPid);
    if (round % 3 !== 0) kill(runnerPid);
    else kill(postmasterPid); // the runner sees that its server has ended, and ends
    await untilServed(installation, runnerPid, 1 + round);
    assert.equal(installation.runners().length, 1);
  }
  await until('one server is left', () => installation.postmasters().length === 1);
  assert.equal(startsOf(installation), 1 + ROUNDS);
});

test('a runner that an operator has stopped comes back with the next call only', LIMIT, async (t) => {
  const installation = installationFor(t);
  const client = await assistant(installation);
  assert.deepEqual(await installation.stop(), { stopped: true });
  assert.ok((await client.tool('get_capabilities', { topic: 'account' })).ok);
  await until('it is told in the log', () => startsOf(installation) === 2);
  // The client watches that one: its end brings the third.
  const { runnerPid } = installation;
  kill(runnerPid);
  await untilServed(installation, runnerPid, 3);
});

/** Its processes still write into it, so a folder may not be empty when it is removed. */
const removeFolder = (folder) => until('the folder is removed', () => {
  try {
    execFileSync('rm', ['-rf', folder], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
});

for (const [what, remove] of [
  ['removed', ({ data }) => removeFolder(data)],
  ['moved', ({ data }) => renameSync(data, `${data}-moved`)],
  ['replaced', ({ data }) => { renameSync(data, `${data}-moved`); mkdirSync(data, { mode: 0o700 }); }],
]) {
  test(`a runner whose folder was ${what} ends with its PostgreSQL, and another one serves the new folder`, LIMIT, async (t) => {
    const installation = installationFor(t);
    const client = await assistant(installation);
    await prepareSend(toolOf(client));
    const { runnerPid } = installation;
    await remove(installation);
    await until('only the client is left', () => installation.processes().every(({ pid }) => pid === client.pid));
    assert.equal(isAlive(runnerPid), false);
    assert.equal((await installation.call('search_contacts', { count: true })).count, 0, 'a new folder is empty');
    assert.equal(installation.runners().length, 1);
    assert.equal(installation.postmasters().length, 1);
  });
}
