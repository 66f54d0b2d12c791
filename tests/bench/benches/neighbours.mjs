// Two organizations in one installation. One is quiet: it reads an email, saves contacts and sends a campaign. The other is hostile: it
// runs slow searches, imports and the largest bodies, or opens connections without end. Each figure of the quiet one is measured
// alone and beside each kind of load, in turns. The rate limits of both are raised out of the way, so nothing but the service's own
// fairness protects the quiet one. The client of the hostile one would run on a machine of its own. Here it is a process with a
// low priority, so that it takes little processor from the quiet one; the work of the service for it has no such limit. The load that
// it made beside the quiet one is printed, too.
//
// BENCH_RECIPIENTS   recipients of the quiet campaign (20,000)
// BENCH_HOSTILE_CONTACTS  contacts that a search reads (200,000)
// BENCH_CLIENT_NICE  nice value of the hostile client (10)
// BENCH_LOADS        the loads to run, with commas between: searches, imports, bodies, refused, connections (all of them)
// BENCH_FIGURES      the figures to measure, with commas between: calls, campaign (beside each load), all, control (all of these)
//
// The campaign is measured beside each load and beside all of them, with the processor time of each group of processes. The control
// is the same beside the same clients and a server that refuses each call with 503, as often: what clients and loopback alone take.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { Campaign, processorSeconds } from '../campaign.mjs';
import { DURATION_MS, ROUNDS, drive, freePort, interleaved, lowerPriority, servePeer, sizedBy } from '../programs.mjs';

const RECIPIENTS = sizedBy('BENCH_RECIPIENTS', 20_000, 1_000);
const HOSTILE_CONTACTS = sizedBy('BENCH_HOSTILE_CONTACTS', 200_000, 2_000);
const READERS = 4;
const WRITERS = 4;
const HOSTILE_CLIENT = fileURLToPath(new URL('../peers/hostile_client.mjs', import.meta.url));
const CLIENT_NICE = Number(process.env.BENCH_CLIENT_NICE ?? 10);
const LOADS = { // name and width
  searches: ['slow searches', 4],
  imports: ['imports', 2],
  bodies: ['largest bodies', 4],
  refused: ['bodies with a wrong key', 12],
  connections: ['a storm of connections', 16],
};
const FIGURES = process.env.BENCH_FIGURES?.split(',') ?? ['calls', 'campaign', 'all', 'control'];
const GRACE_MS = 300; // a load begins this long before the quiet one is measured

export async function run(report) {
  const campaign = await Campaign.prepare({ recipients: RECIPIENTS });
  const { folder } = campaign;
  const server = await folder.serve();
  const quiet = new Quiet(campaign, server);
  const hostile = await Hostile.create(folder, server, campaign.url);
  const chosen = process.env.BENCH_LOADS?.split(',') ?? Object.keys(LOADS);
  const bench = { report, campaign, server, quiet, hostile };
  if (FIGURES.includes('calls')) for (const kind of chosen) await compareCalls(bench, kind);
  if (FIGURES.includes('campaign')) for (const kind of chosen) await compareCampaigns(bench, [kind], LOADS[kind][0]);
  if (!FIGURES.includes('all') && !FIGURES.includes('control')) return;
  const calls = await compareCampaigns(bench, chosen, 'all of them');
  if (FIGURES.includes('control')) await compareControl(bench, chosen, calls);
}

async function compareCalls({ report, quiet, hostile }, kind) {
  const [name] = LOADS[kind];
  const found = await interleaved(ROUNDS, {
    readAlone: () => quiet.reads(),
    readBeside: () => beside(hostile, [kind], () => quiet.reads()),
    writeAlone: () => quiet.writes(),
    writeBeside: () => beside(hostile, [kind], () => quiet.writes()),
  });
  report.compare(`p99 of reads beside ${name}, alone`, found.readBeside.p99Us, found.readAlone.p99Us, 'µs', { atMost: 3 });
  report.compare(`p99 of writes beside ${name}, alone`, found.writeBeside.p99Us, found.writeAlone.p99Us, 'µs', { atMost: 3 });
  report.note(`the load: ${rounded(found.readBeside.hostilePerSecond)} calls/s beside the reads, ${
    rounded(found.writeBeside.hostilePerSecond)} beside the writes`);
  await hostile.settle();
  if (FIGURES.includes('control')) await controlCalls({ report, quiet, hostile }, kind, found);
}

