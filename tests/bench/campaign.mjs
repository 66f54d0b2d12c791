// A measured campaign: an installation of its own with contacts, an email, a verified domain, and a sink on loopback as its relay.
// Each round sends to all recipients and then empties the tables of the send.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

import { isRunning, processTreeOf } from './process_tree.mjs';
import { campaignEmail, recipient } from './campaign_email.mjs';
import { DataFolder, Sink, environment, posthorn } from './programs.mjs';

export const CONNECTIONS = 10;

const DOMAIN = 'bench.example';
const SUBJECT = 'News for {{ firstName }}';
const COMMAND_WAIT_MS = 180_000;
const CAMPAIGN_WAIT_MS = 300_000;
const LOOK_EVERY_MS = 50;
const CLOSED_PORT = 'smtp://127.0.0.1:1?tls=none'; // nothing listens on that port
const PUBLIC_URL = 'https://mail.bench.example';
const TICKS_PER_S = 100; // of /proc/PID/stat, proc(5)
const execute = promisify(execFile);

export class Campaign {
  // Without `sends` there is no relay, so that nothing runs beside the expansion. `record` is a file for the messages of the sink.
  // With `isTracked`, links and opens are tracked and each message has a return path of its own.
  static async prepare({ recipients, isSigned = false, sends = true, isTracked = false, record }) {
    const sink = sends ? await Sink.start({ record }) : undefined;
    const relay = sends ? `smtp://127.0.0.1:${sink.port}?tls=none&connections=${CONNECTIONS}` : CLOSED_PORT;
    const settings = { POSTHORN_RELAY: relay, POSTHORN_DKIM: isSigned ? 'on' : 'off' };
    if (isTracked) settings.POSTHORN_PUBLIC_URL = PUBLIC_URL;
    const campaign = new Campaign(new DataFolder(settings), sink, recipients);
    await campaign.#fill();
    if (isTracked) await campaign.psql(`update domains set published = published || array['MX bounce.${DOMAIN}', 'TXT bounce.${DOMAIN}'] where name = '${DOMAIN}'`);
    return campaign;
  }

  subject = SUBJECT;
  sender = `letter@${DOMAIN}`;

  constructor(folder, sink, recipients) {
    this.folder = folder;
    this.sink = sink;
    this.recipients = recipients;
  }

  get runner() {
    return Number.parseInt(readFileSync(path.join(this.folder.path, 'runner.pid'), 'utf8'), 10);
  }

  // The processes of the database.
  get postgres() {
    return processTreeOf(this.folder.path).filter(({ name }) => name === 'postgres').map(({ pid }) => pid);
  }

  // The processor seconds so far of the process that sends, and of the database.
  processorSeconds() {
    return { runner: processorSeconds(this.runner), postgres: this.postgres.reduce((sum, pid) => sum + processorSeconds(pid), 0) };
  }

  // The same of the database with that of its ended processes, such as those that shared a query.
  databaseSeconds() {
    return this.postgres.reduce((sum, pid) => sum + processorSeconds(pid) + endedSeconds(pid), 0);
  }

