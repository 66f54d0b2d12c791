// Where a player works: an organization of its own with a brand, a neighbour brand that must stay as it is, and their seed data. A place
// also reads what is there in the end: rows, messages of the capture Maildir, checksums.

import assert from 'node:assert/strict';
import { until } from '../lib/processes.mjs';

const NEIGHBOUR = 'Neighbour';
/** Columns that a job in the background changes, which draws the pictures of designs. */
const DRAWN = "array['preview_image', 'preview_version', 'preview_tried_at']";
/** Tables that change with every call, whatever it does, once a minute for every brand (insight_runs), or by the job above (spare_pictures). */
const BOOKKEEPING = ['audit_log', 'insight_runs', 'jobs', 'send_confirmations', 'session_brands', 'short_tokens', 'spare_pictures'];

export class Places {
  #made = 0;
  #tables;
  #first;

  /** `operator` runs commands of the installation, `database` is an SqlSession, `sites` are addresses by their names. */
  constructor(installation, server, operator, database, sites) {
    Object.assign(this, { installation, server, operator, database, sites });
  }

  /**
   * An organization with the neighbour and, unless `hasBrand` is false, the player's brand. The local owner, who calls over stdio, has
   * the first organization only: a place with `isLocal` is in that one.
   */
  async make(brandName, { hasBrand = true, isLocal = false } = {}) {
    const place = new Place(this, String(++this.#made).padStart(3, '0'));
    await place.create(brandName, hasBrand, isLocal);
    return place;
  }

  /** The id on the wire and the key of an organization. */
  async organization(name) {
    this.#first ??= this.operator.run('org', 'list').then(({ data }) => data[0].orgId);
    if (name === undefined) return { id: await this.#first, key: await this.database.value('select min(id) from organizations') };
    await this.#first;
    const { orgId } = await this.operator.run('org', 'create', name);
    return { id: orgId, key: await this.database.value(`select id from organizations where name = '${name}'`) };
  }

  /** The tables that hold rows of brands; the parts of a partitioned table are left out. */
  async tables() {
    this.#tables ??= await this.database.rows(`select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'brand_id'
      where c.relnamespace = 'posthorn'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition order by 1`);
    return this.#tables.filter((name) => !BOOKKEEPING.includes(name));
  }
}

class Place {
  constructor(places, number) {
    this.places = places;
    this.number = number;
    /** Addresses of this place alone, so that a message in the capture Maildir is found by its recipient. */
    this.domain = `p${number}.example.com`;
    /** Given by the brief: an assistant has no clock. */
    this.now = new Date();
  }

  async create(brandName, hasBrand, isLocal) {
    const { operator, database } = this.places;
    const { id, key } = await this.places.organization(isLocal ? undefined : `Agents ${this.number}`);
    this.organizationKey = key;
    const makeBrand = async (name) => (await operator.run('brand', 'create', `${name} ${this.number}`, '--org', id)).brandId;
    const keyOf = (name) => database.value(`select id from brands where name = '${name} ${this.number}'`);
    this.key = (await operator.run('key', 'create', '--rate-multiplier', '100000', '--org', id)).key;
    this.neighbourId = await makeBrand(NEIGHBOUR);
    this.neighbourKey = await keyOf(NEIGHBOUR);
    if (hasBrand) {
      this.brandId = await makeBrand(brandName);
      this.ownKey = await keyOf(brandName);
    }
    await this.#seedNeighbour();
  }

  /** The neighbour has the same things, so that a call that misses its brand finds something. */
  async #seedNeighbour() {
    await this.rest('POST', '/v1/contacts', { contacts: ['ada', 'bob', 'cyd'].map((name) => ({ email: this.address(name), firstName: name })) }, this.neighbourId);
    await this.rest('POST', '/v1/email-groups', { name: 'Old' }, this.neighbourId);
    await this.rest('POST', '/v1/emails/tpl_welcome_fernhill/clone', { title: 'News' }, this.neighbourId);
  }

  address(name) {
    return `${name}@${this.domain}`;
  }

  /** A call of the operator of the test, never of the player: fails unless it succeeds. */
  async rest(method, path, body, brandId = this.brandId) {
    const http = this.places.server.client(this.key, { 'x-brand-id': brandId });
    const answer = await http.request(method, path, body);
    http.close();
    assert.ok(answer.status < 400, `${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** The key of the row of the player's brand, which the player may have made; 0 until then. */
  async brandKey() {
    this.ownKey ??= await this.sql(`select id from brands where organization_id = ${this.organizationKey} and id <> ${this.neighbourKey} order by id desc limit 1`);
    return this.ownKey ?? 0;
  }

  /** The first value of a statement, in which $BRAND is the key of the player's brand. */
  async sql(statement) {
    return (await this.rows(statement))[0];
  }

  async rows(statement) {
    const filled = statement.includes('$BRAND') ? statement.replaceAll('$BRAND', await this.brandKey()) : statement;
    return this.places.database.rows(filled);
  }

  async count(statement) {
    return Number(await this.sql(statement));
  }

  // ---- Seeds ----

  async importDesign(title, html, more = {}) {
    const { emailId } = await this.rest('POST', '/v1/emails/import', { source: { kind: 'content', content: html }, title, ...more });
    return emailId;
  }

  async sandboxDomain() {
    return (await this.rest('GET', '/v1/domains')).data[0].domainId;
  }

  /** A campaign that was delivered before the job begins; waits for its end. */
  async deliver(order) {
    const { sendId } = await this.rest('POST', '/v1/sends', { domainId: await this.sandboxDomain(), ...order });
    await until('the seeded send has ended', async () => (await this.rest('GET', `/v1/sends/${sendId}`)).status === 'completed');
    return sendId;
  }

  // ---- What is there ----

  /** Messages to addresses of this place, such as {to, subject, text}. */
  messages() {
    const { installation } = this.places;
    return installation.outbox().map((name) => installation.readMessage(name)).filter((text) => text.includes(`@${this.domain}`)).map(messageOf);
  }

  /** Campaigns, and launches of automations. The carriers of automation mail are neither. */
  sends() {
    return this.count('select (select count(*) from sends where brand_id = $BRAND and not is_carrier) + (select count(*) from audience_runs where brand_id = $BRAND)');
  }

  neighbourChecksum() {
    return this.#checksum(this.neighbourKey);
  }

  async ownChecksum() {
    return this.#checksum(await this.brandKey());
  }

  /**
   * Waits until no job of the brand is due, nothing of its automations is due, and each of its messages has a result. From then on rows
   * change by calls alone.
   */
  async untilAtRest() {
    const due = 'select 1 from automation_runs where brand_id = $BRAND and not is_held and due_at <= now()';
    const unsettled = `select 1 from automation_sends m where brand_id = $BRAND and not exists
      (select 1 from send_results r where r.brand_id = m.brand_id and r.send_id = m.carrier_id and r.ordinal = m.ordinal)`;
    const delivering = `select 1 from send_ranges r join sends s on s.brand_id = r.brand_id and s.id = r.send_id
      where r.brand_id = $BRAND and s.status = 'running' and not s.is_carrier and r.next_ordinal <= r.to_ordinal`;
    const open = "select 1 from jobs where brand_id = $BRAND and (state = 'running' or (state = 'queued' and run_after <= now()))";
    const parts = [due, unsettled, delivering, open].map((rows) => `not exists (${rows})`);
    await until('the brand is at rest', async () => (await this.sql(`select ${parts.join(' and ')}`)) === 't', 60_000);
  }

  /** Of all rows of a brand, in any order; a line for each table, so that a difference names it. */
  async #checksum(brandKey) {
    const tables = (await this.places.tables()).map((name) => [name, 'brand_id']);
    const parts = [...tables, ['brands', 'id']].map(([name, key]) => `select '${name} ' || md5(string_agg(row, '' order by row)) as sum from (select md5((to_jsonb(t) - ${DRAWN})::text) as row from ${name} t where ${key} = ${brandKey}) rows`);
    return this.sql(`select string_agg(sum, ';' order by sum) from (${parts.join(' union all ')}) as sums`);
  }
}

function messageOf(source) {
  const header = (name) => new RegExp(`^${name}: (.*(?:\r?\n[ \t].*)*)`, 'mi').exec(source)?.[1].trim();
  const body = source.slice(source.indexOf('\n\n')).replace(/=\r?\n/g, '');
  return { to: /[^\s<>]+@[^\s<>]+/.exec(header('To'))[0], subject: header('Subject'), text: body, sendId: /^(snd_\w+):/.exec(header('Feedback-ID') ?? '')?.[1] };
}
