// An installation that has somebody to write to: contacts, a trusted domain, relays; its campaigns, and what the database says of
// them afterwards. Calls go through the command line, which brings another runner when the last one was killed.

import { sql } from '../lib/database.mjs';
import { Installation } from '../lib/installation.mjs';
import { pause, until } from '../lib/processes.mjs';

const BATCH = 1000;
const DOMAIN = 'letters.example';
const LOOK_EVERY_MS = 100;
const OPEN_STATES = ['queued', 'running', 'scheduled', 'paused'];
const LETTER = `<!doctype html><html><head><title>Letter</title></head><body>
<p>Dear {{ firstName | default: 'reader' }},</p><p>this is the letter. <a href="https://example.com/more">More</a></p></body></html>`;

const mailings = new Set();

/** Ends whatever is left, for an end before its time. */
export const disposeAll = () => Promise.all([...mailings].map((mailing) => mailing.dispose()));

/** What the installations say of themselves, for a failure. */
export async function describeAll() {
  return (await Promise.all([...mailings].map((mailing) => mailing.describe()))).join('\n');
}

const OPEN_WORK = `select json_build_object(
  'sends', (select json_agg(s) from (select id, status, recipient_count, error, pause_reason from sends order by id desc limit 3) as s),
  'gradual', (select json_agg(g) from (select tranche, released, released_at, next_tranche_at from gradual_sends) as g),
  'ranges', (select json_agg(r) from send_ranges r where next_ordinal <= to_ordinal or lease_owner is not null),
  'retries', (select count(*) from send_retries),
  'jobs', (select json_agg(j) from (select id, kind, state, attempts, run_after, lease_owner, lease_until from jobs where state in ('queued', 'running')) as j),
  'senders', (select json_agg(n) from senders n), 'now', now())`;

export class Mailing {
  #counted = {};
  letter = LETTER;

  /** `options` as those of an installation; `start` is called before the first call, for what must run beside it. */
  static async prepare({ addresses, sinks = [], options = {}, isSandbox = false, start = async () => {} }) {
    const relays = sinks.map((sink) => (typeof sink === 'string' ? sink : sink.url())).join(',');
    const mailing = new Mailing(new Installation({ RELAY: relays || undefined, LOG_LEVEL: 'info', ...options }), addresses);
    mailings.add(mailing);
    await start(mailing.installation);
    await mailing.#fill(isSandbox);
    return mailing;
  }

  constructor(installation, addresses) {
    this.installation = installation;
    this.addresses = addresses;
  }

  async #fill(isSandbox) {
    for (let from = 0; from < this.addresses.length; from += BATCH) {
      const contacts = this.addresses.slice(from, from + BATCH).map((email, index) => ({ email, firstName: `Name${from + index}` }));
      const { summary } = await this.installation.call('save_contact', { contacts });
      if (summary.failed > 0) throw new Error(`contacts: ${JSON.stringify(summary)}`);
    }
    if (isSandbox) {
      this.domainId = (await this.installation.call('get_capabilities', { topic: 'account' })).domains[0].domainId;
      return;
    }
    await this.installation.admin('domain', 'create', DOMAIN);
    this.domainId = (await this.installation.admin('domain', 'verify', DOMAIN, '--trust')).domainId;
    this.from = { email: `news@${DOMAIN}` };
  }

  /** Sends a fresh letter to everybody; `more` are further arguments. */
  async start(more = {}) {
    const { emailId } = await this.installation.call('import_email', { content: this.letter, title: 'Letter', subjectLine: 'Hello' });
    this.#counted = await this.#eventCounts();
    const send = { emailId, domainId: this.domainId, audienceId: 'all', subject: 'Hello {{ firstName }}', ...(this.from && { from: this.from }), ...more };
    const startedAt = Date.now();
    const { sendId } = await this.installation.call('send_email', send);
    const key = Number(await this.sql('select max(id) from sends'));
    return { sendId, key, startedAt };
  }

  /** The send as the command line shows it, or null while nobody answers. */
  read({ sendId }) {
    return this.installation.call('get_email_analytics', { view: 'send', sendId }).catch(() => null);
  }

  ended(send, limitMs) {
    const look = async () => {
      const row = await this.read(send);
      if (row && !OPEN_STATES.includes(row.status)) return row;
      await pause(LOOK_EVERY_MS);
      return false;
    };
    return until(`the send ${send.sendId} has ended`, look, limitMs).catch(async (problem) => {
      const log = this.installation.runnerLog.split('\n').slice(-12).join('\n');
      throw new Error(`${problem.message}: ${JSON.stringify(await this.read(send))}\n${log}`);
    });
  }

  // ---- What the database says ----

  async sql(statement) {
    return (await sql(this.installation, statement)).join('\n').trim();
  }

  async #eventCounts() {
    return JSON.parse(await this.sql(`select coalesce(json_object_agg(event_type, count), '{}')
      from (select event_type, sum(count) as count from event_counts group by 1) as c`));
  }

  async outcome({ key }) {
    const text = await this.sql(`select json_build_object(
      'send', (select row_to_json(s) from (select status, recipient_count, completed_at from sends where id = ${key}) as s),
      'results', (select json_agg(json_build_array(r.email, d.outcome, d.reason, d.uncertain, d.attempts))
                    from send_recipients r left join send_results d using (brand_id, send_id, ordinal) where send_id = ${key}),
      'events', (select coalesce(json_agg(json_build_array(event_type, recipient_email)), '[]') from events where send_id = ${key}),
      'stats', (select row_to_json(s) from send_stats s where send_id = ${key}),
      'suppressed', (select count(*) from suppressions where reason = 'bounce'),
      'open', (select count(*) from send_ranges where send_id = ${key} and (next_ordinal <= to_ordinal or lease_owner is not null))
              + (select count(*) from send_retries where send_id = ${key}))`);
    const counts = await this.#eventCounts();
    const counted = Object.fromEntries(Object.entries(counts).map(([type, count]) => [type, count - (this.#counted[type] ?? 0)]));
    return { ...JSON.parse(text), counted };
  }

  async describe() {
    const rows = await this.sql(OPEN_WORK).catch(({ message }) => message);
    return [rows, ...this.installation.runnerLog.split('\n').slice(-40)].join('\n');
  }

  /** Gives what a sanitizer said and what did not end. */
  async dispose() {
    if (!mailings.delete(this)) return [];
    return this.installation.dispose();
  }
}

/** `count` addresses; `script(index)` gives what the sink is to do with each ('' for taking it). */
export const addressesOf = (count, script = () => '') =>
  Array.from({ length: count }, (_, index) => `r${index}${script(index)}@readers.example`);
