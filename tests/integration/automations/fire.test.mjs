// Fires of triggers by programs that retry: many at once, a server that is killed in the middle, and values of payloads, which are found
// nowhere in the database, in no log and in no answer.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { SqlSession, databaseUrl, sql } from '../../lib/database.mjs';
import { Installation } from '../../lib/installation.mjs';
import { until } from '../../lib/processes.mjs';

const run = promisify(execFile);
const MARKER = 'marker-7f3a91';
const FIELDS = [
  { key: 'email', type: 'string', required: true },
  { key: 'plan', type: 'string', required: false },
  { key: 'age', type: 'int', required: false },
  { key: 'order', type: 'object', required: false },
];

describe('fires', { timeout: 600_000 }, () => {
  let installation;
  let server;
  let key;
  let brandId;
  const seen = []; // every answer
  const log = [];

  async function call(method, path, body, headers = {}) {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
      method, body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { authorization: `Bearer ${key}`, 'x-brand-id': brandId, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    });
    const text = await response.text();
    seen.push(text, JSON.stringify([...response.headers]));
    return { status: response.status, text, body: JSON.parse(text) };
  }

  const fire = (triggerEventId, payload, headers) => call('POST', `/v1/automations/triggers/${triggerEventId}/fire`, { payload }, headers);
  const value = async (statement) => (await sql(installation, statement))[0];

  /** A trigger with an automation that is published, and whose runs wait for a day. */
  async function listeningTrigger(title, reentry) {
    const trigger = await call('POST', '/v1/automations/triggers', { title, payloadSchema: { fields: FIELDS } });
    const { triggerEventId } = trigger.body;
    const made = await call('POST', '/v1/automations', {
      name: title,
      nodes: [
        { id: 'start', type: 'trigger', config: { mode: 'event', triggerEventId, ...(reentry && { reentry }) } },
        { id: 'pause', type: 'wait', config: { duration: 1, unit: 'days' } },
      ],
      connections: [{ from: 'start', to: 'pause' }],
    });
    assert.equal(made.status, 201, made.text);
    const published = await call('PATCH', `/v1/automations/${made.body.automationId}`, { published: true });
    assert.equal(published.status, 200, published.text);
    return { triggerEventId, automationId: made.body.automationId };
  }

  async function start() {
    server = await installation.serve('--log-level', 'debug');
    log.push(server.log);
  }

  before(async () => {
    installation = new Installation();
    await start();
    brandId = await installation.brandId();
    key = await installation.key();
  });

  after(async () => {
    assert.deepEqual(await installation.dispose(), []);
  });

  test('of 20 fires at once for one contact, one starts when re-entry is once (D-110)', async () => {
    const { triggerEventId: trigger } = await listeningTrigger('At once', { mode: 'once' });
    const answers = await Promise.all(Array.from({ length: 20 }, () => fire(trigger, { email: 'ada@example.com' })));
    assert.deepEqual(answers.map(({ status }) => status), Array(20).fill(202));
    assert.equal(answers.flatMap(({ body }) => body.automationRunIds).length, 1);
    assert.equal(answers.flatMap(({ body }) => body.notStarted).length, 19);
    assert.equal(await value("select count(*) from automation_runs where email_key = 'ada@example.com'"), '1');
  });

  test('of 20 fires at once with one key, one happens and the others are replays (R-320)', async () => {
    const { triggerEventId: trigger } = await listeningTrigger('One key');
    const answers = await Promise.all(Array.from({ length: 20 }, () => fire(trigger, { email: 'bob@example.com' }, { 'idempotency-key': 'once' })));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [...Array(19).fill(200), 202]);
    assert.equal(new Set(answers.map(({ body }) => body.triggerInstanceId)).size, 1);
    assert.equal(new Set(answers.map(({ body }) => body.automationRunIds.join())).size, 1);
    assert.equal(answers.filter(({ body }) => body.status === 'replayed').length, 19);
    assert.equal(await value("select count(*) from automation_runs where email_key = 'bob@example.com'"), '1');
  });

  test('the steppers are notified of a fire that starts a run (R-318)', async () => {
    const { triggerEventId: trigger } = await listeningTrigger('Notified');
    const listener = await SqlSession.open(installation);
    await listener.rows('listen posthorn_step');
    await fire(trigger, { email: 'eve@example.com' });
    await until('the notification has come', async () => (await listener.rows('select 1')).some((line) => line.includes('posthorn_step')));
    await listener.close();
  });

  test('a server that is killed in a fire leaves all of it or nothing, and a repetition completes it', async () => {
    const { triggerEventId: trigger } = await listeningTrigger('Killed');
    await fire(trigger, { email: 'cyd@example.com' });
    const lock = await SqlSession.open(installation);
    await lock.rows('begin');
    await lock.rows('lock table trigger_instances in exclusive mode');
    const cut = fire(trigger, { email: 'cyd@example.com' }, { 'idempotency-key': 'killed' }).then(() => 'answered', () => 'cut');
    // The fire has written all but its last rows.
    let session;
    await until('the fire waits for the lock', async () => {
      session = await lock.value("select pid from pg_locks where not granted and relation = 'trigger_instances'::regclass");
      return session;
    }, 60_000);
    await server.kill();
    assert.equal(await cut, 'cut');
    await lock.rows('rollback');
    await start();
    await until('its session has ended', async () => (await lock.value(`select count(*) from pg_stat_activity where pid = ${session}`)) === '0', 60_000);
    const before = Number(await value("select count(*) from automation_runs where email_key = 'cyd@example.com'"));
    const again = await fire(trigger, { email: 'cyd@example.com' }, { 'idempotency-key': 'killed' });
    assert.ok(before === 1 ? again.status === 202 : again.status === 200, `${before} runs before, then ${again.text}`);
    assert.equal(await value("select count(*) from automation_runs where email_key = 'cyd@example.com'"), '2');
    assert.equal(await value("select count(*) from trigger_instances where email_key = 'cyd@example.com'"), '2');
    await lock.close();
  });

  test('no value of a payload is in the database, in a log or in an answer (R-328)', async () => {
    const { triggerEventId: trigger, automationId } = await listeningTrigger('Marked');
    // Runs of a paused automation keep their payloads.
    await call('PATCH', `/v1/automations/${automationId}`, { paused: true });
    const email = 'dan@example.com';
    const path = `/v1/automations/triggers/${trigger}/fire`;
    await call('POST', '/v1/contacts', { email, customFields: { plan: 5 } });
    const taken = await fire(trigger, { email, plan: MARKER, order: { code: MARKER, lines: [MARKER] }, extra: MARKER }, { 'idempotency-key': 'marked' });
    assert.deepEqual(taken.body.warnings.map(({ code }) => code).sort(), ['FIELD_TYPE_MISMATCH', 'unexpected_key'], taken.text);
    const replay = await fire(trigger, { email, plan: MARKER, order: { code: MARKER, lines: [MARKER] }, extra: MARKER }, { 'idempotency-key': 'marked' });
    assert.equal(replay.status, 200);
    const refusals = [
      [await fire(trigger, { email, order: MARKER }, { 'idempotency-key': 'marked' }), 409],
      [await fire(trigger, { email: MARKER, age: MARKER, order: MARKER }), 400],
      [await fire(trigger, { email: `${MARKER}@example.com\r\nBcc: eve@example.com` }), 400],
      [await fire(trigger, MARKER), 400],
      [await call('POST', path, `{"payload": {"email": "${MARKER}@`), 400],
      [await call('POST', path, { payload: JSON.stringify({ email, order: MARKER }) }), 400],
      [await fire(trigger, { email, order: { code: MARKER.repeat(6000) } }), 400],
    ];
    for (const [{ status, text }, wanted] of refusals) assert.equal(status, wanted, text);
    await installation.call('fire_trigger_event', { triggerEventId: trigger, payload: { email, order: { code: MARKER } } });
    const spoken = await installation.run('call', 'fire_trigger_event', JSON.stringify({ triggerEventId: trigger, payload: { email: MARKER, age: MARKER } }));
    assert.notEqual(spoken.code, 0);
    seen.push(spoken.stdout, spoken.stderr);
    const { body: { data } } = await call('GET', '/v1/automations/trigger-instances');
    await call('GET', `/v1/automations/trigger-instances/${data[0].triggerInstanceId}`);
    await call('GET', '/v1/analytics/events');

    assert.ok(Number(await value('select count(*) from trigger_payloads')) > 0);
    const { stdout } = await run('pg_dump', ['-n', 'posthorn', '--data-only', await databaseUrl(installation)], { maxBuffer: 1 << 28 });
    assert.ok(stdout.includes(email));
    const hex = Buffer.from(MARKER).toString('hex');
    const places = { database: stdout, answers: seen.join('\n'), logs: log.flat().join('\n'), runner: installation.runnerLog };
    for (const [place, text] of Object.entries(places)) {
      assert.ok(text.length > 0 || place === 'runner', `${place} is empty`);
      assert.ok(!text.includes(MARKER) && !text.includes(hex), `a value of a payload is in ${place}: ${text.slice(Math.max(0, text.indexOf(MARKER) - 300)).slice(0, 600)}`);
    }
  });
});
