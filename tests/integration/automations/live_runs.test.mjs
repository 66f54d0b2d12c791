// Random automations with random payloads and reactions of recipients, on a moved clock, with a server that is killed again and again.
// The path of every run, its branches and its mails equal those of an interpreter that knows nothing of SQL; no payload is left.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { SqlSession, databaseUrl } from '../../lib/database.mjs';
import { BINARY, installationFor } from '../../lib/installation.mjs';
import { packagesOf } from '../../lib/packages.mjs';
import { pause, until } from '../../lib/processes.mjs';
import { Random } from '../../lib/random.mjs';
import { interpret } from './interpreter.mjs';
import { randomEngagement, randomGraph, randomPayload } from './random_graphs.mjs';

const { simpleParser } = packagesOf('third_party')('mailparser');

const SEED = Number(process.env.AUTOMATION_SEED ?? 1);
const GRAPHS = Number(process.env.AUTOMATION_GRAPHS ?? 25);
const CONTACTS = 3; // of each graph
const KILL_EVERY = 5; // points in time
const KILL_WITHIN_MS = 1200; // a stepper looks once a second
const WAIT_MS = 60_000;
const HOLD_S = 30; // longer than a hit is held before it is judged
/** The service is later than the interpreter by the time that a point takes. Times of different points are hours apart. */
const LATE_S = 45;
const MARKER = 'zq7-marker-of-a-payload';
const DESIGN = `<html><body><p>Plan {{ payload.plan | default: 'none' }}: {{ payload.order.note }}</p><p><a href="https://shop.example/a">A</a></p></body></html>`;
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const FIELDS = [
  { key: 'email', type: 'string', required: true }, { key: 'plan', type: 'string', required: false },
  { key: 'trial', type: 'boolean', required: false }, { key: 'coupon', type: 'string', required: false },
  { key: 'order', type: 'object', required: true, children: [{ key: 'total', type: 'int', required: true }, { key: 'note', type: 'string', required: true }] },
];

class Service {
  constructor(t) {
    this.installation = installationFor(t, { PUBLIC_URL: 'http://127.0.0.1:1' });
    this.clock = this.installation.movableClock();
    this.mails = new Map(); // "address subject" → message
    this.read = new Set();
  }

  async start() {
    this.server = await this.installation.serve();
    this.key ??= await this.installation.key('--brand', await this.installation.brandId());
    this.rest = this.server.client(this.key);
    this.database = await SqlSession.open(this.installation);
  }

  /** Everything is killed; the next start finds what they left. */
  async killAndStart() {
    this.rest.close();
    await this.database.close();
    await this.server.kill();
    for (const { pid, command } of this.installation.processes()) if (!command.includes('psql')) try { process.kill(pid, 'SIGKILL'); } catch { /* it has ended */ }
    await until('everything has ended', () => this.installation.processes().length === 0, WAIT_MS);
    await this.start();
  }

