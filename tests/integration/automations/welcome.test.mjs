// A welcome series as an assistant makes it: a client of the official SDK imports the designs, declares the triggers, checks, publishes
// and fires the automation, and reads what became of it. A relay of another project receives the mail. The clock of the whole
// installation is moved, so days of waits pass at once.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '../../lib/database.mjs';
import { Installation } from '../../lib/installation.mjs';
import { packagesOf } from '../../lib/packages.mjs';
import { until } from '../../lib/processes.mjs';

const { SMTPServer } = packagesOf('third_party')('smtp-server');
const { simpleParser } = packagesOf('third_party')('mailparser');
const { Client } = packagesOf('clients')('@modelcontextprotocol/client');
const { StreamableHTTPClientTransport } = packagesOf('clients')('@modelcontextprotocol/client');

const LIMIT = { timeout: 600_000 };
const ARRIVES_MS = 60_000;
const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;
const MARKER = 'pelican-7f3';
const design = (text) => `<html><head><title>Letter</title></head><body><p>${text}</p></body></html>`;
const address = (name) => `${name}@readers.example`;

/** Until the next time that clocks in UTC show this hour, from a time that is `ahead` of the real one. */
function secondsUntil(hour, ahead = 0) {
  const now = Math.floor(Date.now() / 1000) + ahead;
  return (hour * HOUR_S - (now % DAY_S) + DAY_S) % DAY_S;
}

/** A relay of npm: the mails that it took, in their order. */
async function startRelay() {
  const mails = [];
  const server = new SMTPServer({
    authOptional: true, disableReverseLookup: true, logger: false, hideSTARTTLS: true,
    onData(stream, session, callback) {
      simpleParser(stream).then((mail) => {
        mails.push({ to: session.envelope.rcptTo[0].address, subject: mail.subject, text: mail.text, date: +mail.date });
        callback(null, 'Kept');
      }, callback);
    },
  });
  server.on('error', () => {});
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { mails, url: `smtp://127.0.0.1:${server.server.address().port}`, stop: () => new Promise((resolve) => server.close(resolve)) };
}

