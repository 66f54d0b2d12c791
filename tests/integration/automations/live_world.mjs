// Plays cases of random_graphs.mjs on a real installation with a moved clock, and kills everything now and then. It gives for each case
// how the service differs from the interpreter.
//
// At each point in time on which something happens, all runs that are due are stepped first; then events are fired and recipients act.
// So a step is later than the interpreter's by the time that the points before took, and never earlier.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { SqlSession } from '../../lib/database.mjs';
import { BINARY, installationFor } from '../../lib/installation.mjs';
import { packagesOf } from '../../lib/packages.mjs';
import { pause, until } from '../../lib/processes.mjs';
import { HOUR_US, firesOf, isShare, runsOf } from './random_graphs.mjs';

const { simpleParser } = packagesOf('third_party')('mailparser');

export const MARKER = 'zq7-marker-of-a-payload';
const WAIT_MS = 60_000;
const WAKE_EVERY_MS = 200;
const HOLD_S = 30; // longer than a hit is held before it is judged
const SLACK_S = 25 * 60; // by which a step may be late; points are at least half an hour apart
const SETUP_S = 3 * 3600;
const DAY_US = 24 * HOUR_US;
const DESIGN = `<html><body><p>Plan {{ payload.plan | default: 'none' }}: {{ payload.order.note }}</p><p><a href="https://shop.example/a">A</a></p></body></html>`;
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const field = (key, type, children) => ({ key, type, required: false, ...(children && { children }) });
const FIELDS = [
  { key: 'email', type: 'string', required: true }, field('plan', 'string'), field('trial', 'boolean'), field('coupon', 'string'), field('at', 'string'),
  { key: 'order', type: 'object', required: true, children: [{ key: 'total', type: 'int', required: true }, { key: 'note', type: 'string', required: true }] },
];

const stepText = ({ nodeId, status, branch }) => `${nodeId} ${status} ${branch}`.trim();

class Service {
  constructor(t, baseUs) {
    this.installation = installationFor(t, { PUBLIC_URL: 'http://127.0.0.1:1' });
    this.clock = this.installation.movableClock();
    this.clock.setSeconds(Math.round(baseUs / 1e6 - Date.now() / 1000) - SETUP_S);
    this.mails = new Map(); // "address, subject, number of the fire" → messages in the order of their arrival
    this.read = new Set();
    this.hitCount = 0;
  }

  async start() {
    this.server = await this.installation.serve();
    this.key ??= await this.installation.key('--brand', await this.installation.brandId());
    this.rest = this.server.client(this.key);
    this.database = await SqlSession.open(this.installation);
  }

  async stop() {
    this.rest.close();
    await this.database.close();
  }

  /** Everything is killed; the next start finds what they left. */
  async killAndStart() {
    await this.stop();
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

  // ---- Time ----

  /** The moved time in microseconds, which the database does not have. */
  get nowUs() {
    return 1000 * Date.now() + 1e6 * this.clock.seconds;
  }

  moveTo(us) {
    const seconds = Math.ceil((us - this.nowUs) / 1e6);
    if (seconds > 0) this.clock.advance(seconds);
  }

  /** A moved clock wakes nobody. */
  async #wakeWorkers() {
    if (Date.now() < this.wokenMs + WAKE_EVERY_MS && this.clock.seconds === this.wokenAtS) return;
    this.wokenMs = Date.now();
    this.wokenAtS = this.clock.seconds;
    await this.database.rows("select pg_notify('posthorn_step', ''), pg_notify('posthorn_work', '')");
  }

