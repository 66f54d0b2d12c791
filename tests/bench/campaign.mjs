// A campaign under measurement: an installation of its own with readers, a letter and a domain that is trusted, and a sink on
// loopback for its relay. Each round sends to all readers and leaves the tables as empty as it found them.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

import { familyOf } from './family.mjs';
import { letter, reader } from './letter.mjs';
import { DataFolder, Sink, environment, posthorn } from './programs.mjs';

export const CONNECTIONS = 10;

const DOMAIN = 'bench.example';
const SUBJECT = 'News for {{ firstName }}';
const COMMAND_WAIT_MS = 180_000;
const CAMPAIGN_WAIT_MS = 300_000;
const LOOK_EVERY_MS = 50;
const NOWHERE = 'smtp://127.0.0.1:1?tls=none'; // nothing listens on that port
const execute = promisify(execFile);

export class Campaign {
  // `sends` false: there is no relay, so that nothing happens behind the expansion.
  static async prepare({ readers, isSigned = false, sends = true }) {
    const sink = sends ? await Sink.start() : undefined;
    const relay = sends ? `smtp://127.0.0.1:${sink.port}?tls=none&connections=${CONNECTIONS}` : NOWHERE;
    const settings = { POSTHORN_RELAY: relay, POSTHORN_DKIM: isSigned ? 'on' : 'off' };
    const campaign = new Campaign(new DataFolder(settings), sink, readers);
    await campaign.#fill();
    return campaign;
  }

  constructor(folder, sink, readers) {
    this.folder = folder;
    this.sink = sink;
    this.readers = readers;
  }

  get runner() {
    return Number(readFileSync(path.join(this.folder.path, 'runner.pid'), 'utf8'));
  }

  // The processes of the database.
  get postgres() {
    return familyOf(this.folder.path).filter(({ name }) => name === 'postgres').map(({ pid }) => pid);
  }

