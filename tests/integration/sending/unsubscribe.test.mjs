// Unsubscribing by the link of a message, as mailboxes, scanners and people do it: a mail parser reads the link from a delivered
// message, a client follows it at a running server, and the next campaign shows the result.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sql } from '../../lib/database.mjs';
import { Installation } from '../../lib/installation.mjs';
import { packagesOf } from '../../lib/packages.mjs';
import { until } from '../../lib/processes.mjs';

const load = packagesOf('third_party');
const { simpleParser } = load('mailparser');

const LIMIT = { timeout: 600_000 };
const PUBLIC_URL = 'https://mail.example/ph';
const PROXY_CLIENT = '203.0.113.77'; // RFC 5737
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const ONE_CLICK = 'List-Unsubscribe=One-Click';
const DESIGN = '<html><head><title>Letter</title></head><body><p>Dear {{ firstName }}</p></body></html>';

describe('the unsubscribe link', LIMIT, () => {
  let installation;
  let server;
  let rest;
  let web;
  let emailId;
  let domainId;

  const must = async (method, path, body, expected = [200, 201, 202]) => {
    const answer = await rest.request(method, path, body);
    assert.ok(expected.includes(answer.status), `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };

  /** Sends the design to everybody and waits for the end: the messages by address. */
  async function campaign(target) {
    const { emailId: copy } = await must('POST', '/v1/emails/import', { content: DESIGN, title: 'Letter' });
    emailId = copy;
    const { sendId } = await must('POST', '/v1/sends', { emailId, domainId, subject: 'Hello {{ firstName }}', ...target });
    await until('the send has ended', async () => (await must('GET', `/v1/sends/${sendId}`)).status === 'completed', 30_000);
    const names = installation.outbox().filter((name) => name.startsWith(sendId));
    const mails = await Promise.all(names.map((name) => simpleParser(installation.readMessage(name))));
    return { sendId, mails: new Map(mails.map((mail) => [mail.to.value[0].address, mail])) };
  }

  const linkOf = (mail) => {
    const { unsubscribe } = mail.headers.get('list');
    assert.ok(unsubscribe.url.startsWith(`${PUBLIC_URL}/u/`), unsubscribe.url);
    return unsubscribe.url.slice(PUBLIC_URL.length);
  };
  const subscribed = async (email) =>
    (await must('POST', '/v1/contacts/search', { search: email })).data.find((contact) => contact.email === email)?.subscribed;
  const unsubscribes = async (sendId) => (await must('GET', `/v1/sends/${sendId}`)).stats.unsubscribed;

  before(async () => {
    installation = new Installation({ PUBLIC_URL });
    server = await installation.serve('--trusted-proxy', '127.0.0.1');
    rest = server.client(await installation.key('--brand', await installation.brandId()));
    web = server.client(undefined, {}, 4);
    domainId = (await must('GET', '/v1/domains')).data[0].domainId;
    for (const name of ['ada', 'bob', 'cyd', 'dee', 'eve'])
      await must('POST', '/v1/contacts', { email: `${name}@example.com`, firstName: name });
  });

  after(async () => {
    rest.close();
    web.close();
    assert.deepEqual(await installation.dispose(), []);
  });

  test('a message offers it to mailboxes and shows it to people', async () => {
    const { sendId, mails } = await campaign({ audienceId: 'all' });
    assert.equal(mails.size, 5);
    const tokens = new Set();
    for (const mail of mails.values()) {
      const link = PUBLIC_URL + linkOf(mail);
      tokens.add(link);
      assert.equal(mail.headers.get('list')['unsubscribe-post'].name, ONE_CLICK);
      assert.match(mail.headers.get('list').id.id ?? mail.headers.get('list').id.name, /^brd_\w+\./);
      assert.match(mail.headers.get('feedback-id'), new RegExp(`^${sendId}:brd_\\w+:marketing:\\w{5,15}$`));
      assert.equal(mail.headers.get('precedence'), 'bulk');
      assert.ok(mail.html.includes(`href="${link}">Unsubscribe</a>`), mail.html);
      assert.ok(mail.text.includes(`Unsubscribe: ${link}`), mail.text);
    }
    assert.equal(tokens.size, 5, 'everybody has a link of their own');
  });

  test('following it shows a page and changes nothing', async () => {
    const { sendId, mails } = await campaign({ to: ['ada@example.com'] });
    const path = linkOf(mails.get('ada@example.com'));
    for (let i = 0; i < 3; i++) {
      const page = await web.get(path);
      assert.equal(page.status, 200);
      assert.match(page.body, /<form method="post"><input type="hidden" name="List-Unsubscribe" value="One-Click"><button/);
      const head = await web.request('HEAD', path);
      assert.equal(head.status, 200);
      assert.equal(head.body, '');
    }
    assert.equal(await subscribed('ada@example.com'), true);
    assert.equal(await unsubscribes(sendId), 0);
  });

  test('its page is closed to everything from elsewhere', async () => {
    const { mails } = await campaign({ to: ['ada@example.com'] });
    const { headers, body } = await web.get(linkOf(mails.get('ada@example.com')));
    const style = /<style>(.*)<\/style>/.exec(body)[1];
    const hash = createHash('sha256').update(style).digest('base64');
    assert.equal(headers['content-security-policy'],
      `default-src 'none'; style-src 'sha256-${hash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`);
    assert.equal(headers['cache-control'], 'no-store');
    assert.equal(headers['referrer-policy'], 'no-referrer');
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.match(headers['x-robots-tag'], /noindex/);
    assert.match(headers['content-type'], /^text\/html; charset=utf-8$/);
    assert.equal(headers['set-cookie'], undefined);
    assert.match(body, /<html lang="en">.*<meta name="color-scheme" content="light dark">/);
    assert.doesNotMatch(body, /https?:|<script|<img|<link|@import|url\(/);
  });

  test('one click leaves, once, and the next campaign passes the person over', async () => {
    const { sendId, mails } = await campaign({ audienceId: 'all' });
    const path = linkOf(mails.get('bob@example.com'));
    const first = await web.post(path, ONE_CLICK, FORM);
    assert.equal(first.status, 200);
    assert.equal(first.headers['set-cookie'], undefined);
    assert.match(first.body, /You are unsubscribed/);
    const second = await web.post(path, ONE_CLICK, FORM);
    assert.equal(second.status, 200);
    assert.match((await web.get(path)).body, /You are unsubscribed/);
    assert.equal(await subscribed('bob@example.com'), false);
    assert.equal(await unsubscribes(sendId), 1);
    const { data } = await must('GET', `/v1/analytics/events?sendId=${sendId}&eventType=unsubscribed`);
    assert.deepEqual(data.map(({ recipientEmail }) => recipientEmail), ['bob@example.com']);
    const audited = await sql(installation, `select count(*), bool_and(brand_id is not null and organization_id > 0 and key_id is null)
      from audit_log where operation = 'subscriptions.leave' and '${sendId}' = any(subjects)`);
    assert.deepEqual(audited, ['2|t']);

    const next = await campaign({ audienceId: 'all' });
    assert.deepEqual([...next.mails.keys()].sort(), ['ada', 'cyd', 'dee', 'eve'].map((name) => `${name}@example.com`));
  });

  test('a form of several parts is understood, and many clicks at once are one', async () => {
    const { sendId, mails } = await campaign({ to: ['cyd@example.com'] });
    const path = linkOf(mails.get('cyd@example.com'));
    const body = '--x\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--\r\n';
    const headers = { 'content-type': 'multipart/form-data; boundary=x' };
    const answers = await Promise.all(Array.from({ length: 20 }, () => web.post(path, body, headers)));
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    assert.equal(await subscribed('cyd@example.com'), false);
    assert.equal(await unsubscribes(sendId), 1);
  });

  test('other requests change nothing', async () => {
    const { sendId, mails } = await campaign({ to: ['dee@example.com'] });
    const path = linkOf(mails.get('dee@example.com'));
    assert.equal((await web.post(path, '', FORM)).status, 400);
    assert.equal((await web.post(path, 'List-Unsubscribe=Later', FORM)).status, 400);
    assert.equal((await web.post(path, `x=${'y'.repeat(100_000)}&${ONE_CLICK}`, FORM)).status, 400);
    const put = await web.request('PUT', path, ONE_CLICK, FORM);
    assert.equal(put.status, 405);
    assert.equal(put.headers.allow, 'GET, HEAD, POST');
    assert.equal((await web.post(`${path}x`, ONE_CLICK, FORM)).status, 404);
    assert.equal((await web.post(`${path}/`, ONE_CLICK, FORM)).status, 404);
    assert.equal(await subscribed('dee@example.com'), true);
    assert.equal(await unsubscribes(sendId), 0);
  });

  test('a link that was not given out leads to a page that says so', async () => {
    const { mails } = await campaign({ to: ['dee@example.com'] });
    const path = linkOf(mails.get('dee@example.com'));
    for (let i = '/u/'.length; i < path.length; i += 5) {
      const forged = path.slice(0, i) + (path[i] === 'A' ? 'B' : 'A') + path.slice(i + 1);
      const answer = await web.post(forged, ONE_CLICK, FORM);
      assert.equal(answer.status, 404, forged);
      assert.match(answer.body, /This link does not work/);
    }
    for (const odd of ['/u/%00', '/u/..', `/u/${'A'.repeat(5000)}`, '/u/%2e%2e', "/u/a'b"]) assert.equal((await web.get(odd)).status, 404, odd);
    assert.equal(await subscribed('dee@example.com'), true);
  });

  test('who guesses has to wait, who has a link does not', async () => {
    const { mails } = await campaign({ to: ['dee@example.com'] });
    const path = linkOf(mails.get('dee@example.com'));
    const from = { 'x-forwarded-for': `198.51.100.1, ${PROXY_CLIENT}` };
    const guess = `/u/${'A'.repeat(96)}`;
    const late = await until('a link is refused to who guesses', async () => {
      const statuses = [];
      while (statuses.length < 200 && statuses.at(-1) !== 429) statuses.push((await web.get(guess, from)).status);
      assert.equal(statuses.at(-1), 429);
      const answer = await web.get(path, from);
      return answer.status === 429 && answer; // between the two, a request may have become free again
    });
    assert.ok(Number(late.headers['retry-after']) > 0);
    assert.equal((await web.get(path, { 'x-forwarded-for': '198.51.100.1' })).status, 200);
    assert.equal((await web.get(path)).status, 200);
  });

  test('a contact that is gone leaves as well, and stays away when it is imported again', async () => {
    const { sendId, mails } = await campaign({ to: ['eve@example.com'] });
    await must('DELETE', '/v1/contacts/eve@example.com');
    assert.equal((await web.post(linkOf(mails.get('eve@example.com')), ONE_CLICK, FORM)).status, 200);
    assert.equal(await unsubscribes(sendId), 1);
    await must('POST', '/v1/contacts/import-csv', { csv: 'email,firstName\neve@example.com,Eve\n' });
    assert.equal(await subscribed('eve@example.com'), false);
    await must('POST', '/v1/contacts', { email: 'eve@example.com', subscribed: true });
    const next = await campaign({ audienceId: 'all' });
    assert.ok(!next.mails.has('eve@example.com'), 'saying so is no consent');

    const consent = { source: 'form', capturedAt: new Date().toISOString() };
    await must('PATCH', '/v1/contacts/eve@example.com', { fields: { subscribed: true }, consent });
    assert.ok((await campaign({ audienceId: 'all' })).mails.has('eve@example.com'), 'a consent given later is');
  });

  test('the link of a test message unsubscribes nobody', async () => {
    const content = DESIGN.replace('</p>', '</p><a href="{{ unsubscribeUrl }}">Leave</a>');
    const { emailId: tested } = await must('POST', '/v1/emails/import', { content, title: 'Test' });
    const before = new Set(installation.outbox());
    await must('POST', '/v1/sends', { test: true, emailId: tested, to: ['dee@example.com'], subject: 'Test' });
    const [name] = installation.outbox().filter((file) => !before.has(file));
    const mail = await simpleParser(installation.readMessage(name));
    const path = new RegExp(`href="${PUBLIC_URL}(/u/[^"]+)"`).exec(mail.html)[1];
    assert.match((await web.get(path)).body, /A test message/);
    assert.match((await web.post(path, ONE_CLICK, FORM)).body, /Here it changes nothing/);
    assert.equal(await subscribed('dee@example.com'), true);
  });
});