  /** Waits until no step, no message and no judgement is due. Gives the time of the next step up to `endUs`. */
  async #idle(endUs) {
    let next;
    await until('nothing is due', async () => {
      await this.#wakeWorkers();
      const at = (us) => `timestamptz '${new Date(us / 1000).toISOString()}'`;
      const row = await this.database.value(`select
        (select count(*) from automation_runs where status in ('queued', 'running') and due_at <= ${at(this.nowUs)}),
        (select count(*) from automation_sends m
          where not exists (select 1 from send_results r where r.brand_id = m.brand_id and r.send_id = m.carrier_id and r.ordinal = m.ordinal)),
        (select count(*) from hits where actor is null and occurred_at < ${at(this.nowUs - (HOLD_S - 5) * 1e6)}),
        (select count(*) from jobs where kind = 'judge_hits' and (state = 'running' or (state = 'queued' and run_after <= ${at(this.nowUs)}))),
        (select greatest(0, ${this.hitCount} - count(*)) from hits),
        (select coalesce(ceil(extract(epoch from min(due_at)) * 1e6), 0)::bigint from automation_runs where status = 'running' and due_at <= ${at(endUs)})`);
      const counts = row.split('|').map(Number);
      next = counts.pop();
      return counts.every((count) => count === 0);
    }, WAIT_MS);
    return next;
  }

  /** Lets everything happen that is due at a point, however late it is. */
  async settle(pointUs) {
    for (let due; (due = await this.#idle(pointUs + SLACK_S * 1e6)) > 0;) this.moveTo(due);
    await this.#readMails();
  }

  // ---- Mail ----

  async #readMails() {
    for (const name of this.installation.outbox()) {
      if (this.read.has(name)) continue;
      this.read.add(name);
      const mail = await simpleParser(this.installation.readMessage(name));
      const key = `${mail.to.value[0].address} ${mail.subject} ${new RegExp(`${MARKER} (\\d+)`).exec(mail.text)?.[1]}`;
      this.mails.set(key, [...(this.mails.get(key) ?? []), mail]);
    }
  }

  /** A person opens a message or follows its link. */
  async react(mail, type) {
    const url = type === 'opened' ? /<img src="([^"]*\/o\/[^"]*)"/.exec(mail.html)[1] : /href="([^"]*\/c\/[^"]*)"/.exec(mail.html)[1];
    // A service that is too busy to record a hit asks to come again.
    await until('the hit is taken', async () => {
      const answer = await fetch(`http://127.0.0.1:${this.server.port}${new URL(url).pathname}`, { headers: { 'user-agent': BROWSER }, redirect: 'manual' });
      await answer.arrayBuffer();
      assert.ok([200, 302, 503].includes(answer.status), `${url}: ${answer.status}`);
      return answer.status !== 503;
    });
    this.hitCount++;
  }
}

/** One case on a service: its automation, its contacts and their runs. `faults` are what differs. */
class PlayedCase {
  faults = [];
  isRefused = false; // the service does not publish the graph

  constructor(service, drawn, label, baseUs, zone) {
    Object.assign(this, { service, drawn, label, baseUs });
    this.contacts = drawn.contacts.map((contact, i) => ({
      contact, address: `${label}c${i}@readers.example`, fires: firesOf(drawn, contact, baseUs), runs: runsOf(drawn, contact, baseUs, zone),
    }));
    for (const { address, fires, runs } of this.contacts) for (const run of runs) Object.assign(run, { address, number: fires.findIndex(({ hour }) => hour === run.fire.hour), key: `${address} ${runs.indexOf(run)}`, branches: new Map(), isOpen: true });
    this.runs = this.contacts.flatMap(({ runs }) => runs);
  }

