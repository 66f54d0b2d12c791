// Automations under faults that are no kills: the master key is lost or replaced while runs wait, the disk of the database is full
// while they are stepped, fires come in storms, and payloads are as large as they may be. Each run mails once, with its own payload,
// and no payload is left in the end.

import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, renameSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { link, mailNode, waitNode } from '../lib/automation_fixture.mjs';
import { stateOf } from '../lib/automation_state.mjs';
import { pause, peakKib, until } from '../lib/processes.mjs';
import { mountSmall } from './disks.mjs';
import { Mailing, addressesOf } from './mailing.mjs';

const ENDS_MS = 60_000;
const DAY_S = 86_400;
const AGAIN_S = 16 * 60; // a run without its payload waits for 15 minutes
const AT_ONCE = 12;
const RUNNER_MAX_KIB = 192 * 1024;
const LETTER = `<!doctype html><html><head><title>Letter</title></head><body><p>Your code is ({{ payload.code }}).</p></body></html>`;
const FIELDS = [{ key: 'email', type: 'string', required: true }, { key: 'code', type: 'string', required: true }];

/** An installation with a server and, for each title, a trigger whose automation mails a letter behind `nodes`. */
class Fired {
  static async prepare({ recipients, start, options }) {
    const fired = new Fired();
    fired.mailing = await Mailing.prepare({ addresses: addressesOf(recipients), isSandbox: true, options, start });
    fired.mailing.letter = LETTER;
    const { installation } = fired.mailing;
    const server = await installation.serve();
    fired.client = server.client(await installation.key('--brand', await installation.brandId()), {}, AT_ONCE);
    return fired;
  }