  psql(...commands) {
    return execute('psql', [...this.#psqlWords, ...commands.flatMap((command) => ['-c', command])],
      { env: this.#psqlEnvironment, timeout: COMMAND_WAIT_MS }).then(({ stdout }) => stdout.trim());
  }

  // Sends to everyone. Gives the messages a second from the beginning of the send to its end and while the sink was getting some,
  // the bytes of a message, and the most memory the runner took. Then forgets it all, unless `keepsRows`.
  async send({ keepsRows = false } = {}) {
    const before = await this.sink.stats();
    forgetPeak(this.runner);
    const sendId = await this.start();
    const { firstAt, lastAt, got } = await this.#watchSink(before, sendId);
    const seconds = await this.#ended(sendId);
    if (got.messages !== this.readers) throw new Error(`the sink got ${got.messages} messages for ${this.readers} readers`);
    const found = {
      perSecond: this.readers / seconds,
      perSecondAtSink: this.readers / ((lastAt - firstAt) / 1000),
      bytes: got.bytes / got.messages,
      peakMb: peakMb(this.runner),
    };
    if (!keepsRows) await this.forget();
    return found;
  }

  async start() {
    const from = { email: `letter@${DOMAIN}` };
    const order = { emailId: this.emailId, domainId: this.domainId, audienceId: 'all', subject: SUBJECT, from };
    const { sendId } = await this.folder.command('call', 'send_email', JSON.stringify(order));
    return sendId;
  }

  // As if nothing had ever been sent: a second campaign of the same day would find the rows of the first.
  forget() {
    return this.psql('truncate sends, send_recipients, send_ranges, send_results, send_retries, send_stats, events, event_counts, '
      + 'contact_activity cascade', 'checkpoint');
  }

  // From now on the server keeps the time of every statement.
  async countStatements() {
    await this.psql("alter system set shared_preload_libraries = 'pg_stat_statements'");
    await this.folder.command('stop');
    await this.folder.command('call', 'get_capabilities', '{"topic":"account"}');
    await this.psql('create extension if not exists pg_stat_statements schema posthorn');
  }

  // The statements that took longest, with their seconds in all.
  async statements() {
    const rows = await this.psql('select json_agg(s) from (select total_exec_time / 1000 as seconds, calls, query '
      + 'from pg_stat_statements order by total_exec_time desc limit 12) s');
    return JSON.parse(rows);
  }

  // The letter as the peers need it, in a file.
  async letterForPeers() {
    const file = path.join(this.folder.parent, 'letter.json');
    const text = await this.psql("select json_build_object('html', html, 'text', plain_text) from email_versions order by id desc limit 1");
    const readers = Array.from({ length: 1000 }, (_, index) => reader(index));
    writeFileSync(file, JSON.stringify({ ...JSON.parse(text), readers }));
    return file;
  }

  // Holds a snapshot in a session of its own; gives the function that lets it go.
  async holdSnapshot() {
    const session = spawn('psql', [...this.#psqlWords, '-At'], { env: this.#psqlEnvironment, stdio: ['pipe', 'pipe', 'inherit'] });
    session.stdin.write("begin isolation level repeatable read; select 'held';\n");
    await once(session.stdout, 'data');
    return async () => {
      session.stdin.end('commit;\n');
      await once(session, 'close');
    };
  }

  async #fill() {
    const csv = path.join(this.folder.parent, 'readers.csv');
    await writeReaders(csv, this.readers);
    await this.folder.command('call', 'import_contacts_csv', JSON.stringify({ path: csv }), '--import-root', this.folder.parent);
    ({ emailId: this.emailId } = await this.folder.command('call', 'import_email', JSON.stringify(letter())));
    await this.folder.command('admin', 'domain', 'create', DOMAIN);
    ({ domainId: this.domainId } = await this.folder.command('admin', 'domain', 'verify', DOMAIN, '--trust'));
    ({ database: { url: this.url } } = await this.folder.command('doctor'));
    await this.psql('vacuum analyze contacts', 'checkpoint');
  }

  // When the sink got the first and the last message, and what it got.
  async #watchSink(before, sendId) {
    const deadline = performance.now() + CAMPAIGN_WAIT_MS;
    let firstAt;
    for (;;) {
      const now = await this.sink.stats();
      const got = { messages: now.messages - before.messages, bytes: now.bytes - before.bytes };
      if (got.messages > 0) firstAt ??= performance.now();
      if (got.messages >= this.readers) return { firstAt, lastAt: performance.now(), got };
      if (performance.now() > deadline) throw new Error(`${got.messages} messages came; the send: ${await this.#tell(sendId)}`);
      await sleep(LOOK_EVERY_MS);
    }
  }

  // Waits for the end of the send; gives the seconds from its beginning.
  async #ended(sendId) {
    for (const deadline = Date.now() + CAMPAIGN_WAIT_MS; ; await sleep(LOOK_EVERY_MS)) {
      const row = await this.psql('select status, extract(epoch from completed_at - started_at) from sends');
      const [status, seconds] = row.split('|');
      if (status === 'completed') return Number(seconds);
      if (status !== 'running' || Date.now() > deadline) throw new Error(`the send: ${await this.#tell(sendId)}`);
    }
  }

  async #tell(sendId) {
    return JSON.stringify(await this.folder.command('call', 'get_email_analytics', JSON.stringify({ view: 'send', sendId })));
  }

  get #psqlWords() {
    return [this.url, '-qXAt', '-v', 'ON_ERROR_STOP=1'];
  }

  get #psqlEnvironment() {
    return { ...environment, PGOPTIONS: '-c search_path=posthorn -c client_min_messages=warning' };
  }
}

// Linux keeps the most memory a process ever had until it is told to forget it (proc(5), clear_refs).
function forgetPeak(pid) {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

function peakMb(pid) {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;
}

async function writeReaders(file, count) {
  const out = createWriteStream(file);
  out.write('email,firstName,lastName,plan,score\n');
  for (let index = 0; index < count; index++) {
    const { email, firstName, lastName, plan, score } = reader(index);
    if (!out.write(`${email},${firstName},${lastName},${plan},${score}\n`)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'finish');
}