  async must(method, path, body) {
    const answer = await this.rest.request(method, path, body);
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async count(from) {
    return Number(await this.database.value(`select count(*) from ${from}`));
  }

  /** The moved time, which the database does not have. */
  get now() {
    return `timestamptz '${new Date(Date.now() + 1000 * this.clock.seconds).toISOString()}'`;
  }

  /** Nothing is due: no step, no message, no judgement. */
  async settled() {
    await until('nothing is due', async () =>
      (await this.count(`automation_runs where status in ('queued', 'running') and due_at <= ${this.now}`)) === 0 &&
      (await this.count('automation_sends m where not exists (select 1 from send_results r where r.brand_id = m.brand_id and r.send_id = m.carrier_id and r.ordinal = m.ordinal)')) === 0 &&
      (await this.count(`hits where actor is null and occurred_at < ${this.now} - interval '${HOLD_S - 5} s'`)) === 0, WAIT_MS);
  }

  async readMails() {
    for (const name of this.installation.outbox()) {
      if (this.read.has(name)) continue;
      this.read.add(name);
      const mail = await simpleParser(this.installation.readMessage(name));
      const id = `${mail.to.value[0].address} ${mail.subject}`;
      assert.ok(!this.mails.has(id), `${id} arrived twice`);
      this.mails.set(id, mail);
    }
  }

  /** A person opens a message or follows its link. */
  async react(mail, type) {
    assert.ok(mail, `no message to be ${type}`);
    const url = type === 'opened' ? /<img src="([^"]*\/o\/[^"]*)"/.exec(mail.html)[1] : /href="([^"]*\/c\/[^"]*)"/.exec(mail.html)[1];
    const answer = await fetch(`http://127.0.0.1:${this.server.port}${new URL(url).pathname}`, { headers: { 'user-agent': BROWSER }, redirect: 'manual' });
    assert.ok([200, 302].includes(answer.status), `${url}: ${answer.status}`);
    await answer.arrayBuffer();
  }
}

/** Makes, publishes and fires one automation: what to expect of its runs. */
async function launch(service, random, index, design, domainId) {
  const trigger = await service.must('POST', '/v1/automations/triggers', { title: `Order ${index}`, payloadSchema: { fields: FIELDS } });
  const mail = (nodeId) => ({ ...design, domainId, subject: `g${index} ${nodeId}` });
  const graph = randomGraph(random, trigger.triggerEventId, mail);
  const automation = await service.must('POST', '/v1/automations', { name: `Random ${index}`, ...graph });
  await service.must('PATCH', `/v1/automations/${automation.automationId}`, { published: true });
  const runs = [];
  for (let i = 0; i < CONTACTS; i++) {
    const email = `g${index}c${i}@readers.example`;
    const firstName = random.pick(['Ada', 'Bob', 'Cyd']);
    await service.must('POST', '/v1/contacts', { email, firstName });
    const payload = randomPayload(random, email, MARKER);
    const fired = await service.must('POST', `/v1/automations/triggers/${trigger.triggerEventId}/fire`, { payload });
    assert.equal(fired.automationRunIds.length, 1, JSON.stringify(fired));
    runs.push({
      index, graph, email, runId: fired.automationRunIds[0], payload, engagement: randomEngagement(random, graph),
      contact: { email, firstName, customFields: { plan: payload.plan, trial: payload.trial, coupon: payload.coupon } },
    });
  }
  return runs;
}

/** The branch that a split by share takes is the product's own: it is read when the interpreter asks, once the run has been there. */
async function expectationOf(service, run) {
  const steps = await service.database.rows(
    `select s.node_id || '|' || coalesce(s.branch, '') from automation_steps s join automation_runs r on r.brand_id = s.brand_id and r.id = s.run_id
      where r.email = '${run.email}' order by s.visit`);
  const branches = new Map(steps.map((row) => row.split('|')));
  let isOpen = false;
  const splits = (nodeId) => {
    isOpen ||= !branches.has(nodeId);
    return branches.get(nodeId) ?? 'left';
  };
  return { ...interpret(run.graph, { ...run, splits }), isOpen, steps };
}

/** Decides each run again from its recorded steps alone. */
async function replay(service) {
  const rows = await service.database.rows(`select json_build_object('email', r.email, 'nodes', v.nodes, 'connections', v.connections,
      'steps', (select json_agg(json_build_object('nodeId', s.node_id, 'branch', s.branch, 'facts', s.facts) order by s.visit)
                  from automation_steps s where s.brand_id = r.brand_id and s.run_id = r.id))
    from automation_runs r join automation_versions v on v.brand_id = r.brand_id and v.id = r.version_id order by r.id`);
  const { stdout } = spawnSync(join(dirname(BINARY), 'replay_driver'), { input: `${rows.join('\n')}\n`, encoding: 'utf8', maxBuffer: 1 << 28 });
  const answers = stdout.trim().split('\n').map((line) => JSON.parse(line));
  assert.equal(answers.length, rows.length);
  for (const [i, row] of rows.entries()) {
    const { email, steps } = JSON.parse(row);
    assert.deepEqual(answers[i], { path: steps.map(({ nodeId, branch }) => `${nodeId}|${branch ?? ''}`) }, `the replay of ${email}`);
  }
}

/** The next time at which something happens to a run, after `at`. */
function nextTimes(run, expected, at) {
  const times = expected.path.map((entry) => entry.at);
  for (const sent of expected.mails) for (const { afterS } of run.engagement[sent.nodeId]) times.push(sent.at + afterS);
  return times.filter((time) => time > at && time < Infinity);
}

test(`${GRAPHS} random automations do what an interpreter says (seed ${SEED})`, { timeout: 1_800_000 }, async (t) => {
  const random = new Random(SEED);
  const service = new Service(t);
  await service.start();
  const { emailId } = await service.must('POST', '/v1/emails/import', { content: DESIGN, title: 'Letter' });
  const { emailVersionId } = await service.must('GET', `/v1/emails/${emailId}`);
  const domainId = (await service.must('GET', '/v1/domains')).data[0].domainId;
  const runs = [];
  for (let index = 0; index < GRAPHS; index++) runs.push(...await launch(service, random, index, { emailId, emailVersionId }, domainId));

  for (let at = 0, points = 1; ; points++) {
    await service.settled();
    await service.readMails();
    const expected = await Promise.all(runs.map((run) => expectationOf(service, run)));
    let hasReacted = false;
    for (const [i, run] of runs.entries())
      for (const sent of expected[i].mails)
        for (const { type, afterS } of run.engagement[sent.nodeId])
          if (sent.at + afterS === at) {
            const mail = service.mails.get(`${run.email} g${run.index} ${sent.nodeId}`);
            assert.ok(mail, `${run.email} has no mail of ${sent.nodeId} at ${at}: ${JSON.stringify({ ...expected[i], graph: run.graph })}`);
            await service.react(mail, type);
            hasReacted = true;
          }
    if (hasReacted) {
      service.clock.advance(HOLD_S);
      await service.settled();
    }
    const times = runs.flatMap((run, i) => nextTimes(run, expected[i], at));
    if (times.length === 0) break;
    const next = Math.min(...times);
    service.clock.advance(next - at + LATE_S);
    at = next;
    if (points % KILL_EVERY === 0) {
      await pause(random.below(KILL_WITHIN_MS)); // in the middle of the steps and messages that are due now
      await service.killAndStart();
    }
  }

  await service.readMails();
  let mailCount = 0;
  for (const run of runs) {
    const expected = await expectationOf(service, run);
    assert.deepEqual(expected.steps, expected.path.map(({ nodeId, branch }) => `${nodeId}|${branch ?? ''}`), `the path of ${run.email}`);
    for (const { nodeId } of expected.mails) {
      const mail = service.mails.get(`${run.email} g${run.index} ${nodeId}`);
      assert.ok(mail, `${run.email} has no mail of ${nodeId}`);
      assert.ok(mail.text.includes(`Plan ${run.payload.plan ?? 'none'}: ${MARKER}`), mail.text);
    }
    mailCount += expected.mails.length;
    const read = await service.must('GET', `/v1/automations/runs/${run.runId}?include=logs`);
    assert.equal(read.status, 'completed');
    assert.deepEqual(read.logs.map(({ nodeId }) => nodeId), expected.path.map(({ nodeId }) => nodeId));
  }
  await replay(service);
  assert.equal(service.mails.size, mailCount, 'no other mail');
  assert.equal(await service.count('trigger_payloads'), 0, 'no payload is left');
  const dump = execFileSync('pg_dump', ['--data-only', await databaseUrl(service.installation)], { maxBuffer: 1 << 28, encoding: 'utf8' });
  assert.ok(!dump.includes(MARKER), 'no row has a value of a payload');
  const logs = [service.installation.runnerLog, ...service.server.log, ...readdirSync(service.installation.data).filter((name) => name.endsWith('.log')).map((name) => readFileSync(join(service.installation.data, name), 'utf8'))];
  assert.ok(!logs.some((log) => log.includes(MARKER)), 'no log has a value of a payload');
  service.rest.close();
  await service.database.close();
});
