// Reports of other mail systems that come as mail: a real Postfix delivers our mail, and its bounces and delays come back over LMTP;
// complaints, answers and unsubscribes come over LMTP and by the command. Each outcome stands in the events, the figures and `why`.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { Mailing } from '../../faults/mailing.mjs';
import { sql } from '../../lib/database.mjs';
import { BINARY } from '../../lib/installation.mjs';
import { LmtpClient } from '../../lib/lmtp_client.mjs';
import { packagesOf } from '../../lib/packages.mjs';
import { freePort } from '../../lib/ports.mjs';
import { Postfix, missingPostfix } from '../../lib/postfix.mjs';
import { until } from '../../lib/processes.mjs';

const load = packagesOf('third_party');
const { SMTPServer } = load('smtp-server');
const { simpleParser } = load('mailparser');

const ENDS_MS = 60_000;
const HOST = 'bounce.letters.example';
const RETURN_PATH = /^b[a-z2-7]{53}@bounce\.letters\.example$/;
const REPLIES = { gone: '550 5.1.1 no such user', listed: '554 5.7.1 listed by a block list', full: '552 5.2.2 mailbox is full', slow: '451 4.3.0 try later' };
const names = ['ada', 'bob', 'cyd', 'dan', ...Object.keys(REPLIES)];
const address = (name) => `${name}@readers.example`;

const arf = (messageId) => `From: fbl@provider.example
To: fbl@${HOST}
Subject: Feedback
MIME-Version: 1.0
Content-Type: multipart/report; report-type=feedback-report; boundary=part

--part
Content-Type: text/plain

A complaint.
--part
Content-Type: message/feedback-report

Feedback-Type: abuse
User-Agent: Provider/1
Version: 1

--part
Content-Type: text/rfc822-headers

Message-ID: ${messageId}
Subject: Hello

--part--
`;

const plainBounce = `From: MAILER-DAEMON@old.example
Subject: failure notice

Hi. This is the qmail-send program at old.example.

<dan@readers.example>:
Sorry, no mailbox here by that name. (#5.1.1)
`;

const answer = (messageId) => `From: bob@readers.example
Subject: Out of office
Auto-Submitted: auto-replied
In-Reply-To: ${messageId}

I am away.
`;