  async publish(design) {
    const { service, label } = this;
    this.triggers = {};
    for (const name of ['own', 'other'])
      this.triggers[name] = (await service.must('POST', '/v1/automations/triggers', { title: `${label} ${name}`, payloadSchema: { fields: FIELDS } })).triggerEventId;
    const nodes = structuredClone(this.drawn.graph.nodes);
    for (const node of nodes) {
      if (node.type === 'sendEmail') node.config = { ...design, subject: `${label} ${node.id}` };
      for (const named of [node.config, node.config.event]) if (named?.triggerEventId) named.triggerEventId = this.triggers[named.triggerEventId];
    }
    const made = await service.rest.request('POST', '/v1/automations', { name: label, nodes, connections: this.drawn.graph.connections });
    this.automationId = made.body.automationId;
    const published = made.status < 300 ? await service.rest.request('PATCH', `/v1/automations/${this.automationId}`, { published: true }) : made;
    this.isRefused = published.status >= 300;
    if (this.isRefused) this.faults.push(`the graph is refused: ${JSON.stringify(published.body)}`);
    else for (const { address, contact } of this.contacts) await service.must('POST', '/v1/contacts', { email: address, firstName: contact.firstName, subscribed: contact.isMailable });
  }

  async end() {
    if (this.automationId && !this.isRefused) await this.service.must('PATCH', `/v1/automations/${this.automationId}`, { published: false, stopInFlight: true });
  }

  // ---- The interpreter ----

  /** The branch that a split by share takes is the product's own: it is read when the interpreter asks, once the run has been there. */
  expect() {
    for (const run of this.runs) {
      if (!run.isOpen) continue;
      run.isOpen = false;
      const shares = new Set(this.drawn.graph.nodes.filter(isShare).map(({ id }) => id));
      run.expected = run.interpret((id) => {
        if (!shares.has(id)) return undefined;
        run.isOpen ||= !run.branches.has(id);
        return run.branches.get(id) ?? 'left';
      });
    }
  }

  *hits() {
    for (const run of this.runs)
      for (const sent of run.expected.mails)
        if (sent.isSent) for (const hit of sent.hits) yield { run, sent, ...hit };
  }

  nextTime(afterUs) {
    const times = [...this.runs.flatMap(({ expected }) => expected.path.map(({ at }) => at)), ...this.contacts.flatMap(({ fires }) => fires.map(({ at }) => at)), ...[...this.hits()].map(({ at }) => at)];
    return Math.min(...times.filter((at) => at > afterUs));
  }

  // ---- What the world does ----

  async fire(atUs) {
    for (const { address, fires, runs } of this.contacts)
      for (const [number, fire] of fires.entries()) {
        if (fire.at !== atUs) continue;
        const payload = { ...fire.payload, email: address, order: { ...fire.payload.order, note: `${MARKER} ${number}` } };
        const answer = await this.service.rest.request('POST', `/v1/automations/triggers/${this.triggers[fire.trigger]}/fire`, { payload });
        const ids = answer.body.automationRunIds;
        const run = runs.find((one) => one.number === number);
        if (ids?.length !== (run ? 1 : 0)) this.faults.push(`fire ${number} of ${address} starts ${JSON.stringify(ids ?? answer.body)}, not ${run ? 'a run' : 'none'}`);
        else if (run) run.id = ids[0];
      }
  }

  mailsOf(run, nodeId) {
    return this.service.mails.get(`${run.address} ${this.label} ${nodeId} ${run.number}`) ?? [];
  }

  async act(atUs) {
    let hasActed = false;
    for (const { run, sent, at, type } of this.hits()) {
      if (at !== atUs) continue;
      const mail = this.mailsOf(run, sent.nodeId)[run.expected.mails.filter(({ nodeId }) => nodeId === sent.nodeId).indexOf(sent)];
      if (mail === undefined) {
        this.faults.push(`${run.address} has no message of ${sent.nodeId} to be ${type}`);
        continue;
      }
      await this.service.react(mail, type);
      hasActed = true;
    }
    return hasActed;
  }

  // ---- The comparison ----