// The same client calls a server that refuses everything, as often as the service answered it.
async function controlCalls({ report, quiet, hostile }, kind, found) {
  const [name] = LOADS[kind];
  const servers = await Promise.all([found.readBeside, found.writeBeside].map(({ hostilePerSecond }) => refuseAt(kind, hostilePerSecond)));
  const [reads, writes] = servers.map(({ port }) => ({ [kind]: port }));
  const control = await interleaved(ROUNDS, {
    readAlone: () => quiet.reads(),
    readBeside: () => beside(hostile, [kind], () => quiet.reads(), reads),
    writeAlone: () => quiet.writes(),
    writeBeside: () => beside(hostile, [kind], () => quiet.writes(), writes),
  });
  for (const server of servers) server.end();
  report.compare(`control: p99 of reads beside the client of ${name} only, alone`, control.readBeside.p99Us, control.readAlone.p99Us, 'µs');
  report.compare(`control: p99 of writes beside the client of ${name} only, alone`, control.writeBeside.p99Us, control.writeAlone.p99Us, 'µs');
  report.note(`the client in the control: ${rounded(control.readBeside.hostilePerSecond)} calls/s beside the reads, ${
    rounded(control.writeBeside.hostilePerSecond)} beside the writes`);
}

// Starts a server that lets the client of a load make `perSecond` calls.
async function refuseAt(kind, perSecond) {
  const port = await freePort();
  const server = await servePeer('refusing_server.mjs', port, Math.round((1000 * LOADS[kind][1]) / perSecond));
  lowerPriority(server.pid, CLIENT_NICE);
  return { port, end: () => server.end() };
}

// Gives the calls a second of each load beside the campaign.
async function compareCampaigns({ report, campaign, server, hostile }, kinds, name) {
  const send = async (clients) => {
    const before = processorTimes(campaign, server, clients);
    const began = performance.now();
    const { perSecond, beginMs } = await campaign.send();
    return { perSecond, beginMs, ...shares(before, processorTimes(campaign, server, clients), performance.now() - began) };
  };
  const sent = await interleaved(Math.min(ROUNDS, 3), {
    alone: () => send([]),
    beside: () => beside(hostile, kinds, send),
  });
  report.compare(`campaign beside ${name}, alone`, sent.beside.perSecond, sent.alone.perSecond, 'messages/s', { atLeast: 0.8 });
  report.note(`the send begins within ${Math.round(sent.alone.beginMs)} ms alone, ${Math.round(sent.beside.beginMs)} ms beside`);
  report.note(`processors in use, alone and beside: ${PROCESS_GROUPS.map((group) =>
    `${group} ${sent.alone[group].toFixed(2)} ${sent.beside[group].toFixed(2)}`).join(', ')}`);
  await hostile.settle();
  return Object.fromEntries(kinds.map((kind) => [kind, sent.beside[kind]]));
}

// The same clients call a server that refuses everything, as often as the service answered them.
async function compareControl({ report, campaign, hostile }, kinds, calls) {
  const servers = await Promise.all(kinds.map((kind) => refuseAt(kind, calls[kind])));
  const controls = Object.fromEntries(kinds.map((kind, at) => [kind, servers[at].port]));
  const sent = await interleaved(Math.min(ROUNDS, 3), {
    alone: () => campaign.send(),
    beside: () => beside(hostile, kinds, () => campaign.send(), controls),
  });
  for (const server of servers) server.end();
  report.compare('control: campaign beside their clients only, alone', sent.beside.perSecond, sent.alone.perSecond, 'messages/s');
  report.note(`the clients: ${kinds.map((kind) => `${kind} ${rounded(calls[kind])} calls/s, in the control ${rounded(sent.beside[kind])}`).join('; ')}`);
}

const PROCESS_GROUPS = ['runner', 'serve', 'database', 'sink', 'clients'];

// The processor seconds so far of each group of processes.
function processorTimes(campaign, server, clients) {
  return { ...campaign.processorSeconds(), database: campaign.databaseSeconds(), serve: processorSeconds(server.pid),
    sink: processorSeconds(campaign.sink.child.pid), clients: clients.reduce((sum, pid) => sum + processorSeconds(pid), 0) };
}

const shares = (before, after, elapsedMs) => Object.fromEntries(PROCESS_GROUPS.map((group) =>
  [group, (after[group] - before[group]) / (elapsedMs / 1000)]));

const rounded = (rate) => Number(rate.toPrecision(3));