  async api(method, path, body, headers) {
    const answer = await this.client.request(method, path, body, headers);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async trigger(title, { reentry, nodes = [] } = {}) {
    const { triggerEventId } = await this.api('POST', '/v1/automations/triggers', { title, payloadSchema: { type: 'object', fields: FIELDS } });
    const all = [{ id: 'start', type: 'trigger', config: { mode: 'event', triggerEventId, ...(reentry && { reentry }) } }, ...nodes, await mailNode(this.mailing, 'letter')];
    const connections = all.slice(1).map(({ id }, index) => link(all[index].id, id, all[index].type === 'filter' ? 'true' : undefined));
    const { automationId } = await this.api('POST', '/v1/automations', { name: title, nodes: all, connections });
    await this.api('PATCH', `/v1/automations/${automationId}`, { published: true });
    return triggerEventId;
  }

  fire(trigger, payload, headers) {
    return this.client.request('POST', `/v1/automations/triggers/${trigger}/fire`, { payload }, headers);
  }

  fireAll(trigger, addresses) {
    return Promise.all(addresses.map((email) => this.fire(trigger, { email, code: `code of ${email}` })));
  }

  holds(what, condition) {
    const isTrue = async () => (await this.mailing.sql(`select ${condition}`).catch(() => '')) === 't';
    return until(what, isTrue, ENDS_MS).catch(async (problem) => { throw new Error(`${problem.message}\n${await stateOf(this.mailing)}`); });
  }

  async ended() {
    await this.holds('all runs have ended', "count(*) = 0 from automation_runs where status = 'running'");
    await this.holds('all messages have a result', '(select count(*) from automation_sends) = (select count(*) from send_results)');
  }

  /** `expected`: the messages of each address. */
  async figures(disturbance, expected, breaches = []) {
    const { mailing } = this;
    const copies = new Map();
    let broken = 0;
    for (const name of mailing.installation.outbox()) {
      const text = mailing.installation.readMessage(name).replaceAll('=\r\n', '');
      const recipient = /^To: .*?([^\s<>]+@[^\s<>]+?)>?\r$/m.exec(text)?.[1];
      copies.set(recipient, (copies.get(recipient) ?? 0) + 1);
      broken += text.includes(`(code of ${recipient})`) ? 0 : 1;
    }
    const missing = [...expected].filter(([address, count]) => (copies.get(address) ?? 0) < count).length;
    const duplicates = [...copies].filter(([address, count]) => count > (expected.get(address) ?? 0)).length;
    if (missing > 0) breaches.push(`${missing} addresses miss mail`);
    if (duplicates > 0) breaches.push(`${duplicates} addresses have too much mail`);
    if (broken > 0) breaches.push(`${broken} messages do not have the value of their payload`);
    for (const [what, statement] of [
      ['payloads are left', 'select count(*) from trigger_payloads'],
      ['runs have not completed', "select count(*) from automation_runs where status <> 'completed'"],
      ['visits are not complete', "select count(*) from automation_steps where status <> 'completed'"],
      ['runs have visits that are missing', 'select count(*) from (select run_id from automation_steps group by 1 having count(*) <> max(visit)) as s'],
      ['runs are suspect', 'select count(*) from step_crashes'],
    ]) {
      const found = await mailing.sql(statement);
      if (found !== '0') breaches.push(`${found} ${what}`);
    }
    return { recipients: expected.size, recorded: copies.size, missing, duplicates, bound: 0, uncertain: 0, held: 0, unseen: 0, breaches, disturbance };
  }
}

const onceEach = (addresses) => new Map(addresses.map((address) => [address, 1]));

// ---- The master key ----

const filterNode = { id: 'known', type: 'filter', config: { logicalOperator: 'AND', conditions: [{ field: 'payload.code', operator: 'exists' }] } };

export async function keyLost({ recipients, log }) {
  let clock;
  const fired = await Fired.prepare({ recipients, start: async (installation) => { clock = installation.movableClock(); } });
  const { mailing } = fired;
  const path = join(mailing.installation.data, 'master.key');
  const breaches = [];
  const trigger = await fired.trigger('Signed up', { nodes: [waitNode('pause', 1, 'days'), filterNode] });
  await fired.fireAll(trigger, mailing.addresses);
  await fired.holds('all runs wait', `count(*) = ${recipients} from automation_runs where node_id = 'pause'`);
  const advance = async (seconds) => {
    clock.advance(seconds);
    await mailing.sql("select pg_notify('posthorn_step', '1')");
  };
  const latest = () => mailing.sql('select max(due_at) from automation_runs');
  /** The runs are put off at their node, with the reason in the visit. */
  const waits = (what, after) => fired.holds(what, `count(*) = ${recipients} from automation_runs r
    join automation_steps s on s.brand_id = r.brand_id and s.run_id = r.id and s.visit = r.visit
    where r.status = 'running' and r.due_at > '${after}' and s.status = 'running' and s.error is not null`);

  let before = await latest();
  renameSync(path, `${path}.kept`);
  await advance(DAY_S + 60);
  await waits('all runs wait for the key that is lost', before);
  if ((await fired.fire(trigger, { email: 'late@readers.example', code: 'x' })).status !== 503) breaches.push('a fire without the key was not refused');
  log('  runs wait without the key');
  const kept = readFileSync(`${path}.kept`, 'utf8');
  writeFileSync(path, kept.replace(/^(\d+ )(.{8})/m, (_, id, head) => id + [...head].reverse().join('')), { mode: 0o600 });
  if (readFileSync(path, 'utf8') === kept) breaches.push('the key was not replaced');
  before = await latest();
  await advance(AGAIN_S);
  await waits('all runs wait for the key that is replaced', before);
  if (mailing.installation.outbox().length > 0) breaches.push('mail went out without the key');
  renameSync(`${path}.kept`, path);
  chmodSync(path, 0o600);
  log('  the key is back');
  await advance(AGAIN_S);
  await fired.ended();
  return fired.figures('the key lost, then replaced', onceEach(mailing.addresses), breaches);
}

// ---- Storms ----

export async function triggerStorm({ recipients, log }) {
  const fired = await Fired.prepare({ recipients: 100 });
  const { mailing } = fired;
  const [keyed, once, ...others] = mailing.addresses;
  const always = await fired.trigger('Always');
  const first = await fired.trigger('Once', { reentry: { mode: 'once' } });
  const storm = Array.from({ length: recipients }, (_, index) => (index % 2 === 0
    ? fired.fire(always, { email: keyed, code: `code of ${keyed}` }, { 'idempotency-key': 'storm' })
    : fired.fire(first, { email: once, code: `code of ${once}` })));
  const ordinary = fired.fireAll(always, others);
  const answers = await Promise.all([...storm, ordinary].flat());
  const statuses = Object.entries(Object.groupBy(answers.flat(), ({ status }) => status)).map(([status, list]) => `${list.length} times ${status}`);
  log(`  ${statuses.join(', ')}`);
  const breaches = answers.flat().some(({ status }) => ![200, 202].includes(status)) ? [`answers: ${statuses}`] : [];
  await fired.ended();
  return { ...await fired.figures(`${recipients} fires of one key and one contact`, onceEach(mailing.addresses), breaches), recipients: mailing.addresses.length };
}

// ---- Payloads ----

const nested = (depth) => (depth === 0 ? 1 : { a: nested(depth - 1) });
const keys = (count) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 1]));

