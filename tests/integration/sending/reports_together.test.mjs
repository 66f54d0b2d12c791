// The same bounce, reported over LMTP, in a mailbox (IMAP), by the command and by a provider's webhook at the same instant, and over LMTP
// by a peer whose server is killed: it counts once.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { bounceReport } from '../../lib/bounce_report.mjs';
import { Dovecot, missingDovecot } from '../../lib/dovecot.mjs';
import { SqlSession, sql } from '../../lib/database.mjs';
import { BINARY, Installation } from '../../lib/installation.mjs';
import { LmtpClient } from '../../lib/lmtp_client.mjs';
import { packagesOf } from '../../lib/packages.mjs';
import { freePort } from '../../lib/ports.mjs';
import { until } from '../../lib/processes.mjs';

const { simpleParser } = packagesOf('third_party')('mailparser');

const WAIT_MS = 60_000;
const NAMES = Array.from({ length: 12 }, (_, i) => `reader${i}`);
const LAST = 'last';
const address = (name) => `${name}@readers.example`;

const bounceOf = (name, token) => bounceReport({ to: address(name), id: `${token}@readers.example` });

describe('one report by several ways', { timeout: 600_000, skip: missingDovecot() }, () => {
  let dovecot;
  let installation;
  let server;
  let lmtpPort;
  let source;
  let tokens;

  const one = async (statement) => (await sql(installation, statement))[0];
  const counted = (outcome) => one(`select coalesce(sum(count), 0) from report_counts where kind = 'bounce' and outcome = '${outcome}'`);

  async function overLmtp(name) {
    const client = await LmtpClient.open(lmtpPort);
    await client.command('LHLO mail.test');
    const replies = await client.deliver(['fbl@bounce.letters.example'], bounceOf(name, tokens[name]));
    client.close();
    assert.deepEqual(replies, ['250 2.0.0 The report is recorded']);
  }

  async function byCommand(name) {
    const child = spawn(BINARY, ['bounce'], { env: installation.environment });
    child.stdin.end(bounceOf(name, tokens[name]));
    assert.deepEqual(await once(child, 'close'), [0, null]);
  }

  async function byWebhook(name) {
    const body = { RecordType: 'Bounce', Type: 'HardBounce', Email: address(name), Description: '550 5.1.1 no such user', Metadata: { posthorn: tokens[name] } };
    const headers = { 'content-type': 'application/json', authorization: `Basic ${Buffer.from(source.credential).toString('base64')}` };
    const answer = await fetch(`http://127.0.0.1:${server.port}${source.path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    assert.equal(answer.status, 200, await answer.text());
  }

  const serve = () => installation.serve('--lmtp', `127.0.0.1:${lmtpPort}`);

  before(async () => {
    dovecot = await Dovecot.start();
    installation = new Installation({ IMAP: `imap://reports:secret@127.0.0.1:${dovecot.port}/INBOX?tls=none&every=1` });
    lmtpPort = await freePort();
    await installation.admin('brand', 'list');
    server = await serve();
    const rest = server.client(await installation.key('--brand', await installation.brandId()));
    source = await installation.admin('report-source', 'add', 'postmark');
    const { body: design } = await rest.request('POST', '/v1/emails/import', { content: '<html><body><p>Hello</p></body></html>', title: 'Letter' });
    const domainId = (await rest.request('GET', '/v1/domains')).body.data[0].domainId;
    for (const name of [...NAMES, LAST]) await rest.request('POST', '/v1/contacts', { email: address(name) });
    const { body: send } = await rest.request('POST', '/v1/sends', { emailId: design.emailId, domainId, subject: 'Hello', audienceId: 'all' });
    await until('the send has ended', async () => (await rest.request('GET', `/v1/sends/${send.sendId}`)).body.status === 'completed', WAIT_MS);
    const mails = await Promise.all(installation.outbox().map((name) => simpleParser(installation.readMessage(name))));
    tokens = Object.fromEntries(mails.map((mail) => [mail.to.value[0].address.split('@')[0], mail.messageId.slice(1).split('@')[0]]));
    rest.close();
  });

  after(async () => {
    const left = await installation.dispose();
    await dovecot.stop();
    assert.deepEqual(left, []);
  });

  test('reports that arrive together count once', async () => {
    for (const name of NAMES) dovecot.deliver(bounceOf(name, tokens[name]));
    await Promise.all(NAMES.flatMap((name, i) => [overLmtp(name), byWebhook(name), overLmtp(name), ...(i % 4 === 0 ? [byCommand(name)] : [])]));
    await until('the mailbox is empty', () => dovecot.messages().length === 0, WAIT_MS);
    assert.equal(await counted('applied'), String(NAMES.length));
    assert.equal(await counted('repeated'), String(3 * NAMES.length + NAMES.length / 4), 'no report is lost');
    assert.equal(await one("select count(*) || ' ' || count(distinct recipient_email) from events where event_type = 'bounced'"), `${NAMES.length} ${NAMES.length}`);
    assert.equal(await one('select bounced_later from send_stats'), String(NAMES.length));
    assert.equal(await one("select count(*) from suppressions where reason = 'bounce'"), String(NAMES.length));
  });

  test('a server that is killed before its reply applies the report once', async () => {
    const blocker = await SqlSession.open(installation);
    await blocker.rows('begin');
    await blocker.rows('lock table audit_log in share mode');
    const cut = await LmtpClient.open(lmtpPort);
    await cut.command('LHLO mail.test');
    const pending = cut.deliver(['fbl@bounce.letters.example'], bounceOf(LAST, tokens[LAST]));
    await until('the report waits in its transaction', async () =>
      (await one("select count(*) > 0 from pg_locks where not granted and relation = 'audit_log'::regclass")) === 't', WAIT_MS);
    await server.kill();
    assert.deepEqual(await pending, [undefined], 'no reply');
    cut.close();
    await blocker.close();
    server = await serve();
    await overLmtp(LAST);
    await overLmtp(LAST);
    assert.equal(await one('select bounced_later from send_stats'), String(NAMES.length + 1));
    assert.equal(await one(`select count(*) from events where event_type = 'bounced' and recipient_email = '${address(LAST)}'`), '1');
  });
});
