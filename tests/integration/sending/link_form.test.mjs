// The form on which people ask for their unsubscribe link by mail, over a third-party relay: every address gets the same page, only
// known ones get a mail, once an hour, and the link of that mail unsubscribes and stores a choice.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { makePlace, must } from '../../lib/brand_fixture.mjs';
import { sql } from '../../lib/database.mjs';
import { installationFor } from '../../lib/installation.mjs';
import { packagesOf } from '../../lib/packages.mjs';
import { until } from '../../lib/processes.mjs';

const load = packagesOf('third_party');
const { SMTPServer } = load('smtp-server');
const { simpleParser } = load('mailparser');
const { parseDocument, DomUtils } = load('htmlparser2');

const LIMIT = { timeout: 600_000 };
const PUBLIC_URL = 'https://mail.example/ph';
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const DOMAIN = 'news.example.com';
const HOUR_S = 3600;
const taken = [];
let server;
let web;
let place;

const onData = (stream, session, callback) => {
  const chunks = [];
  stream.on('data', (chunk) => chunks.push(chunk));
  stream.on('end', () => {
    taken.push({ to: session.envelope.rcptTo.map(({ address }) => address), bytes: Buffer.concat(chunks) });
    callback();
  });
};

const relay = new SMTPServer({ authOptional: true, disableReverseLookup: true, logger: false, hideSTARTTLS: true, onData });
await new Promise((resolve) => relay.listen(0, '127.0.0.1', resolve));
const installation = installationFor({ after }, { PUBLIC_URL, RELAY: `smtp://127.0.0.1:${relay.server.address().port}?tls=none` });
const clock = installation.movableClock();

before(async () => {
  server = await installation.serve();
  place = await makePlace(installation, server);
  web = server.client();
  for (const name of ['Ada', 'bob', 'cyd']) await must(place.rest.call('POST', '/v1/contacts', { email: `${name}@example.com`, subscriptionGroups: { news: true } }));
  await installation.admin('group', 'public', 'news', '--name', 'The news', '--brand', place.brandId);
});

after(async () => {
  web.close();
  place.close();
  await new Promise((resolve) => relay.close(resolve));
});

const form = (brand = place.brandId) => `/u/?brand=${brand}`;
const ask = (email, brand) => web.post(form(brand), new URLSearchParams({ email }).toString(), FORM);
const shown = ({ status, headers, body }) => {
  const { date, 'x-request-id': id, ...kept } = headers;
  return { status, headers: kept, body };
};
const counted = async (state) => Number((await sql(installation, `select count(*) from jobs where kind = 'send_link' and state ${state}`))[0]);

/** Waits until the jobs of all requests have ended; `count` is the number of requests. */
const settled = (count) => until('the jobs have ended', async () => (await counted("= 'done'")) === count, 30_000);

test('a brand without a verified domain names itself and sends nothing', LIMIT, async () => {
  await installation.admin('domain', 'create', DOMAIN, '--brand', place.brandId);
  for (const page of [await web.get(form()), await ask('ada@example.com')]) {
    assert.equal(page.status, 200);
    assert.match(page.body, /Not available.*ask <strong dir="auto">Tools<\/strong> to unsubscribe you/s);
    assert.doesNotMatch(page.body, /<form/);
  }
  assert.equal(await counted('is not null'), 0);
  await installation.admin('domain', 'verify', DOMAIN, '--trust', '--brand', place.brandId);
});

