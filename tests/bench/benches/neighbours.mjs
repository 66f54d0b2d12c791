// Two organizations in one installation. One is quiet: it reads an email, saves contacts and sends a campaign. The other is hostile: it
// runs slow searches, imports and the largest bodies, or opens connections without end. Each figure of the quiet one is measured
// alone and beside each kind of load, in turns. The rate limits of both are raised out of the way, so nothing but the service's own
// fairness protects the quiet one. The load runs on the same cores, so a part of each ratio is the processor that the load takes.
//
// BENCH_RECIPIENTS   recipients of the quiet campaign (20,000)

import { spawnSync } from 'node:child_process';
import http from 'node:http';
import net from 'node:net';
import { writeFileSync } from 'node:fs';
import path from 'node:path';

import { Campaign } from '../campaign.mjs';
import { DURATION_MS, ROUNDS, drive, interleaved, sized, sizedBy } from '../programs.mjs';

const RECIPIENTS = sizedBy('BENCH_RECIPIENTS', 20_000, 1_000);
const HOSTILE_CONTACTS = sized(200_000, 2_000);
const READERS = 4;
const WRITERS = 4;
const BATCH_ROWS = 1000; // the most rows of one body
const IMPORT_BYTES = 6_000_000; // of at most 6 MiB
const HOSTILE_ADDRESS = '127.0.0.2'; // connections are bounded by peer, and the quiet one is another peer
const GRACE_MS = 300; // a load begins this long before the quiet one is measured

export async function run(report) {
  const campaign = await Campaign.prepare({ recipients: RECIPIENTS });
  const { folder } = campaign;
  const server = await folder.serve();
  const quiet = new Quiet(campaign, server);
  const hostile = await Hostile.create(folder, server, campaign.url);
  const loads = {
    'slow searches': () => hostile.searches(4),
    imports: () => hostile.imports(2),
    'largest bodies': () => hostile.bodies(4),
    'bodies with a wrong key': () => hostile.refusedBodies(12),
    'a storm of connections': () => hostile.connections(16),
  };
  for (const [name, begin] of Object.entries(loads)) {
    const found = await interleaved(ROUNDS, {
      readAlone: () => quiet.reads(),
      readBeside: () => beside(begin, () => quiet.reads()),
      writeAlone: () => quiet.writes(),
      writeBeside: () => beside(begin, () => quiet.writes()),
    });
    report.compare(`p99 of reads beside ${name}, alone`, found.readBeside.p99Us, found.readAlone.p99Us, 'µs', { atMost: 3 });
    report.compare(`p99 of writes beside ${name}, alone`, found.writeBeside.p99Us, found.writeAlone.p99Us, 'µs', { atMost: 3 });
    await hostile.settle();
  }
  const together = () => joined(Object.values(loads));
  const sent = await interleaved(Math.min(ROUNDS, 3), {
    alone: () => campaign.send(),
    beside: () => beside(together, () => campaign.send()),
  });
  report.compare('campaign beside all of them, alone', sent.beside.perSecond, sent.alone.perSecond, 'messages/s', { atLeast: 0.8 });
}

// Measures while a load runs. The load must have done something, else the figure would mean nothing.
async function beside(begin, measure) {
  const load = begin();
  await new Promise((resolve) => { setTimeout(resolve, GRACE_MS); });
  try {
    return await measure();
  } finally {
    const done = await load.end();
    if (done === 0) throw new Error('the load did nothing');
  }
}

function joined(begins) {
  const loads = begins.map((begin) => begin());
  return { end: async () => Math.min(...await Promise.all(loads.map((load) => load.end()))) };
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
    this.agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
  }

  // A search reads every contact: no index serves the condition, and nobody meets it.
  searches(width) {
    const body = JSON.stringify({ count: true, filters: [{ field: 'plan', operator: 'contains', value: 'nobody' }] });
    return this.#repeat(width, () => this.#post('/v1/contacts/search', body, [200]));
  }

  imports(width) {
    const lines = ['email,firstName,plan'];
    for (let bytes = 0; bytes < IMPORT_BYTES; bytes += lines.at(-1).length + 1) lines.push(`imported${lines.length}@hostile.example,Person,gold`);
    const body = JSON.stringify({ csv: lines.join('\n') });
    return this.#repeat(width, () => this.#post('/v1/contacts/import-csv', body, [200, 202, 503]));
  }

  bodies(width) {
    const body = this.#largestBatch();
    return this.#repeat(width, () => this.#post('/v1/contacts', body, [200, 503]));
  }

  refusedBodies(width) {
    const body = this.#largestBatch();
    return this.#repeat(width, () => this.#post('/v1/contacts', body, [401, 503], 'wrong'));
  }

  // Each connection sends the beginning of a request and leaves.
  connections(width) {
    return this.#repeat(width, () => new Promise((resolve) => {
      const socket = net.connect({ port: this.port, host: '127.0.0.1', localAddress: HOSTILE_ADDRESS }, () => {
        socket.write('POST /v1/contacts HTTP/1.1\r\nHost: x\r\n', () => socket.destroy());
      });
      socket.on('error', () => {});
      socket.on('close', resolve);
    }));
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
    await this.#post('/v1/contacts', JSON.stringify({ email: 'first@hostile.example', customFields: { plan: 'x' } }), [201]);
    const brand = this.#psql("select brand_id from contacts where email_key = 'first@hostile.example'").trim();
    this.#psql(`insert into contacts (brand_id, email, email_key, source, subscribed, custom_fields, created_at, updated_at)
      select ${brand}, e.email, e.email, 'CSV', true, jsonb_build_object('plan', 'pro' || g % 25), now(), now()
        from generate_series(1, ${HOSTILE_CONTACTS}) g, lateral (select 'hostile' || g || '@example.com') e (email)`);
    this.#psql('vacuum analyze contacts');
  }

  #largestBatch() {
    const text = 'x'.repeat(4000);
    const contacts = Array.from({ length: BATCH_ROWS }, (_, row) => ({ email: `body${row}@hostile.example`, customFields: { plan: text } }));
    return JSON.stringify({ contacts });
  }

  #repeat(width, act) {
    let done = 0;
    let ended = false;
    const loop = async () => {
      while (!ended) {
        await act();
        done++;
      }
    };
    const loops = Array.from({ length: width }, loop);
    return { end: async () => { ended = true; await Promise.all(loops); return done; } };
  }

  #post(route, body, accepted, key = this.key) {
    return new Promise((resolve, reject) => {
      const agent = key === this.key ? this.agent : undefined;
      const request = http.request({ agent, port: this.port, host: '127.0.0.1', localAddress: HOSTILE_ADDRESS, path: route, method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) } }, (reply) => {
        let text = '';
        reply.setEncoding('utf8');
        reply.on('data', (part) => { text = (text + part).slice(0, 400); });
        reply.on('end', () => (accepted.includes(reply.statusCode) ? resolve() : reject(new Error(`${route}: ${reply.statusCode} ${text}`))));
      });
      // A refusal may close the connection before the whole body is written.
      request.on('error', (error) => (accepted.includes(401) ? resolve() : reject(error)));
      request.end(body);
    });
  }

  #psql(sql) {
    const { status, stdout, stderr } = spawnSync('psql', [this.database, '-qXAt', '-v', 'ON_ERROR_STOP=1', '-c', 'set search_path to posthorn',
      '-c', sql], { encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
    return stdout;
  }
}