// Measures while loads run. Each must have done something, else the figure would mean nothing. `ports`: of each load, instead of
// that of the service.
async function beside(hostile, kinds, measure, ports = {}) {
  const loads = await Promise.all(kinds.map((kind) => hostile.begin(kind, ports[kind])));
  const begun = Date.now();
  await new Promise((resolve) => { setTimeout(resolve, GRACE_MS); });
  let figures;
  let done;
  try {
    figures = await measure(loads.map(({ pid }) => pid));
  } finally {
    done = await Promise.all(loads.map((load) => load.end()));
  }
  if (Math.min(...done) === 0) throw new Error('a load did nothing');
  const perSecond = done.map((count) => count / ((Date.now() - begun) / 1000));
  return { ...figures, ...Object.fromEntries(kinds.map((kind, at) => [kind, perSecond[at]])),
    hostilePerSecond: perSecond.reduce((sum, rate) => sum + rate) };
}

class Quiet {
  constructor(campaign, server) {
    const body = path.join(campaign.folder.parent, 'quiet.json');
    writeFileSync(body, JSON.stringify({ email: 'quiet-@SEQ@@bench.example', firstName: 'Ada' }));
    this.target = { port: server.port, header: server.header, durationMs: DURATION_MS };
    this.emailId = campaign.emailId;
    this.body = body;
  }

  reads() {
    return drive('http_load', { ...this.target, get: `/v1/emails/${this.emailId}`, marker: this.emailId, connections: READERS });
  }

  // The audience of the campaign is every contact, so these contacts are deleted again before the next send.
  writes() {
    return drive('http_writes', { ...this.target, path: '/v1/contacts', body: this.body, marker: '"email":"quiet-@SEQ@@bench.example"',
      expect: 201, connections: WRITERS });
  }
}

class Hostile {
  static async create(folder, server, database) {
    const { orgId } = await folder.command('admin', 'org', 'create', 'Hostile');
    const { brandId } = await folder.command('admin', 'brand', 'create', 'Hostile', '--org', orgId);
    const { key } = await folder.command('admin', 'key', 'create', '--scopes', 'all', '--rate-multiplier', '1000000', '--brand', brandId);
    const hostile = new Hostile(server.port, key, database);
    await hostile.#fill();
    return hostile;
  }

  constructor(port, key, database) {
    Object.assign(this, { port, key, database });
  }

  // Starts a client. Its end gives the number of calls that were answered.
  async begin(kind, control) {
    const [, width] = LOADS[kind];
    const words = [control ?? this.port, this.key, kind, width, ...(control ? ['control'] : [])].map(String);
    const client = spawn(process.execPath, [HOSTILE_CLIENT, ...words],
      { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
    lowerPriority(client.pid, CLIENT_NICE);
    let output = '';
    const closed = once(client, 'close');
    await new Promise((resolve, reject) => {
      client.stdout.on('data', (text) => { output += text; resolve(); });
      client.on('close', () => reject(new Error('the hostile client did not start')));
    });
    return {
      pid: client.pid,
      end: async () => {
        client.stdin.end();
        const [status] = await closed;
        if (status !== 0) throw new Error(`the hostile client ended with ${status}`);
        return Number(output.split('\n')[1]);
      },
    };
  }

  // The jobs of an import go on after its call has been left.
  async settle() {
    for (;;) {
      const waiting = this.#psql("select count(*) from jobs where state in ('queued', 'running')").trim();
      if (waiting === '0') break;
      await new Promise((resolve) => { setTimeout(resolve, 200); });
    }
    this.#psql("delete from contacts where email_key like 'quiet-%'");
  }

  async #fill() {
    await postOnce(this.port, this.key, { email: 'first@hostile.example', customFields: { plan: 'x' } });
    const brand = this.#psql("select brand_id from contacts where email_key = 'first@hostile.example'").trim();
    this.#psql(`insert into contacts (brand_id, email, email_key, source, subscribed, custom_fields, created_at, updated_at)
      select ${brand}, e.email, e.email, 'CSV', true, jsonb_build_object('plan', 'pro' || g % 25), now(), now()
        from generate_series(1, ${HOSTILE_CONTACTS}) g, lateral (select 'hostile' || g || '@example.com') e (email)`);
    this.#psql('vacuum analyze contacts');
  }

  #psql(sql) {
    const { status, stdout, stderr } = spawnSync('psql', [this.database, '-qXAt', '-v', 'ON_ERROR_STOP=1', '-c', 'set search_path to posthorn',
      '-c', sql], { encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
    return stdout;
  }
}

function postOnce(port, key, contact) {
  const body = JSON.stringify(contact);
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const request = http.request({ port, host: '127.0.0.1', path: '/v1/contacts', method: 'POST', headers, agent: false }, (reply) => {
      reply.resume();
      reply.on('end', () => (reply.statusCode === 201 ? resolve() : reject(new Error(`the first contact: ${reply.statusCode}`))));
    });
    request.on('error', reject);
    request.end(body);
  });
}