/** Members of payloads that are as large as they may be, and of ones that are too large. Two keys are the address and the code. */
const LARGEST = [{ filler: 'x'.repeat(64 * 1024 - 200) }, { filler: '\u{1f4e7}'.repeat(16_000) }, { filler: nested(14) }, keys(498), { list: Array(20_000).fill(1) }];
const TOO_LARGE = [{ filler: 'x'.repeat(65 * 1024) }, { filler: nested(20) }, keys(501)];

export async function payloadBombs({ recipients, log }) {
  const fired = await Fired.prepare({ recipients });
  const { mailing } = fired;
  const trigger = await fired.trigger('Signed up', { nodes: [waitNode('pause', 1, 'seconds'), filterNode] });
  const breaches = [];
  for (const bomb of TOO_LARGE) {
    const { status } = await fired.fire(trigger, { email: 'bomb@readers.example', code: 'x', ...bomb });
    if (status < 400 || status > 413) breaches.push(`a payload that is too large was answered with ${status}`);
  }
  if (await mailing.sql('select count(*) from trigger_payloads') !== '0') breaches.push('a refused payload was stored');
  const answers = await Promise.all(mailing.addresses.map((email, index) => fired.fire(trigger, { email, code: `code of ${email}`, ...LARGEST[index % (LARGEST.length + 1)] })));
  for (const { status, body } of answers) if (status !== 202) breaches.push(`a payload that is as large as allowed: ${status} ${JSON.stringify(body).slice(0, 200)}`);
  log('  all payloads are fired');
  await fired.ended();
  const peak = peakKib(mailing.installation.runnerPid);
  if (peak > RUNNER_MAX_KIB) breaches.push(`the runner had ${peak} KiB`);
  return fired.figures(`the largest payloads; the runner had ${Math.round(peak / 1024)} MiB`, onceEach(mailing.addresses), breaches);
}

// ---- The disk of the database ----

/** The database moves to a file system with little room, in which a file takes what is left. */
async function moveDatabase(mailing) {
  const { installation } = mailing;
  await installation.stop();
  const folder = join(installation.data, 'pg');
  const { uid, gid } = statSync(folder);
  renameSync(folder, `${folder}.old`);
  const disk = mountSmall(folder, '400m');
  execFileSync('cp', ['-a', `${folder}.old/.`, folder]);
  execFileSync('chown', [`${uid}:${gid}`, folder]);
  rmSync(`${folder}.old`, { recursive: true });
  const { dispose } = installation;
  installation.dispose = async function disposeAndUnmount() {
    await this.run('stop');
    disk.unmount();
    return dispose.call(this);
  };
  const ballast = join(folder, 'ballast');
  return {
    fill: (left) => {
      const { bavail, bsize } = statfsSync(folder);
      execFileSync('fallocate', ['-l', String(bavail * bsize - left), ballast]);
    },
    free: () => rmSync(ballast),
    isFull: () => disk.isFull(),
  };
}

const ROOM_LEFT = 512 * 1024;
const FULL_FOR_MS = 3000;

export async function fullForSteps({ recipients, log }) {
  let clock;
  const fired = await Fired.prepare({ recipients, options: { RETRY_AFTER: 1 }, start: async (installation) => { clock = installation.movableClock(); } });
  const { mailing } = fired;
  const trigger = await fired.trigger('Signed up', { nodes: [waitNode('pause', 1, 'days'), filterNode] });
  await fired.fireAll(trigger, mailing.addresses);
  await fired.holds('all runs wait', `count(*) = ${recipients} from automation_runs where node_id = 'pause'`);
  const disk = await moveDatabase(mailing);
  await mailing.installation.call('get_capabilities', { topic: 'account' });
  await mailing.sql('checkpoint');
  disk.fill(ROOM_LEFT);
  clock.advance(DAY_S + 60);
  await mailing.sql("select pg_notify('posthorn_step', '1')").catch(() => {});
  await pause(FULL_FOR_MS);
  const steps = await mailing.sql("select count(*) from automation_steps where node_id = 'letter'").catch(() => 'no');
  const wasRefused = /stepper\.(batch|database)/.test(mailing.installation.runnerLog);
  log(`  ${steps} letters while the disk was full`);
  disk.free();
  await until('a runner serves', async () => (await mailing.installation.call('get_capabilities', { topic: 'account' }).catch(() => null)) && mailing.installation.runnerPid > 0, ENDS_MS);
  await fired.ended();
  return fired.figures(`full at ${steps} letters`, onceEach(mailing.addresses), wasRefused ? [] : ['no transaction failed while the disk was full']);
}