  #compareSteps(run, steps) {
    const expected = run.expected.path.map(stepText);
    const actual = steps.map(stepText);
    if (expected.join() !== actual.join()) {
      this.faults.push(`fire ${run.number} of ${run.address}: the path is ${actual.join(', ')}, not ${expected.join(', ')}`);
      return;
    }
    for (const [i, { nodeId, enteredAt, at }] of run.expected.path.entries())
      for (const [what, late] of [['reaches', steps[i].enteredAt - enteredAt], ['leaves', steps[i].at - at]])
        if (!(late >= -1e6 && late < SLACK_S * 1e6)) this.faults.push(`fire ${run.number} of ${run.address} ${what} ${nodeId} ${late / 60e6} minutes late`);
  }

  async compare(stepsOf) {
    if (this.isRefused) return;
    for (const run of this.runs) {
      if (run.id === undefined) continue;
      this.#compareSteps(run, stepsOf.get(run.key) ?? []);
      const read = await this.service.must('GET', `/v1/automations/runs/${run.id}?include=logs`);
      if (read.status !== run.expected.status) this.faults.push(`fire ${run.number} of ${run.address} is ${read.status}, not ${run.expected.status}`);
      const shown = read.logs.map(({ nodeId }) => nodeId).join();
      if (shown !== run.expected.path.map(({ nodeId }) => nodeId).join()) this.faults.push(`fire ${run.number} of ${run.address} shows ${shown}`);
      this.#compareMails(run);
    }
  }

  #compareMails(run) {
    for (const { id } of this.drawn.graph.nodes.filter(({ type }) => type === 'sendEmail')) {
      const expected = run.expected.mails.filter(({ nodeId, isSent }) => nodeId === id && isSent).length;
      const mails = this.mailsOf(run, id);
      if (mails.length !== expected) this.faults.push(`fire ${run.number} of ${run.address} has ${mails.length} messages of ${id}, not ${expected}`);
      for (const { text } of mails) if (!text.includes(`Plan ${run.fire.payload.plan ?? 'none'}: ${MARKER}`)) this.faults.push(`a message of ${id}: ${text}`);
    }
  }
}

export class LiveWorld {
  #plays = 0;

  constructor(t, base) {
    this.service = new Service(t, Date.parse(base) * 1000);
  }

  async start() {
    const { service } = this;
    await service.start();
    const { emailId } = await service.must('POST', '/v1/emails/import', { content: DESIGN, title: 'Letter' });
    const { emailVersionId } = await service.must('GET', `/v1/emails/${emailId}`);
    const [{ domainId }] = (await service.must('GET', '/v1/domains')).data;
    this.design = { emailId, emailVersionId, domainId };
  }