test('the form works without scripts, and refuses what is no address', LIMIT, async () => {
  const page = await until('the relay is known', async () => {
    const got = await web.get(form());
    return got.body.includes('<form') && got;
  }, 30_000);
  const dom = parseDocument(page.body);
  const [input] = DomUtils.getElementsByTagName('input', dom);
  assert.deepEqual([input.attribs.type, input.attribs.name, input.parent.name], ['email', 'email', 'label']);
  assert.equal(DomUtils.getElementsByTagName('form', dom)[0].attribs.method, 'post');
  assert.equal(DomUtils.getElementsByTagName('script', dom).length, 0);
  assert.match(page.headers['content-security-policy'], /form-action 'self'/);
  for (const text of ['', 'ada', 'ada@', 'a b@example.com', `${'a'.repeat(400)}@example.com`, 'ada@example.com\r\nBcc: eve@example.com']) {
    const answer = await ask(text);
    assert.equal(answer.status, 400, text);
    assert.match(answer.body, /This is not an email address.*aria-describedby="fault"/s);
  }
  assert.equal((await web.post(form(), 'List-Unsubscribe=One-Click', FORM)).status, 400);
  for (const brand of ['', 'brd_unknown', place.brandId.slice(0, -1), 'x'.repeat(500)]) {
    assert.equal((await web.get(form(brand))).status, 404, brand);
    assert.equal((await ask('ada@example.com', brand)).status, 404, brand);
  }
  assert.equal((await web.get('/u/')).status, 404);
  assert.equal(await counted('is not null'), 0);
});

test('everybody gets the same page, and only known addresses a mail', LIMIT, async () => {
  await installation.admin('suppression', 'add', 'bob@example.com', '--reason', 'bounce', '--brand', place.brandId);
  const answers = [];
  for (const email of ['ada@example.com', 'nobody@example.com', 'bob@example.com', ' ADA@example.com ']) answers.push(shown(await ask(email)));
  for (const answer of answers) assert.deepEqual(answer, answers[0]);
  assert.equal(answers[0].status, 200);
  assert.match(answers[0].body, /Look at your mail/);
  await settled(4);
  assert.deepEqual(taken.map(({ to }) => to), [['Ada@example.com']]);
  assert.deepEqual(await sql(installation, 'select count(*) from link_mails'), ['1']);

  clock.advance(HOUR_S / 2);
  await ask('ada@example.com');
  await settled(5);
  assert.equal(taken.length, 1);
  clock.advance(HOUR_S / 2);
  await ask('ada@example.com');
  await settled(6);
  assert.deepEqual(taken.map(({ to }) => to), [['Ada@example.com'], ['Ada@example.com']]);

  // A recipient of an inline send, who is no contact.
  await sql(installation, `insert into events (brand_id, occurred_at, domain, event_type, recipient_email, recipient_key)
    select brand_id, now(), 'email', 'sent', 'Eve@example.com', 'eve@example.com' from link_mails`);
  assert.deepEqual(shown(await ask('eve@example.com')), answers[0]);
  await settled(7);
  assert.deepEqual(taken.at(-1).to, ['Eve@example.com']);
});

test('its link stores a choice and unsubscribes, without an event of a send', LIMIT, async () => {
  const mail = await simpleParser(taken[0].bytes);
  assert.equal(mail.from.value[0].address, `hello@${DOMAIN}`);
  assert.equal(mail.headers.get('auto-submitted'), 'auto-generated');
  assert.equal(mail.headers.get('dkim-signature') !== undefined, true);
  const [, path] = new RegExp(`^${PUBLIC_URL}(/u/[\\w-]{96})$`, 'm').exec(mail.text);
  const page = await web.get(path);
  assert.match(page.body, /Unsubscribe\?.*value="news" checked/s);
  assert.match((await web.post(path, 'preferences=save', FORM)).body, /Your choice is saved/);
  const ada = async () => (await must(place.rest.call('POST', '/v1/contacts/search', { search: 'ada@example.com' }))).data[0];
  assert.deepEqual((await ada()).subscriptionGroups, { news: false });
  assert.equal((await ada()).subscribed, true);
  assert.match((await web.post(path, 'List-Unsubscribe=One-Click', FORM)).body, /You are unsubscribed/);
  assert.equal((await ada()).subscribed, false);
  assert.deepEqual(await sql(installation, "select reason from suppressions where reason <> 'bounce'"), ['unsubscribe']);
  assert.deepEqual(await sql(installation, "select count(*) from events where event_type = 'unsubscribed'"), ['0']);

  const { text } = await simpleParser(taken.at(-1).bytes);
  assert.match((await web.post(/\/u\/[\w-]{96}/.exec(text)[0], 'List-Unsubscribe=One-Click', FORM)).body, /You are unsubscribed/);
  assert.deepEqual(await sql(installation, "select count(*) from suppressions where reason = 'unsubscribe'"), ['2']);
});
