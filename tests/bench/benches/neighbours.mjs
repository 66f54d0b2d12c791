// Two organizations in one installation. One is quiet: it reads an email, saves contacts and sends a campaign. The other is hostile: it
// runs slow searches, imports and the largest bodies, or opens connections without end. Each figure of the quiet one is measured
// alone and beside each kind of load, in turns. The rate limits of both are raised out of the way, so nothing but the service's own
// fairness protects the quiet one. The client of the hostile one would run on a machine of its own. Here it is a process with a
// low priority, so that it takes little processor from the quiet one; the work of the service for it has no such limit. The load that
// it made beside the quiet one is printed, too.
//
// BENCH_RECIPIENTS   recipients of the quiet campaign (20,000)
// BENCH_CLIENT_NICE  nice value of the hostile client (10)
// BENCH_LOADS        the loads to run, with commas between: searches, imports, bodies, refused, connections (all of them)

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { Campaign } from '../campaign.mjs';
import { DURATION_MS, ROUNDS, drive, interleaved, lowerPriority, sized, sizedBy } from '../programs.mjs';

const RECIPIENTS = sizedBy('BENCH_RECIPIENTS', 20_000, 1_000);
const HOSTILE_CONTACTS = sized(200_000, 2_000);
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
const GRACE_MS = 300; // a load begins this long before the quiet one is measured

export async function run(report) {
  const campaign = await Campaign.prepare({ recipients: RECIPIENTS });
  const { folder } = campaign;
  const server = await folder.serve();
  const quiet = new Quiet(campaign, server);
  const hostile = await Hostile.create(folder, server, campaign.url);
  const chosen = process.env.BENCH_LOADS?.split(',') ?? Object.keys(LOADS);
  for (const kind of chosen) {
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
  }
  const sent = await interleaved(Math.min(ROUNDS, 3), {
    alone: () => campaign.send(),
    beside: () => beside(hostile, chosen, () => campaign.send()),
  });
  report.compare('campaign beside all of them, alone', sent.beside.perSecond, sent.alone.perSecond, 'messages/s', { atLeast: 0.8 });
}

const rounded = (rate) => Number(rate.toPrecision(3));

// Measures while loads run. Each must have done something, else the figure would mean nothing.
async function beside(hostile, kinds, measure) {
  const loads = await Promise.all(kinds.map((kind) => hostile.begin(kind)));
  const begun = Date.now();
  await new Promise((resolve) => { setTimeout(resolve, GRACE_MS); });
  let figures;
  let done;
  try {
    figures = await measure();
  } finally {
    done = await Promise.all(loads.map((load) => load.end()));
  }
  if (Math.min(...done) === 0) throw new Error('a load did nothing');
  return { ...figures, hostilePerSecond: done.reduce((sum, count) => sum + count) / ((Date.now() - begun) / 1000) };
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
  async begin(kind) {
    const [, width] = LOADS[kind];
    const client = spawn(process.execPath, [HOSTILE_CLIENT, String(this.port), this.key, kind, String(width)],
      { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
    lowerPriority(client.pid, CLIENT_NICE);
    let output = '';
    const closed = once(client, 'close');
    await new Promise((resolve, reject) => {
      client.stdout.on('data', (text) => { output += text; resolve(); });
      client.on('close', () => reject(new Error('the hostile client did not start')));
    });
    return {
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