describe('reports that come as mail', { timeout: 600_000, skip: missingPostfix() }, () => {
  const taken = new Map();
  let sink;
  let postfix;
  let mailing;
  let lmtpPort;
  let send;

  const one = async (statement) => (await sql(mailing.installation, statement))[0];
  const counted = (kind, outcome) => one(`select coalesce(sum(count), 0) from report_counts where kind = '${kind}' and outcome = '${outcome}'`);
  const suppressed = () => one("select string_agg(concat_ws(' ', reason, source, expires_at is null), ',' order by created_at, reason) from suppressions");
  const stats = () => one(`select concat_ws(' ', delivered, bounced, bounced_later, complained, unsubscribed) from send_stats where send_id = ${send.key}`);
  const eventsOf = (type) => sql(mailing.installation, `select recipient_email || '|' || coalesce(summary, '') from events where event_type = '${type}' order by 1`);

  /** posthorn bounce with a message on its standard input: {code, body}. */
  function bounce(message, ...options) {
    const child = spawn(BINARY, ['bounce', ...options], { env: mailing.installation.environment });
    let stdout = '';
    child.stdout.on('data', (chunk) => (stdout += chunk));
    child.stdin.on('error', () => {});
    child.stdin.end(message);
    return new Promise((resolve) => child.on('close', (code) => resolve({ code, body: stdout && JSON.parse(stdout) })));
  }

  before(async () => {
    sink = new SMTPServer({
      authOptional: true, disableReverseLookup: true, logger: false, hideSTARTTLS: true,
      onRcptTo({ address: to }, session, callback) {
        const reply = REPLIES[to.split('@')[0]];
        if (reply === undefined) return callback();
        return callback(Object.assign(new Error(reply.slice(4)), { responseCode: Number(reply.slice(0, 3)) }));
      },
      onData(stream, { envelope }, callback) {
        simpleParser(stream).then((mail) => {
          taken.set(envelope.rcptTo[0].address, { from: envelope.mailFrom.address, mail });
          callback();
        }, callback);
      },
    });
    await new Promise((resolve) => sink.listen(0, '127.0.0.1', resolve));
    lmtpPort = await freePort();
    postfix = await Postfix.start({
      nextHop: sink.server.address().port,
      settings: {
        transport_maps: `inline:{${HOST}=lmtp:inet:[127.0.0.1]:${lmtpPort}}`, lmtp_host_lookup: 'native', lmtp_tls_security_level: 'none',
        delay_warning_time: '1s', queue_run_delay: '1s', minimal_backoff_time: '1s', maximal_backoff_time: '2s', soft_bounce: 'no',
      },
    });
    mailing = await Mailing.prepare({
      addresses: names.map(address), sinks: [`smtp://127.0.0.1:${postfix.port}?tls=none`], options: { PUBLIC_URL: 'https://mail.example' },
      start: async (installation) => {
        await installation.admin('brand', 'list'); // migrates the database, which two processes would do at a time
        await installation.serve('--lmtp', `127.0.0.1:${lmtpPort}`);
      },
    });
    // As after a check that has found the records of the return path.
    await sql(mailing.installation, `update domains set published = array['MX ${HOST}', 'TXT ${HOST}'] where name = 'letters.example'`);
    send = await mailing.start();
    await mailing.ended(send, ENDS_MS);
    await until('Postfix has delivered', () => taken.size === 4, ENDS_MS);
  });

  after(async () => {
    const left = await mailing?.dispose();
    postfix?.stop();
    await new Promise((resolve) => sink.close(resolve));
    assert.deepEqual(left, [], 'left behind');
  });

  test('bounces and delays of Postfix come back by the return path (D-117, D-118)', async () => {
    const outcomes = ['bounce applied', 'delay noted'];
    const has = async () => (await counted('bounce', 'applied')) === '3' && Number(await counted('delay', 'noted')) > 0;
    await until(outcomes.join(', '), has, ENDS_MS).catch((problem) => assert.fail(`${problem.message}\n${postfix.log().slice(-3000)}`));
    for (const { from } of taken.values()) assert.match(from, RETURN_PATH);
    assert.equal(new Set([...taken.values()].map(({ from }) => from)).size, 4, 'each recipient has a return path');
    const bounced = await eventsOf('bounced');
    assert.deepEqual(bounced.map((row) => row.split('|')[0]), ['full', 'gone', 'listed'].map(address));
    assert.match(bounced[1], /550 5\.1\.1 no such user/);
    assert.equal(await stats(), '8 3 3 0 0', 'the delivered count stays');
    assert.equal((await suppressed()).split(',').sort().join(), 'bounce report f,bounce report t', 'the block suppresses nobody');
    const why = JSON.parse((await mailing.installation.run('why', address('gone'))).stdout);
    assert.equal(why.suppression.reason, 'bounce');
    assert.match(why.sends[0].summary, /^Not delivered: accepted at .*A bounce was reported at .*550 5\.1\.1 no such user/);
    assert.equal(await one(`select count(*) > 0 from send_results where delayed_at is not null and delay is not null`), 't');
  });

  test('a report without the original headers is found by its return path, once', async () => {
    const { from } = taken.get(address('dan'));
    assert.deepEqual(await bounce(plainBounce, '--return-path', from.toUpperCase()), { code: 0, body: { kind: 'bounce', outcome: 'applied' } });
    assert.deepEqual(await bounce(plainBounce, '--return-path', from), { code: 0, body: { kind: 'bounce', outcome: 'repeated' } });
    assert.equal(await stats(), '8 4 4 0 0');
    const forged = from.replace(/^b../, (start) => `b${start[2]}${start[1] === 'a' ? 'b' : 'a'}`);
    assert.deepEqual(await bounce(plainBounce, '--return-path', forged), { code: 0, body: { kind: 'bounce', outcome: 'unknown' } });
    const { unmatched } = await mailing.installation.admin('reports', '--unmatched');
    assert.equal(unmatched.length, 1);
    assert.equal(unmatched[0].returnPath, forged);
    assert.match(unmatched[0].diagnostic, /no mailbox here/);
    assert.equal((await bounce('')).code, 65);
  });

  test('LMTP takes complaints, answers and unsubscribes, and only for addresses that are ours (D-124)', async () => {
    const client = await LmtpClient.open(lmtpPort);
    assert.match(client.greeting, /^220 /);
    assert.match(await client.command('LHLO mail.test'), /PIPELINING[^]*8BITMIME[^]*SMTPUTF8[^]*SIZE 10485760/);
    const { mail } = taken.get(address('bob'));
    const leave = /<mailto:(u[^>]+)>/.exec(mail.headerLines.find(({ key }) => key === 'list-unsubscribe').line.replace(/\r\n\s/g, ''))[1];
    assert.deepEqual(await client.deliver([taken.get(address('bob')).from], answer(mail.messageId)), ['250 2.0.0 The report is recorded']);
    assert.equal(await counted('auto_reply', 'noted'), '1');
    assert.deepEqual(await client.deliver([leave, `fbl@${HOST}`], 'From: bob@readers.example\n\nplease\n..\n.'), Array(2).fill('250 2.0.0 The report is recorded'));
    assert.deepEqual(await client.deliver([`fbl@${HOST}`], arf(taken.get(address('cyd')).mail.messageId)), ['250 2.0.0 The report is recorded']);
    assert.equal(await stats(), '8 4 4 1 1');
    assert.equal(await one(`select subscribed from contacts where email = '${address('bob')}'`), 'f');
    assert.match(await suppressed(), /complaint report t/);
    await client.command('MAIL FROM:<>');
    assert.match(await client.command('RCPT TO:<somebody@letters.example>'), /^550 5\.1\.1/);
    assert.match(await client.command(`RCPT TO:<b${'a'.repeat(53)}@${HOST}>`), /^550 5\.1\.1/);
    assert.match(await client.command('DATA'), /^503/);
    assert.match(await client.command('RSET'), /^250/);
    assert.match(await client.command('MAIL FROM:<> SIZE=10485761'), /^552/);
    const [tooLarge] = await client.deliver([`fbl@${HOST}`], `From: a@b.example\n\n${'x'.repeat(10 * 1024 * 1024)}`);
    assert.match(tooLarge, /^552 5\.3\.4/);
    assert.match(await client.command('QUIT'), /^221/);
    client.close();
  });

  test('a peer that is cut off may deliver again, as may one that was told to try later', async () => {
    const { from } = taken.get(address('ada'));
    const cut = await LmtpClient.open(lmtpPort);
    cut.write(`LHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<${from}>\r\nDATA\r\n${plainBounce.replaceAll('\n', '\r\n')}.\r\n`);
    await until('it is recorded', async () => (await stats()) === '8 5 5 1 1', ENDS_MS);
    cut.close();
    const again = await LmtpClient.open(lmtpPort);
    await again.command('LHLO x');
    assert.deepEqual(await again.deliver([from], plainBounce), ['250 2.0.0 The report is recorded']);
    assert.equal(await stats(), '8 5 5 1 1');
    await sql(mailing.installation, 'alter table report_counts rename to report_counts_away');
    assert.match((await again.deliver([from], plainBounce))[0], /^451 4\.3\.0/);
    assert.equal((await bounce(plainBounce, '--return-path', from)).code, 75);
    await sql(mailing.installation, 'alter table report_counts_away rename to report_counts');
    assert.match((await again.deliver([from], plainBounce))[0], /^250/);
    assert.equal(Number(await one("select count(*) from audit_log where operation = 'mailReports.receive' and door = 'mail'")) > 5, true);
    again.close();
  });
});