  psql(...commands) {
    return execute('psql', [...this.#psqlWords, ...commands.flatMap((command) => ['-c', command])],
      { env: this.#psqlEnvironment, timeout: COMMAND_WAIT_MS }).then(({ stdout }) => stdout.trim());
  }

  // Sends to all recipients. Gives the messages a second over the whole send and at the sink, the bytes of a message, and the peak
  // memory of the runner. Then deletes the rows of the send, unless `keepsRows`.
  async send({ keepsRows = false } = {}) {
    const before = await this.sink.stats();
    resetPeak(this.runner);
    const sendId = await this.start();
    const { firstAt, lastAt, got } = await this.#watchSink(before, sendId);
    const { seconds, beginMs } = await this.#ended(sendId);
    if (got.messages !== this.recipients) throw new Error(`the sink got ${got.messages} messages for ${this.recipients} recipients`);
    const found = {
      perSecond: this.recipients / seconds,
      perSecondAtSink: this.recipients / ((lastAt - firstAt) / 1000),
      beginMs,
      bytes: got.bytes / got.messages,
      peakMb: peakMb(this.runner),
    };
    if (!keepsRows) await this.deleteSends();
    return found;
  }

  async start() {
    const { emailId, domainId, subject } = this;
    const request = { emailId, domainId, audienceId: 'all', subject, from: { email: this.sender } };
    const { sendId } = await this.folder.command('call', 'send_email', JSON.stringify(request));
    return sendId;
  }

  // Deletes the rows of every send. A second campaign of the same day would otherwise find the rows of the first.
  deleteSends() {
    return this.psql('truncate sends, send_recipients, send_ranges, send_results, send_retries, send_stats, events, event_counts, '
      + 'event_rollups, contact_activity cascade', 'checkpoint');
  }

  // Makes the server record the time of every statement.
  async countStatements() {
    await this.psql("alter system set shared_preload_libraries = 'pg_stat_statements'");
    await this.folder.command('stop');
    await this.folder.command('call', 'get_capabilities', '{"topic":"account"}');
    await this.psql('create extension if not exists pg_stat_statements schema posthorn');
  }

  // The statements with the most total time, in seconds.
  async statements() {
    const rows = await this.psql('select json_agg(s) from (select total_exec_time / 1000 as seconds, calls, query '
      + 'from pg_stat_statements order by total_exec_time desc limit 12) s');
    return JSON.parse(rows);
  }

  // Writes the email and 1,000 recipients to a file for the peers.
  async emailForPeers() {
    const file = path.join(this.folder.parent, 'email.json');
    const text = await this.psql("select json_build_object('html', html, 'text', plain_text) from email_versions order by id desc limit 1");
    const recipients = Array.from({ length: 1000 }, (_, index) => recipient(index));
    writeFileSync(file, JSON.stringify({ ...JSON.parse(text), recipients }));
    return file;
  }

  // Holds a snapshot in a session of its own. Gives the function that releases it.
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
    const csv = path.join(this.folder.parent, 'recipients.csv');
    await writeRecipients(csv, this.recipients);
    await this.folder.command('call', 'import_contacts_csv', JSON.stringify({ path: csv }), '--import-root', this.folder.parent);
    ({ emailId: this.emailId, emailVersionId: this.emailVersionId } = await this.folder.command('call', 'import_email', JSON.stringify(campaignEmail())));
    await this.folder.command('admin', 'domain', 'create', DOMAIN);
    ({ domainId: this.domainId } = await this.folder.command('admin', 'domain', 'verify', DOMAIN, '--trust'));
    ({ database: { url: this.url } } = await this.folder.command('doctor'));
    await this.psql('vacuum analyze contacts', 'checkpoint');
  }

  // Gives the times of the first and the last message at the sink, and what the sink received.
  async #watchSink(before, sendId) {
    const deadline = performance.now() + CAMPAIGN_WAIT_MS;
    let firstAt;
    for (;;) {
      const now = await this.sink.stats();
      const got = { messages: now.messages - before.messages, bytes: now.bytes - before.bytes };
      if (got.messages > 0) firstAt ??= performance.now();
      if (got.messages >= this.recipients) return { firstAt, lastAt: performance.now(), got };
      if (performance.now() > deadline) throw new Error(`${got.messages} messages came; the send: ${await this.#describe(sendId)}`);
      await sleep(LOOK_EVERY_MS);
    }
  }

  // Waits for the end of the send. Gives its duration, and the time until its first range was leased.
  async #ended(sendId) {
    for (const deadline = Date.now() + CAMPAIGN_WAIT_MS; ; await sleep(LOOK_EVERY_MS)) {
      const row = await this.psql('select status, extract(epoch from completed_at - started_at), '
        + 'extract(epoch from (select min(started_at) from send_ranges) - started_at) from sends');
      const [status, seconds, begin] = row.split('|');
      if (status === 'completed') return { seconds: Number(seconds), beginMs: 1000 * Number(begin) };
      if (status !== 'running' || Date.now() > deadline) throw new Error(`the send: ${await this.#describe(sendId)}`);
    }
  }

  async #describe(sendId) {
    return JSON.stringify(await this.folder.command('call', 'get_email_analytics', JSON.stringify({ view: 'send', sendId })));
  }

  get #psqlWords() {
    return [this.url, '-qXAt', '-v', 'ON_ERROR_STOP=1'];
  }

  get #psqlEnvironment() {
    return { ...environment, PGOPTIONS: '-c search_path=posthorn -c client_min_messages=warning' };
  }
}

export function processorSeconds(pid) {
  if (!isRunning(pid)) return 0; // such as a process of autovacuum
  const fields = statOf(pid);
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S;
}

// Of the children that have ended.
function endedSeconds(pid) {
  if (!isRunning(pid)) return 0;
  const fields = statOf(pid);
  return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_S;
}

const statOf = (pid) => readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').pop().split(' ');

// Resets the peak memory that Linux records for a process (proc(5), clear_refs).
function resetPeak(pid) {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

function peakMb(pid) {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;
}

async function writeRecipients(file, count) {
  const out = createWriteStream(file);
  out.write('email,firstName,lastName,plan,score\n');
  for (let index = 0; index < count; index++) {
    const { email, firstName, lastName, plan, score } = recipient(index);
    if (!out.write(`${email},${firstName},${lastName},${plan},${score}\n`)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'finish');
}
