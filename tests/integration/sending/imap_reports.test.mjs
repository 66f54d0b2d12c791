// Reports in a mailbox of a real Dovecot: they are fetched by IMAP, and leave the mailbox only after they are recorded. The address of the
// mailbox is an option of the server, or stored with a sealed password; then a real Postfix delivers the bounces to Dovecot by LMTP.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Mailing } from '../../faults/mailing.mjs';
import { Dovecot, missingDovecot } from '../../lib/dovecot.mjs';
import { sql } from '../../lib/database.mjs';
import { installationFor } from '../../lib/installation.mjs';
import { packagesOf } from '../../lib/packages.mjs';
import { Postfix, missingPostfix } from '../../lib/postfix.mjs';
import { until } from '../../lib/processes.mjs';

const WAIT_MS = 60_000;
const bounce = (name) => `From: MAILER-DAEMON@old.example\r\nSubject: failure notice\r\n\r\n<${name}@readers.example>:\r\nSorry, no mailbox here by that name. (#5.1.1)\r\n`;

test('a mailbox is emptied as its reports are recorded', { timeout: 600_000, skip: missingDovecot() }, async (t) => {
  const dovecot = await Dovecot.start();
  t.after(() => dovecot.stop());
  const installation = installationFor(t, { IMAP: `imap://reports:secret@127.0.0.1:${dovecot.port}/INBOX?tls=none&every=1` });
  const counted = async () => Number((await sql(installation, "select coalesce(sum(count), 0) from report_counts where source = 'imap' and kind = 'bounce'"))[0]);
  await installation.admin('brand', 'list');
  await sql(installation, 'alter table report_counts rename to report_counts_away');
  for (const name of ['ada', 'bob', 'cyd']) dovecot.deliver(bounce(name));
  const server = await installation.serve();
  const failed = () => server.log.some((line) => line.includes('imap.message'));
  await until('the first message could not be recorded', failed, WAIT_MS).catch((problem) => assert.fail(`${problem.message}\n${server.log.join('\n')}\n${dovecot.log()}`));
  const { errorCode, sqlstate } = JSON.parse(server.log.find((line) => line.includes('imap.message')));
  assert.deepEqual({ errorCode, sqlstate }, { errorCode: 'INTERNAL_ERROR', sqlstate: '42P01' }, 'the log has the error as any other');
  assert.equal(dovecot.messages().length, 3, 'all of them stay');
  await sql(installation, 'alter table report_counts_away rename to report_counts');
  await until('the mailbox is empty', () => dovecot.messages().length === 0, WAIT_MS);
  assert.equal(await counted(), 3, 'each is recorded once');
  const { unmatched } = await installation.admin('reports', '--unmatched');
  assert.deepEqual(unmatched.map(({ recipient }) => recipient).sort(), ['ada', 'bob', 'cyd'].map((name) => `${name}@readers.example`));
  dovecot.deliver(bounce('dan'));
  await until('a later message is fetched too', async () => (await counted()) === 4, WAIT_MS);
  assert.ok(!server.log.some((line) => line.includes('secret')), 'no password in the log');
});

const HOST = 'bounce.letters.example';
const GONE = ['gone@readers.example', 'left@readers.example'];
const PASSWORD = 'secret';