describe('a welcome series', LIMIT, () => {
  let relay;
  let installation;
  let clock;
  let server;
  let client;
  let domainId;
  const designs = {};
  const triggers = {};
  let automationId;

  /** Calls a tool that must succeed. */
  async function call(name, args = {}) {
    const result = await client.callTool({ name, arguments: args });
    assert.ok(!result.isError, `${name}: ${JSON.stringify(result.content)}`);
    return result.structuredContent;
  }

  /** Calls a tool that must fail; gives its text. */
  async function refused(name, args) {
    const result = await client.callTool({ name, arguments: args });
    assert.ok(result.isError, `${name}: ${JSON.stringify(result.content)}`);
    return JSON.stringify(result);
  }

  const one = async (statement) => (await sql(installation, statement))[0];
  const mailsTo = (name) => relay.mails.filter(({ to }) => to === address(name));
  /** In the order of the alphabet: messages that leave together arrive in any order. */
  const subjects = (name) => mailsTo(name).map(({ subject }) => subject).sort();
  const arrives = (name, count) => until(`${name} has ${count} mails`, () => mailsTo(name).length >= count, ARRIVES_MS);
  const signUp = (name, more = {}) =>
    call('fire_trigger_event', { triggerEventId: triggers.signUp, payload: { email: address(name), name: `${name} ${MARKER}`, ...more }, idempotencyKey: `sign-up-${name}` });

  const graph = () => ({
    nodes: [
      { id: 'start', type: 'trigger', config: { mode: 'event', triggerEventId: triggers.signUp, reentry: { mode: 'once' } } },
      mail('hello', designs.hello, 'Welcome {{ payload.name }}'),
      { id: 'first', type: 'wait', config: { event: { triggerEventId: triggers.project, timeout: { duration: 3, unit: 'days' } } } },
      mail('praise', designs.praise, 'Your first project'),
      mail('nudge', designs.nudge, 'Need a hand?'),
      { id: 'plan', type: 'filter', config: { logicalOperator: 'AND', conditions: [{ field: 'payload.plan', operator: 'equals', value: 'pro' }] } },
      { id: 'morning', type: 'wait', config: { localTime: '09:00' } },
      mail('offer', designs.offer, 'Upgrade from {{ payload.plan }}'),
      mail('tips', designs.tips, 'Tips for pro'),
    ],
    connections: [
      { from: 'start', to: 'hello' }, { from: 'hello', to: 'first' },
      { from: 'first', to: 'praise', branch: 'event' }, { from: 'first', to: 'nudge', branch: 'timeout' },
      { from: 'praise', to: 'plan' }, { from: 'nudge', to: 'plan' },
      { from: 'plan', to: 'tips', branch: 'true' }, { from: 'plan', to: 'morning', branch: 'false' }, { from: 'morning', to: 'offer' },
    ],
  });

  function mail(id, { emailId, emailVersionId }, subject) {
    return { id, type: 'sendEmail', config: { emailId, emailVersionId, domainId, subject } };
  }

  before(async () => {
    relay = await startRelay();
    installation = new Installation({ RELAY: relay.url });
    clock = installation.movableClock();
    clock.setSeconds(secondsUntil(12)); // the series begins at noon, so its times of day are known
    server = await installation.serve();
    const key = await installation.key('--brand', await installation.brandId());
    await installation.admin('domain', 'create', 'letters.example');
    ({ domainId } = await installation.admin('domain', 'verify', 'letters.example', '--trust'));
    const transport = new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${server.port}/mcp`), { requestInit: { headers: { Authorization: `Bearer ${key}` } } });
    client = new Client({ name: 'welcome', version: '1.0.0' });
    await client.connect(transport);
  });

  after(async () => {
    await client?.close();
    const left = await installation.dispose();
    await relay.stop();
    assert.deepEqual(left, []);
  });

  test('it is built: designs, triggers, and a graph that is checked before it is published', async () => {
    for (const [name, text] of Object.entries({
      hello: 'Hello {{ payload.name }}, you chose {{ payload.plan }}.', praise: 'Well done.', nudge: 'Shall we help?', offer: 'Get more.', tips: 'Five tips.',
    })) {
      const made = await call('import_email', { content: design(text), title: name });
      designs[name] = { emailId: made.emailId, emailVersionId: made.emailVersionId };
    }
    triggers.signUp = (await call('save_trigger', {
      title: 'Signed up',
      payloadSchema: { fields: [{ key: 'email', type: 'string', required: true }, { key: 'name', type: 'string', required: true }, { key: 'plan', type: 'string', required: false, fallbackValue: 'free' }] },
    })).triggerEventId;
    triggers.project = (await call('save_trigger', { title: 'Project made', payloadSchema: { fields: [{ key: 'email', type: 'string', required: true }] } })).triggerEventId;

    const { nodes, connections } = graph();
    const faulty = await call('save_automation', { name: 'Welcome', nodes, connections: connections.slice(1), dryRun: true });
    assert.equal(faulty.valid, false);
    assert.ok(faulty.blockers.some(({ nodeId }) => nodeId === 'hello'), 'a node without a way to it blocks');
    const checked = await call('save_automation', { name: 'Welcome', nodes, connections, dryRun: true });
    assert.deepEqual([checked.valid, checked.blockers], [true, []]);
    ({ automationId } = await call('save_automation', { name: 'Welcome', nodes, connections }));
    const tested = await call('test_automation', { automationId, testRecipient: address('tester'), payload: { email: address('tester'), name: 'Tess', plan: 'pro' } });
    assert.equal(tested.status, 'test_started');
    await arrives('tester', 3);
    assert.deepEqual(subjects('tester'), ['Need a hand?', 'Tips for pro', 'Welcome Tess']);
    assert.match(mailsTo('tester').find(({ subject }) => subject === 'Welcome Tess').text, /Hello Tess, you chose pro\./);
    assert.equal(await one(`select count(*) from contacts`), '0', 'a test saves nobody');
    await call('save_contact', { contacts: ['sim1', 'sim2'].map((name) => ({ email: address(name) })) });
    const { audienceId } = await call('create_audience', { name: 'Simulated', filters: { logic: 'and', filters: [{ field: 'email', operator: 'contains', value: 'sim' }] } });
    const simulated = await installation.admin('automation', 'simulate', automationId, audienceId);
    assert.deepEqual(simulated.runs.map(({ path }) => path.map(({ nodeId }) => nodeId).join(' ')), Array(2).fill('start hello first nudge plan morning offer'));
    assert.match(simulated.runs[0].path.at(-1).from, /T09:00:00\.000Z$/);
    assert.deepEqual(simulated.branches.filter(({ nodeId }) => nodeId === 'first'), [{ nodeId: 'first', branch: 'event', contacts: 0 }, { nodeId: 'first', branch: 'timeout', contacts: 2 }]);
    assert.doesNotMatch(simulated.warnings.join(), /of plan/, 'the payload of a fire decides it');
    assert.match(await refused('fire_trigger_event', { triggerEventId: triggers.signUp, payload: { email: address('ada'), name: 'Ada' } }), /NO_PUBLISHED_AUTOMATION/);
    assert.equal((await call('check_trigger', { triggerEventId: triggers.signUp })).ready, false);
    assert.deepEqual((await call('check_trigger', { triggerEventId: triggers.project, payload: {} })).resolvedPayload, {}, 'an empty payload is shown');
    assert.equal((await call('save_automation', { automationId, published: true })).published, true);
    assert.equal((await call('check_trigger', { triggerEventId: triggers.signUp })).ready, true);
    const read = await call('get_automation', { automationId, include: 'graph' });
    assert.deepEqual(read.nodes.map(({ id }) => id), nodes.map(({ id }) => id));
    assert.match(await refused('fire_trigger_event', { triggerEventId: triggers.signUp, payload: { email: address('ada') } }), /INVALID_PAYLOAD/);
    assert.equal((await call('check_trigger', { triggerEventId: triggers.project })).ready, true, 'an automation waits for it');
  });

  test('a fire greets the person once, with values of its payload', async () => {
    await signUp('ada', { plan: 'pro' });
    await arrives('ada', 1);
    const [mail] = mailsTo('ada');
    assert.equal(mail.subject, `Welcome ada ${MARKER}`);
    assert.match(mail.text, new RegExp(`Hello ada ${MARKER}, you chose pro\\.`));
    await signUp('ada', { plan: 'pro' });
    await signUp('bob');
    await arrives('bob', 1);
    assert.match(mailsTo('bob')[0].text, /you chose free\./, 'the fallback is in the mail');
    assert.deepEqual(subjects('ada'), [`Welcome ada ${MARKER}`], 'the repeated fire starts nothing');
  });

  test('an event takes its branch at once; the others wait three days', async () => {
    await call('fire_trigger_event', { triggerEventId: triggers.project, payload: { email: address('ada') } });
    await arrives('ada', 3);
    assert.deepEqual(subjects('ada'), ['Tips for pro', `Welcome ada ${MARKER}`, 'Your first project']);
    await signUp('cyd', { plan: 'pro' });
    await arrives('cyd', 1);
    clock.advance(3 * DAY_S - HOUR_S);
    await signUp('dan');
    await arrives('dan', 1);
    assert.deepEqual(subjects('bob'), [`Welcome bob ${MARKER}`], 'an hour is left');
    clock.advance(2 * HOUR_S);
    await arrives('bob', 2);
    await arrives('cyd', 3);
    assert.deepEqual(subjects('cyd'), ['Need a hand?', 'Tips for pro', `Welcome cyd ${MARKER}`]);
    const [hello, nudge] = mailsTo('bob');
    assert.equal(nudge.subject, 'Need a hand?');
    assert.ok(nudge.date - hello.date >= 3 * DAY_S * 1000, 'by the simulated time');
    assert.deepEqual(subjects('dan'), [`Welcome dan ${MARKER}`]);
  });

  test('an offer waits until nine in the morning of the brand', async () => {
    const offered = await one(`select count(*) from automation_sends where node_id = 'offer'`);
    clock.advance(secondsUntil(9, clock.seconds) - 600);
    await signUp('eve');
    await arrives('eve', 1);
    assert.deepEqual(mailsTo('bob').length + Number(offered), 2, 'it is not nine');
    clock.advance(1200);
    await arrives('bob', 3);
    const offer = mailsTo('bob')[2];
    assert.equal(offer.subject, 'Upgrade from free');
    assert.equal(new Date(offer.date).getUTCHours(), 9);
  });

  test('nothing of a payload is kept, and the runs have ended', async () => {
    clock.advance(4 * DAY_S);
    await arrives('dan', 2);
    await arrives('eve', 2); // both wait for the morning by then
    clock.advance(DAY_S);
    await arrives('dan', 3);
    await arrives('eve', 3);
    await until('all runs have ended', async () => (await one(`select count(*) from automation_runs where status <> 'completed'`)) === '0', ARRIVES_MS);
    await until('no payload is left', async () => (await one('select count(*) from trigger_payloads')) === '0', ARRIVES_MS);
    assert.deepEqual(relay.mails.length, new Set(relay.mails.map(({ to, subject }) => `${to} ${subject}`)).size, 'no mail came twice');
    assert.ok(!`${server.log.join('\n')}${installation.runnerLog}`.includes(MARKER));
    for (const table of ['events', 'automation_steps', 'automation_runs', 'trigger_instances'])
      assert.equal(await one(`select count(*) from ${table} t where t::text like '%${MARKER}%'`), '0', table);
    const { data: runs } = await call('list_automation_runs', { automationId, recipientEmail: address('bob') });
    assert.equal(runs.length, 1);
    const run = await call('list_automation_runs', { view: 'run', automationRunId: runs[0].automationRunId, include: 'logs' });
    assert.equal(run.status, 'completed');
    assert.deepEqual(run.logs.map(({ nodeId }) => nodeId), ['start', 'hello', 'first', 'nudge', 'plan', 'morning', 'offer']);
    const why = await installation.run('why', address('bob'));
    assert.equal(why.code, 0, why.stderr);
    assert.ok(!why.stdout.includes(MARKER));
  });

  test('a publication warns of a branch that nobody who fired would take', async () => {
    const { nodes, connections } = graph();
    nodes.push({ id: 'partner', label: 'From a partner', type: 'filter', config: { logicalOperator: 'AND', conditions: [{ field: 'contact.source', operator: 'equals', value: 'partner' }] } });
    connections[0].to = 'partner';
    connections.push({ from: 'partner', to: 'hello', branch: 'true' }, { from: 'partner', to: 'hello', branch: 'false' });
    const changed = await call('save_automation', { automationId, nodes, connections, published: true });
    assert.equal(changed.published, true);
    assert.deepEqual(changed.warnings.filter(({ branch }) => branch !== undefined).map(({ nodeId, branch }) => [nodeId, branch]), [['partner', 'true']]);
    assert.match(JSON.stringify(changed.warnings), /None of 5 contacts with recent events of the trigger takes the branch true/);
  });
});
