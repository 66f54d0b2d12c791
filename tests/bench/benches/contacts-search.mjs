// A brand of 1,000,000 contacts. POST /v1/contacts/search gives pages of 100 contacts as JSON over HTTP, and counts. The peer is the
// same query in handwritten SQL, sent over libpq to the same server with the same indexes. Page 5,000, reached by cursors, is
// compared with page 1. Each side has one connection, so the figures are latencies.
//
// BENCH_CONTACTS   contacts of the brand (1,000,000)

import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';

import { DURATION_MS, DataFolder, ROUNDS, drive, interleaved, sized, sizedBy } from '../programs.mjs';

const CONTACTS = sizedBy('BENCH_CONTACTS', 1_000_000, 20_000);
const DEEP_PAGE = Math.min(5000, Math.floor(CONTACTS / 200)) - 1; // pages before the deep one
const ROW = 'select c.id, c.email, c.first_name, c.last_name, c.user_id, c.source, c.subscribed, c.subscription_groups, '
  + 'c.custom_fields, c.consent, c.created_at, c.updated_at from contacts c where c.brand_id = BRAND';
const COUNT = 'select count(*) from contacts c where c.brand_id = BRAND';

export async function run(report) {
  const folder = new DataFolder();
  const server = await folder.serve();
  const fixture = new SearchFixture(folder, server, (await folder.command('doctor')).database.url);
  await fixture.fill();

  await pages(fixture, report);
  await counts(fixture, report);
}

async function pages(fixture, report) {
  const orders = [
    { name: 'createdAt', body: {}, sql: `${ROW} order by c.created_at desc, c.id desc limit 101` },
    { name: 'email', body: { sort: 'email', order: 'asc' }, sql: `${ROW} order by c.email_key limit 101` },
    { name: 'firstName, sorted', body: { sort: 'firstName', order: 'asc' }, walk: sized(40, 4),
      sql: `${ROW} order by left(c.first_name, 64), c.id limit 101` },
    { name: 'text condition', body: { filters: [{ field: 'plan', operator: 'equals', value: 'pro1' }] }, walk: sized(90, 1),
      sql: `${ROW} and c.custom_fields ->> 'plan' = 'pro1' order by c.created_at desc, c.id desc limit 101` },
  ];
  for (const { name, body, sql, walk } of orders) {
    const pageBefore = walk ?? DEEP_PAGE;
    const cursor = await fixture.cursorBehind(body, pageBefore);
    const found = await interleaved(ROUNDS, {
      first: () => fixture.search(body),
      deep: () => fixture.search({ ...body, cursor }),
      sql: () => fixture.query(sql),
    });
    report.compare(`page 1 by ${name}, handwritten SQL`, found.first.p50Us, found.sql.p50Us, 'µs', { atMost: 2 });
    report.compare(`page ${(pageBefore + 1).toLocaleString('en-US')} by ${name}, page 1`, found.deep.p50Us, found.first.p50Us, 'µs', { atMost: 1.3 });
  }
}

async function counts(fixture, report) {
  const audienceId = await fixture.audience([{ field: 'plan', operator: 'contains', value: 'gold' }]);
  const cohortId = await fixture.cohort();
  const cohort = 'exists (select 1 from audience_members m where m.brand_id = BRAND and m.audience_id = COHORT and m.contact_id = c.id)';
  const questions = [
    { name: 'custom text equals', body: { filters: [{ field: 'plan', operator: 'equals', value: 'pro1' }] },
      sql: `${COUNT} and c.custom_fields ->> 'plan' = 'pro1'` },
    { name: 'custom number between', body: { filters: [{ field: 'visits', operator: 'between', value: '100,199' }] },
      sql: `${COUNT} and (c.custom_fields ->> 'visits')::numeric between 100 and 199` },
    { name: 'member of an audience', body: { audienceId },
      sql: `${COUNT} and lower(c.custom_fields ->> 'plan') like '%gold%'` },
    { name: 'member of a cohort', body: { audienceId: cohortId }, sql: `${COUNT} and ${cohort}` },
    { name: 'not member of a cohort', body: { filters: [{ field: 'audience', operator: 'not_in', value: cohortId }] },
      sql: `${COUNT} and not ${cohort}` },
    { name: 'opened within 30 days', body: { filters: [{ field: 'activity.opened', operator: 'gte', value: 1, withinDays: 30 }] },
      sql: `${COUNT} and c.email_key in (select a.email_key from contact_activity a where a.brand_id = BRAND and a.event_type = 'opened'`
        + " and a.day >= (now() at time zone 'UTC')::date - 30)" },
    { name: 'all', body: {}, sql: COUNT },
  ];
  for (const { name, body, sql } of questions) {
    const found = await interleaved(ROUNDS, {
      ours: () => fixture.search({ ...body, count: true }, '"count":'),
      sql: () => fixture.query(sql),
    });
    report.compare(`count: ${name}, handwritten SQL`, found.ours.p50Us, found.sql.p50Us, 'µs', { atMost: 2 });
  }
}

