// The page of an unsubscribe link with the subscription groups that an operator made public, read by an HTML parser and used without
// scripts: choosing, leaving all, and coming back by one's own wish.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { makePlace, must } from '../../lib/brand_fixture.mjs';
import { prepareSend, saveContacts } from '../../lib/campaign.mjs';
import { sql } from '../../lib/database.mjs';
import { installationFor } from '../../lib/installation.mjs';
import { packagesOf } from '../../lib/packages.mjs';
import { until } from '../../lib/processes.mjs';

const load = packagesOf('third_party');
const { simpleParser } = load('mailparser');
const { parseDocument, DomUtils } = load('htmlparser2');

const LIMIT = { timeout: 600_000 };
const PUBLIC_URL = 'https://mail.example/ph';
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const ODD_TITLE = '"Deals" & <b>more</b>';
const installation = installationFor({ after }, { PUBLIC_URL });
let server;
let web;
let place;

before(async () => {
  server = await installation.serve();
  place = await makePlace(installation, server);
  web = server.client();
  await saveContacts(place.mcp.call, 'reader', 2);
  const groups = { news: true, 'a/b=c': false, secret: true };
  await must(place.rest.call('POST', '/v1/contacts', { email: 'reader-0@example.com', subscriptionGroups: groups }));
  await installation.admin('group', 'public', 'news', '--name', 'The news', '--brand', place.brandId);
  await installation.admin('group', 'public', 'a/b=c', '--name', ODD_TITLE, '--brand', place.brandId);
});

after(() => {
  web.close();
  place.close();
});

/** The paths of the links in a fresh campaign, by recipient. */
async function campaignLinks() {
  const { sendId } = await must(place.rest.call('POST', '/v1/sends', await prepareSend(place.mcp.call)));
  await until('the send has ended', async () => (await must(place.rest.call('GET', `/v1/sends/${sendId}`))).status === 'completed', 30_000);
  const names = installation.outbox().filter((name) => name.startsWith(sendId));
  const mails = await Promise.all(names.map((name) => simpleParser(installation.readMessage(name))));
  return new Map(mails.map((mail) => [mail.to.value[0].address, mail.headers.get('list').unsubscribe.url.slice(PUBLIC_URL.length)]));
}

const all = (name, node) => DomUtils.getElementsByTagName(name, node, true);
const textOf = (node) => DomUtils.textContent(node).trim();

/** A page as a browser without scripts sees it. */
function readPage({ status, headers, body }) {
  assert.equal(status, 200, body);
  const page = parseDocument(body);
  const style = textOf(all('style', page)[0]);
  assert.ok(headers['content-security-policy'].includes(`'sha256-${createHash('sha256').update(style).digest('base64')}'`));
  assert.ok(headers['content-security-policy'].includes("form-action 'self'"));
  assert.equal(headers['cache-control'], 'no-store');
  assert.equal(all('html', page)[0].attribs.lang, 'en');
  assert.equal(all('script', page).length, 0);
  const forms = all('form', page);
  for (const form of forms) assert.deepEqual([form.attribs.method, form.attribs.action], ['post', undefined]);
  const form = forms.find((one) => all('fieldset', one).length > 0);
  const boxes = form === undefined ? [] : all('input', form).filter(({ attribs }) => attribs.type === 'checkbox');
  for (const box of boxes) assert.equal(box.parent.name, 'label', 'every box has a label');
  if (form !== undefined) assert.ok(textOf(all('legend', form)[0]).length > 0);
  const choices = Object.fromEntries(boxes.map((box) => [textOf(box.parent), box]));
  return { title: textOf(all('h1', page)[0]), forms: forms.length, form, choices };
}

/** What a browser posts when exactly the boxes with these labels are checked. */
function submission({ form, choices }, labels) {
  const hidden = all('input', form).filter(({ attribs }) => attribs.type === 'hidden');
  const checked = labels.map((label) => choices[Object.keys(choices).find((name) => name.startsWith(label))]);
  return new URLSearchParams([...hidden, ...checked].map(({ attribs }) => [attribs.name, attribs.value])).toString();
}

const contactOf = async (email) => (await must(place.rest.call('POST', '/v1/contacts/search', { search: email }))).data[0];

test('public groups are chosen on the page, private ones stay', LIMIT, async () => {
  const path = (await campaignLinks()).get('reader-0@example.com');
  const page = readPage(await web.get(path));
  assert.equal(page.title, 'Unsubscribe?');
  assert.deepEqual(Object.keys(page.choices).sort(), [ODD_TITLE, 'The news']);
  assert.deepEqual(Object.values(page.choices).map(({ attribs }) => 'checked' in attribs), [false, true]);

  const saved = readPage(await web.post(path, submission(page, [ODD_TITLE]), FORM));
  assert.equal(saved.title, 'Your choice is saved');
  assert.deepEqual(Object.values(saved.choices).map(({ attribs }) => 'checked' in attribs), [true, false]);
  const contact = await contactOf('reader-0@example.com');
  assert.deepEqual(contact.subscriptionGroups, { news: false, 'a/b=c': true, secret: true });
  assert.equal(contact.subscribed, true);
  assert.deepEqual(await sql(installation, "select count(*) from audit_log where operation = 'subscriptions.choose' and brand_id is not null"), ['1']);

  // A page that was made up: a private group and one that does not exist.
  await web.post(path, 'preferences=save&group-0=secret&group-1=made-up&group-2=news', FORM);
  assert.deepEqual((await contactOf('reader-0@example.com')).subscriptionGroups, { news: true, 'a/b=c': false, secret: true });
  assert.equal((await web.post(path, `preferences=save&${'x'.repeat(100_000)}`, FORM)).status, 400);
  assert.equal((await web.post(path, 'preferences=saved&group-0=news', FORM)).status, 400);
  assert.equal((await web.post(`${path.slice(0, -1)}${path.endsWith('A') ? 'B' : 'A'}`, 'preferences=save', FORM)).status, 404);
});

test('one click leaves all; a choice afterwards subscribes nobody; the own wish does', LIMIT, async () => {
  const path = (await campaignLinks()).get('reader-1@example.com');
  assert.equal((await web.post(path, 'List-Unsubscribe=One-Click', FORM)).status, 200);
  const left = readPage(await web.get(path));
  assert.equal(left.title, 'You are unsubscribed');
  assert.equal(left.forms, 1);
  readPage(await web.post(path, submission(left, ['The news']), FORM));
  const chosen = await contactOf('reader-1@example.com');
  assert.deepEqual([chosen.subscribed, chosen.subscriptionGroups], [false, { news: true, 'a/b=c': false }]);
  assert.ok(!(await campaignLinks()).has('reader-1@example.com'));

  readPage(await web.post(path, submission(left, ['The news', 'Subscribe me again']), FORM));
  const back = await contactOf('reader-1@example.com');
  assert.equal(back.subscribed, true);
  const consent = await sql(installation, "select consent ->> 'source', consent ->> 'capturedAt' is not null from contacts where email = 'reader-1@example.com'");
  assert.deepEqual(consent, ['preferences page|t']);
  assert.ok((await campaignLinks()).has('reader-1@example.com'));

  for (const group of ['news', 'a/b=c']) await installation.admin('group', 'private', group, '--brand', place.brandId);
  const plain = readPage(await web.get(path));
  assert.equal(plain.form, undefined);
  assert.deepEqual((await installation.admin('group', 'list', '--brand', place.brandId)).data, []);
});