/** A relay that knows no reader of GONE: {port, close}. */
async function relay() {
  const { SMTPServer } = packagesOf('third_party')('smtp-server');
  const server = new SMTPServer({
    authOptional: true, disableReverseLookup: true, logger: false, hideSTARTTLS: true,
    onRcptTo: ({ address }, session, callback) => callback(GONE.includes(address) ? Object.assign(new Error('5.1.1 no such user'), { responseCode: 550 }) : undefined),
    onData: (stream, session, callback) => stream.resume().on('end', callback),
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: server.server.address().port, close: () => new Promise((resolve) => server.close(resolve)) };
}

test('a stored mailbox is polled with its sealed password', { timeout: 600_000, skip: missingDovecot() ?? missingPostfix() }, async (t) => {
  const dovecot = await Dovecot.start();
  t.after(() => dovecot.stop());
  const sink = await relay();
  t.after(sink.close);
  const postfix = await Postfix.start({ nextHop: sink.port, settings: { transport_maps: `inline:{${HOST}=lmtp:inet:[127.0.0.1]:${dovecot.lmtpPort}}`, lmtp_host_lookup: 'native', lmtp_tls_security_level: 'none' } });
  t.after(() => postfix.stop());
  const addresses = ['ada@readers.example', ...GONE];
  let servers;
  const mailing = await Mailing.prepare({
    addresses, sinks: [`smtp://127.0.0.1:${postfix.port}?tls=none`], options: { PUBLIC_URL: 'https://mail.example' },
    start: async (installation) => {
      await installation.admin('brand', 'list');
      servers = [await installation.serve(), await installation.serve()];
    },
  });
  t.after(async () => assert.deepEqual(await mailing.dispose(), [], 'left behind'));
  const { installation } = mailing;
  const one = async (statement) => (await sql(installation, statement))[0];
  const secretFile = join(installation.folder, 'mailbox.secret');
  const address = `imap://reports@127.0.0.1:${dovecot.port}/INBOX?tls=none&every=1`;
  const refused = async (words, reason) => assert.match((await installation.run('admin', 'mailbox', ...words)).stderr, reason);
  writeFileSync(secretFile, 'wrong\n');
  await refused(['add', address], /--secret-file/);
  await refused(['add', address.replace('reports@', `reports:${PASSWORD}@`), '--secret-file', secretFile], /must not contain the password/);
  await refused(['add', 'imap://127.0.0.1/INBOX', '--secret-file', secretFile], /imaps:\/\/user@host/);
  const { mailboxId } = await installation.admin('mailbox', 'add', address, '--secret-file', secretFile);
  const mailbox = async () => (await installation.admin('mailbox', 'list')).data[0];
  await until('the wrong password is refused', async () => (await mailbox()).problem !== undefined, WAIT_MS);
  assert.match((await mailbox()).problem, /[Ll]ogin|denied/);

  await sql(installation, `update domains set published = array['MX ${HOST}', 'TXT ${HOST}'] where name = 'letters.example'`);
  const send = await mailing.start();
  await mailing.ended(send, WAIT_MS);
  await until('Postfix has bounced by LMTP', () => dovecot.messages().length === GONE.length, WAIT_MS).catch((problem) => assert.fail(`${problem.message}\n${postfix.log().slice(-3000)}\n${dovecot.log()}`));
  assert.equal(await one("select count(*) from events where event_type = 'bounced'"), '0');

  writeFileSync(secretFile, `${PASSWORD}\n`);
  assert.equal((await installation.admin('mailbox', 'rotate', String(mailboxId), '--secret-file', secretFile)).rotated, true);
  await until('the mailbox is empty', () => dovecot.messages().length === 0, WAIT_MS).catch((problem) => assert.fail(`${problem.message}\n${servers.flatMap(({ log }) => log).join('\n')}\n${dovecot.log()}`));
  assert.deepEqual(await sql(installation, "select recipient_email from events where event_type = 'bounced' order by 1"), GONE);
  assert.equal(await one("select string_agg(concat_ws(' ', source, kind, outcome, count), ',') from report_counts where kind = 'bounce' and outcome = 'applied'"), `imap bounce applied ${GONE.length}`, 'each is counted once, although two servers poll');
  await until('the problem is gone', async () => (await mailbox()).problem === undefined, WAIT_MS);

  await installation.admin('keys', 'add');
  assert.ok((await installation.admin('keys', 'rewrap')).resealed >= 1);
  const polledAt = (await mailbox()).polledAt;
  await until('it is polled after its password was sealed anew', async () => (await mailbox()).polledAt > polledAt, WAIT_MS);
  assert.equal((await mailbox()).problem, undefined);
  assert.equal((await installation.admin('mailbox', 'remove', String(mailboxId))).removed, true);
  assert.deepEqual((await installation.admin('mailbox', 'list')).data, []);
  const said = [...servers.flatMap(({ log }) => log), installation.runnerLog].join('\n');
  assert.ok(!said.includes(PASSWORD), 'no password in the logs');
  for (const { pid } of servers) assert.ok(!readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(PASSWORD), 'nor in the arguments');
});