  /** The base of the world, or the same hour of a later day: the clock does not go back. */
  #baseUs(base) {
    const wanted = Date.parse(base) * 1000;
    return wanted + Math.max(0, Math.ceil((this.service.nowUs + SETUP_S * 1e6 / 2 - wanted) / (7 * DAY_US))) * 7 * DAY_US;
  }

  /** Plays all cases side by side: [{faults, isRefused}]. */
  async play({ base, zone, kills, cases }) {
    const { service } = this;
    const play = ++this.#plays;
    const baseUs = this.#baseUs(base);
    await service.database.rows(`update brands set time_zone = '${zone}'`);
    const played = cases.map((drawn, i) => new PlayedCase(service, drawn, `p${play}g${i}`, baseUs, zone));
    for (const one of played) await one.publish(this.design);
    const accepted = played.filter(({ isRefused }) => !isRefused);
    assert.ok(service.nowUs < baseUs, 'the cases were made in time');
    await this.#run(accepted, baseUs, kills);
    const steps = await this.#steps();
    for (const one of accepted) await one.compare(steps);
    if (accepted.every(({ faults }) => faults.length === 0)) await this.#checkTraces(accepted);
    for (const one of played) await one.end();
    return played.map(({ faults, isRefused, runs }) => ({ faults, isRefused, runs: runs.length }));
  }

  async #run(played, baseUs, kills) {
    const { service } = this;
    for (let at = baseUs, point = 0; at < Infinity; point++) {
      service.moveTo(at);
      for (const { ms } of kills.filter((kill) => kill.point === point)) {
        await pause(ms); // in the middle of the steps and messages that are due now
        await service.killAndStart();
      }
      await service.settle(at);
      await this.#readShares(played);
      for (const one of played) await one.fire(at);
      let hasActed = false;
      for (const one of played) hasActed = (await one.act(at)) || hasActed;
      if (hasActed) service.moveTo(service.nowUs + HOLD_S * 1e6);
      await service.settle(at);
      await this.#readShares(played);
      at = Math.min(...played.map((one) => one.nextTime(at)));
    }
  }

  /** The steps of the runs of each address in the order of their starts: {"address number": [step]}. */
  async #steps(where = 'true') {
    const us = (column) => `floor(extract(epoch from ${column}) * 1e6)::bigint`;
    const rows = await this.service.database.rows(`select r.email || ' ' || r.place, s.node_id, s.status, coalesce(s.branch, ''), ${us('s.started_at')}, ${us('s.completed_at')}
      from (select *, row_number() over (partition by email_key order by id) - 1 as place from automation_runs) r
      join automation_steps s on s.brand_id = r.brand_id and s.run_id = r.id where ${where} order by r.id, s.visit`);
    const steps = new Map();
    for (const row of rows) {
      const [key, nodeId, status, branch, enteredAt, at] = row.split('|');
      if (!steps.has(key)) steps.set(key, []);
      steps.get(key).push({ nodeId, status, branch, enteredAt: Number(enteredAt), at: Number(at) });
    }
    return steps;
  }

  async #readShares(played) {
    const waiting = played.flatMap(({ runs }) => runs).filter(({ isOpen, expected }) => isOpen && expected !== undefined);
    const steps = waiting.length > 0 ? await this.#steps("s.node_type = 'split' and s.status = 'completed'") : new Map();
    for (const run of waiting) for (const { nodeId, branch } of steps.get(run.key) ?? []) run.branches.set(nodeId, branch);
    for (const one of played) one.expect();
  }

  /** Decides each run again from its recorded steps alone; only what was decided is compared. */
  async #replay() {
    const rows = await this.service.database.rows(`select json_build_object('email', r.email, 'nodes', v.nodes, 'connections', v.connections,
        'steps', (select coalesce(json_agg(json_build_object('nodeId', s.node_id, 'branch', s.branch, 'facts', s.facts) order by s.visit), '[]')
                    from automation_steps s where s.brand_id = r.brand_id and s.run_id = r.id and s.status = 'completed'))
      from automation_runs r join automation_versions v on v.brand_id = r.brand_id and v.id = r.version_id where r.email like 'p${this.#plays}g%' order by r.id`);
    const { stdout } = spawnSync(join(dirname(BINARY), 'replay_driver'), { input: `${rows.join('\n')}\n`, encoding: 'utf8', maxBuffer: 1 << 28 });
    const answers = stdout.trim().split('\n').map((line) => JSON.parse(line));
    assert.equal(answers.length, rows.length);
    for (const [i, row] of rows.entries()) {
      const { email, steps } = JSON.parse(row);
      assert.deepEqual(answers[i], { path: steps.map(({ nodeId, branch }) => `${nodeId}|${branch ?? ''}`) }, `the replay of ${email}`);
    }
  }

  /** What no single run shows. */
  async #checkTraces(played) {
    const expected = played.flatMap(({ runs }) => runs).reduce((sum, { expected: { mails } }) => sum + mails.filter(({ isSent }) => isSent).length, 0);
    const arrived = [...this.service.mails].filter(([key]) => key.startsWith(`p${this.#plays}g`)).reduce((sum, [, mails]) => sum + mails.length, 0);
    assert.equal(arrived, expected, 'no other message');
    assert.equal(await this.service.count('trigger_payloads'), 0, 'no payload is left');
    await this.#replay();
  }
}