// The brand, its server and its database.
class SearchFixture {
  #agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  #searches = 0;

  constructor(folder, server, database) {
    Object.assign(this, { folder, server, database });
  }

  async fill() {
    // The first contact creates the custom fields of the brand.
    const { status } = await this.#post('/v1/contacts', { email: 'first@bench.example', customFields: { plan: 'x', visits: 1 } });
    if (status !== 201) throw new Error(`the first contact was answered ${status}`);
    this.brand = this.#psql('select brand_id from contacts limit 1').trim();
    this.#psql(`insert into contacts (brand_id, email, email_key, first_name, last_name, source, subscribed, custom_fields, created_at, updated_at)
      select ${this.brand}, e.email, e.email, (array['Ann','Bob','Cyd','Dora','Finn','Gus','Hana','Ida'])[1 + g % 8] || substr(md5((g * 7)::text), 1, 3),
             'Last' || substr(md5((g * 3)::text), 1, 5), 'CSV', g % 10 <> 0,
             jsonb_build_object('plan', (array['free', 'pro', 'gold', 'team'])[1 + g % 4] || (g % 25), 'visits', g % 1000),
             now() - g * interval '1 second', now() - (g::bigint * 7919 % 1000000) * interval '1 second'
        from generate_series(1, ${CONTACTS - 1}) g, lateral (select 'user' || md5(g::text) || '@example' || g % 1000 || '.com') e (email);
      insert into contact_activity
      select ${this.brand}, 'opened', email_key, (now() at time zone 'UTC')::date - (id % 60)::int, 1 from contacts where id % 5 = 0;`);
    this.#psql('vacuum analyze contacts');
    this.#psql('analyze contact_activity');
  }

  #psql(sql) {
    const { status, stdout, stderr } = spawnSync('psql', [this.database, '-qXAt', '-v', 'ON_ERROR_STOP=1', '-c', 'set search_path to posthorn',
      '-c', sql], { encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
    return stdout;
  }

  // The latencies of one search, repeated.
  search(body, marker = '"pagination":') {
    const file = path.join(this.folder.parent, `search-${this.#searches++}.json`);
    writeFileSync(file, JSON.stringify(body));
    return drive('http_writes', { port: this.server.port, path: '/v1/contacts/search', header: this.server.header, body: file, marker,
      expect: 200, connections: 1, durationMs: DURATION_MS });
  }

  query(sql) {
    const statement = sql.replaceAll('BRAND', this.brand).replaceAll('COHORT', this.cohortKey);
    const options = ['--database', this.database, '--duration-ms', String(DURATION_MS)];
    const { status, stdout, stderr } = spawnSync(path.resolve(import.meta.dirname, '../../../build/bench/sql_time'), options,
      { input: statement, encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
    return JSON.parse(stdout);
  }

  async cursorBehind(body, pagesBefore) {
    let cursor;
    for (let page = 0; page < pagesBefore; page++) {
      const answer = await this.#post('/v1/contacts/search', { ...body, ...(cursor ? { cursor } : {}) });
      cursor = answer.body.pagination?.cursor;
      if (!cursor) throw new Error(`the pages ended on page ${page + 1} with ${answer.status}`);
    }
    return cursor;
  }

  async audience(filters) {
    const { body } = await this.#post('/v1/audiences', { name: 'Bench', filters: { logic: 'and', filters } });
    return body.audienceId;
  }

  // A cohort of a fifth of the contacts, with its members inserted by SQL.
  async cohort() {
    const audienceId = await this.audience([]);
    this.cohortKey = this.#psql('select max(id) from audiences').trim();
    this.#psql(`update audiences set kind = 'cohort' where id = ${this.cohortKey};
      insert into audience_members select brand_id, ${this.cohortKey}, id from contacts where id % 5 = 0`);
    this.#psql('analyze audience_members');
    return audienceId;
  }

  #post(route, body) {
    const text = JSON.stringify(body);
    const [name, value] = this.server.header.split(/: (.*)/s);
    return new Promise((resolve, reject) => {
      const request = http.request({ agent: this.#agent, port: this.server.port, host: '127.0.0.1', path: route, method: 'POST',
        headers: { [name]: value, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) } }, (reply) => {
        let got = '';
        reply.setEncoding('utf8');
        reply.on('data', (part) => { got += part; });
        reply.on('end', () => resolve({ status: reply.statusCode, body: JSON.parse(got) }));
      });
      request.on('error', reject);
      request.end(text);
    });
  }
}
