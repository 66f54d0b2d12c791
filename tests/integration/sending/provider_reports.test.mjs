// Reports of mail providers at a running server: signed notifications of SES, SendGrid and Postmark about delivered messages, and
// what is refused. The judges are the providers' own verifiers. Their signers here use generated keys, and the certificate is on
// this machine (D-119).

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createSign, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { readFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Readable } from 'node:stream';
import { sql } from '../../lib/database.mjs';
import { Installation } from '../../lib/installation.mjs';
import { packagesOf } from '../../lib/packages.mjs';
import { until } from '../../lib/processes.mjs';

const load = packagesOf('third_party');
const SnsValidator = load('sns-validator');
const { EventWebhook } = load('@sendgrid/eventwebhook');
const { simpleParser } = load('mailparser');

const LIMIT = { timeout: 600_000 };
const TOPIC = 'arn:aws:sns:eu-west-1:123456789012:reports';
const DESIGN = '<html><head><title>Letter</title></head><body><p>Hello</p></body></html>';
const NAMES = ['ada', 'bob', 'cyd', 'dan', 'eve', 'fay', 'gus', 'hal', 'ian', 'joe'];
const address = (name) => `${name}@readers.example`;
const SIGNED = {
  Notification: ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'],
  SubscriptionConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
};

describe('reports of mail providers', LIMIT, () => {
  let installation;
  let server;
  let web;
  let rest;
  let folder;
  let files; // serves the certificate and the address that confirms a subscription
  let fetched = [];
  let certificateUrl;
  let rsaKey;
  let sendgridKey;
  let sources;
  let tokens; // Message-ID tokens by name
  let sendId;
  let first; // the first bounce of SES

  const must = async (method, path, body) => {
    const answer = await rest.request(method, path, body);
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const rows = async (statement) => (await sql(installation, statement))[0];
  const suppressions = (where = 'true') => rows(`select count(*) from suppressions where ${where}`);
  const state = () =>
    rows(`select (select count(*) from suppressions) || '/' || (select count(*) from recipient_events) || '/' ||
          (select count(*) from report_events_seen) || '/' || (select count(*) from audit_log where operation = 'reports.receive') || '/' ||
          (select coalesce(sum(count), 0) from report_counts)`);

  async function post(path, body, headers = {}) {
    const url = `http://127.0.0.1:${server.port}${path}`;
    const answer = await fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? null : JSON.parse(text), headers: answer.headers };
  }

  /** A refused report: its status and code, and nothing was written. */
  async function refused(answer, status, code, earlier) {
    assert.equal(answer.status, status, JSON.stringify(answer.body));
    assert.equal(answer.body.error.code, code);
    assert.equal(await state(), earlier, 'nothing is written');
    for (const name of answer.headers.keys()) assert.doesNotMatch(name, /^x-ratelimit/);
  }

  // ---- The providers ----

  function sns(message, { key = rsaKey, version = '1', type = 'Notification', ...members } = {}) {
    const body = {
      Type: type, MessageId: randomUUID(), TopicArn: TOPIC, Message: typeof message === 'string' ? message : JSON.stringify(message),
      Timestamp: new Date().toISOString(), SignatureVersion: version, SigningCertURL: certificateUrl, ...members,
    };
    const text = SIGNED[type].filter((name) => body[name] !== undefined).map((name) => `${name}\n${body[name]}\n`).join('');
    body.Signature = createSign(version === '2' ? 'sha256' : 'sha1').update(text).sign(key, 'base64');
    return body;
  }

  /** What the provider's own validator says about a message whose certificate it would fetch by https. */
  function judgeSns(message) {
    const get = https.get;
    https.get = (url, answered) => {
      answered(Object.assign(Readable.from([readFileSync(join(folder, 'cert.pem'))]), { statusCode: 200 }));
      return { on: () => ({}) };
    };
    return new Promise((resolve) => {
      new SnsValidator(/^sns\.eu-west-1\.amazonaws\.com$/).validate(message, (problem) => resolve(problem ?? 'valid'));
    }).finally(() => (https.get = get));
  }

  const toSes = (message, source = sources.ses) => post(source.path, JSON.stringify(message));
  const sesMail = (name) => ({ messageId: '0102', headers: [{ name: 'Message-ID', value: `<${tokens[name]}@readers.example>` }] });
  const sesBounce = (name, bounceType, bounceSubType, diagnosticCode) => ({
    notificationType: 'Bounce', mail: sesMail(name),
    bounce: { bounceType, bounceSubType, timestamp: new Date().toISOString(), bouncedRecipients: [{ emailAddress: address(name), diagnosticCode }] },
  });

  function toSendgrid(events, { key = sendgridKey.privateKey, at = Math.floor(Date.now() / 1000), body = JSON.stringify(events), path } = {}) {
    const signature = sign('sha256', Buffer.from(`${at}${body}`), { key, dsaEncoding: 'der' }).toString('base64');
    return post(path ?? sources.sendgrid.path, body, {
      'x-twilio-email-event-webhook-signature': signature, 'x-twilio-email-event-webhook-timestamp': String(at),
    });
  }
  const sendgridEvent = (name, event, members = {}) => ({
    email: address(name), event, timestamp: Math.floor(Date.now() / 1000), sg_event_id: randomUUID(), posthorn: tokens[name], ...members,
  });

  const basic = (credential) => ({ authorization: `Basic ${Buffer.from(credential).toString('base64')}` });
  const toPostmark = (body, credential = sources.postmark.credential) =>
    post(sources.postmark.path, typeof body === 'string' ? body : JSON.stringify(body), basic(credential));

  // ---- The installation ----

  function makeCertificate(name) {
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '30', '-subj', '/CN=sns.amazonaws.com',
      '-keyout', join(folder, `${name}.key`), '-out', join(folder, `${name}.pem`)], { stdio: 'ignore' });
    return readFileSync(join(folder, `${name}.key`), 'utf8');
  }

  async function sendToAll() {
    const { emailId } = await must('POST', '/v1/emails/import', { content: DESIGN, title: 'Letter' });
    const domainId = (await must('GET', '/v1/domains')).data[0].domainId;
    for (const name of NAMES) await must('POST', '/v1/contacts', { email: address(name) });
    ({ sendId } = await must('POST', '/v1/sends', { emailId, domainId, subject: 'Hello', audienceId: 'all' }));
    await until('the send has ended', async () => (await must('GET', `/v1/sends/${sendId}`)).status === 'completed', 30_000);
    const mails = await Promise.all(installation.outbox().map((name) => simpleParser(installation.readMessage(name))));
    tokens = Object.fromEntries(mails.map((mail) => [mail.to.value[0].address.split('@')[0], mail.messageId.slice(1).split('@')[0]]));
    assert.deepEqual(Object.keys(tokens).sort(), NAMES);
  }

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'posthorn-provider-'));
    rsaKey = makeCertificate('cert');
    files = createServer((request, response) => {
      fetched.push(request.url);
      const found = request.url.startsWith('/SimpleNotificationService-') || request.url.startsWith('/?Action=');
      response.writeHead(found ? 200 : 404).end(found ? readFileSync(join(folder, 'cert.pem')) : '');
    });
    await new Promise((resolve) => files.listen(0, '127.0.0.1', resolve));
    certificateUrl = `http://127.0.0.1:${files.address().port}/SimpleNotificationService-0123456789abcdef.pem`;
    sendgridKey = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    installation = new Installation({ FETCH_ALLOW_LOOPBACK: 1 });
    server = await installation.serve();
    rest = server.client(await installation.key('--brand', await installation.brandId()));
    web = server.client();
    const publicKey = sendgridKey.publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
    sources = {
      ses: await installation.admin('report-source', 'add', 'ses', '--topic', TOPIC, '--name', 'Production'),
      sendgrid: await installation.admin('report-source', 'add', 'sendgrid', '--public-key', publicKey),
      postmark: await installation.admin('report-source', 'add', 'postmark'),
    };
    await sendToAll();
  });

  after(async () => {
    rest.close();
    web.close();
    files.close();
    rmSync(folder, { recursive: true });
    assert.deepEqual(await installation.dispose(), []);
  });

  test('connections are listed without secrets, and refused when something is missing', async () => {
    const { data } = await installation.admin('report-source', 'list');
    assert.deepEqual(data.map(({ provider, path }) => `${provider} ${path}`),
      ['ses', 'sendgrid', 'postmark'].map((name) => `${name} ${sources[name].path}`));
    assert.equal(data[0].topic, TOPIC);
    assert.doesNotMatch(JSON.stringify(data), new RegExp(sources.postmark.credential.split(':')[1]));
    assert.equal(await rows(`select count(*) from report_connections where encode(verifier, 'escape') like '%${sources.postmark.credential.split(':')[1]}%'`), '0');
    for (const words of [['mailer'], ['ses'], ['ses', '--topic', 'reports'], ['sendgrid'], ['sendgrid', '--public-key', 'AAAA']]) {
      const { code, stderr } = await installation.run('admin', 'report-source', 'add', ...words);
      assert.notEqual(code, 0, words.join(' '));
      assert.match(stderr, /provider|topic|verification key/);
    }
    const spare = await installation.admin('report-source', 'add', 'postmark');
    assert.equal((await installation.admin('report-source', 'remove', spare.connectionId)).removed, true);
    const gone = await post(spare.path, '{"RecordType": "Delivery"}', basic(spare.credential));
    assert.equal(gone.status, 404);
  });

  test('SES: the certificate is fetched once, and both versions of the signature are taken', async () => {
    const confirm = sns('You have chosen to subscribe', {
      type: 'SubscriptionConfirmation', Token: 'abc', SubscribeURL: certificateUrl.replace(/\/Simple.*/, '/?Action=ConfirmSubscription&Token=abc'),
    });
    assert.deepEqual((await toSes(confirm)).body, { applied: 0, repeated: 0, noted: 0, unknown: 0 });
    assert.deepEqual(fetched, [new URL(certificateUrl).pathname, '/?Action=ConfirmSubscription&Token=abc']);

    const hard = sns(sesBounce('ada', 'Permanent', 'General', 'smtp; 550 5.1.1 user unknown'), { Subject: 'Amazon SES' });
    assert.equal(await judgeSns({ ...hard, SigningCertURL: 'https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-01.pem' }), 'valid',
      'the judge accepts what the signer made');
    first = hard;
    assert.deepEqual((await toSes(hard)).body, { applied: 1, repeated: 0, noted: 0, unknown: 0 });
    assert.deepEqual((await toSes(hard)).body, { applied: 0, repeated: 1, noted: 0, unknown: 0 });
    assert.equal(await suppressions(`reason = 'bounce' and source = 'report' and expires_at is null and evidence like '%5.1.1%'`), '1');

    const full = sns(sesBounce('bob', 'Transient', 'MailboxFull', 'smtp; 452 4.2.2 full'), { version: '2' });
    assert.equal((await toSes(full)).body.applied, 1);
    assert.equal(await suppressions(`expires_at > now() + interval '13 days'`), '1');
    assert.equal((await toSes(sns(sesBounce('cyd', 'Transient', 'General', 'smtp; 421 later'), { version: '2' }))).body.applied, 1);
    assert.equal(await suppressions(), '2', 'a block suppresses nobody');
    const complaint = { eventType: 'Complaint', mail: { tags: { posthorn: [tokens.dan] } }, complaint: { complaintFeedbackType: 'abuse' } };
    assert.equal((await toSes(sns(complaint, { version: '2' }))).body.applied, 1);
    assert.equal(await suppressions(`reason = 'complaint'`), '1');
    for (const eventType of ['Delivery', 'DeliveryDelay', 'Open'])
      assert.deepEqual((await toSes(sns({ eventType, mail: sesMail('eve') }))).body, { applied: 0, repeated: 0, noted: 1, unknown: 0 });
    assert.equal((await toSes(sns('Successfully validated SNS topic'))).status, 200);
    assert.equal(fetched.length, 2, 'the certificate is kept');
    const { stats } = await must('GET', `/v1/sends/${sendId}`);
    assert.equal(stats.bounced, 3);
    assert.equal(stats.complained, 1);
  });

  test('SES: foreign messages are refused and write nothing', async () => {
    const earlier = await state();
    const mail = sesBounce('hal', 'Permanent', 'General', '550 5.1.1');
    const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
    const seen = fetched.length;
    await refused(await toSes(sns(mail, { key: other })), 401, 'AUTHENTICATION_REQUIRED', earlier);
    await refused(await toSes({ ...sns(mail), Message: JSON.stringify(sesBounce('joe', 'Permanent', 'General', '')) }), 401, 'AUTHENTICATION_REQUIRED', earlier);
    await refused(await toSes(sns(mail, { TopicArn: `${TOPIC}2` })), 401, 'AUTHENTICATION_REQUIRED', earlier);
    const foreign = ['https://sns.eu-west-1.amazonaws.com.evil.example/SimpleNotificationService-01.pem', 'https://evil.example/SimpleNotificationService-01.pem',
      'http://sns.eu-west-1.amazonaws.com/SimpleNotificationService-01.pem', 'https://u@sns.eu-west-1.amazonaws.com/SimpleNotificationService-01.pem',
      'https://sns.eu-west-1.amazonaws.com:444/SimpleNotificationService-01.pem', 'https://sns.eu-west-1.amazonaws.com/key.pem',
      'https://sns..amazonaws.com/SimpleNotificationService-01.pem', `http://127.0.0.1@evil.example/SimpleNotificationService-01.pem`];
    for (const SigningCertURL of foreign) await refused(await toSes(sns(mail, { SigningCertURL })), 401, 'AUTHENTICATION_REQUIRED', earlier);
    const elsewhere = sns('x', { type: 'SubscriptionConfirmation', Token: 'abc', SubscribeURL: 'https://evil.example/?Action=ConfirmSubscription' });
    await refused(await toSes(elsewhere), 401, 'AUTHENTICATION_REQUIRED', earlier);
    assert.equal(fetched.length, seen, 'no foreign address is fetched');
    const missing = certificateUrl.replace('0123456789abcdef', 'ffff').replace(/:\d+\//, ':9/');
    await refused(await toSes(sns(mail, { SigningCertURL: missing })), 503, 'SERVICE_UNAVAILABLE', earlier);
    await refused(await toSes(sns(mail, { Timestamp: '2020-01-01T00:00:00.000Z' })), 400, 'INVALID_REQUEST', earlier);
    await refused(await toSes(sns(mail, { version: '3' })), 400, 'INVALID_REQUEST', earlier);
    await refused(await toSes({ Type: 'Notification' }), 400, 'INVALID_REQUEST', earlier);
    assert.deepEqual((await toSes(sns(mail))).body, { applied: 1, repeated: 0, noted: 0, unknown: 0 }, 'the same message, well signed');
  });

  test('SendGrid: a batch is applied once, and strangers are counted', async () => {
    const events = [
      sendgridEvent('eve', 'bounce', { type: 'bounce', reason: '550 5.1.1 No such user' }),
      sendgridEvent('fay', 'bounce', { type: 'blocked', reason: '554 5.7.1 blocked' }),
      sendgridEvent('gus', 'spamreport'),
      { ...sendgridEvent('ian', 'unsubscribe'), posthorn: undefined, 'smtp-id': `<${tokens.ian}@readers.example>` },
      sendgridEvent('joe', 'delivered'), sendgridEvent('joe', 'deferred', { response: '451 later' }), sendgridEvent('joe', 'processed'),
      { ...sendgridEvent('joe', 'bounce'), posthorn: 'not-one-of-ours' }, { ...sendgridEvent('joe', 'spamreport'), posthorn: undefined },
    ];
    events.push(events[0]);
    const at = Math.floor(Date.now() / 1000);
    const body = JSON.stringify(events);
    const signature = sign('sha256', Buffer.from(`${at}${body}`), { key: sendgridKey.privateKey, dsaEncoding: 'der' }).toString('base64');
    const judge = new EventWebhook();
    const key = judge.convertPublicKeyToECDSA(sendgridKey.publicKey.export({ type: 'spki', format: 'der' }).toString('base64'));
    assert.equal(judge.verifySignature(key, body, signature, String(at)), true, 'the judge accepts what the signer made');

    const rule = await installation.admin('bounce-rule', 'add', '5.7.1 BLOCKED', 'hard');
    assert.deepEqual((await toSendgrid(events)).body, { applied: 4, repeated: 1, noted: 3, unknown: 2 });
    assert.equal(await suppressions(`reason = 'bounce' and evidence like '%5.7.1 blocked%'`), '1', 'the rule decides');
    assert.deepEqual((await installation.admin('bounce-rule', 'list')).data.map(({ pattern, class: name }) => `${pattern} ${name}`), ['5.7.1 blocked hard']);
    assert.equal((await installation.admin('bounce-rule', 'remove', String(rule.ruleId))).removed, true);
    assert.deepEqual((await toSendgrid(events)).body, { applied: 0, repeated: 5, noted: 3, unknown: 2 });
    const search = async (name) => (await must('POST', '/v1/contacts/search', { search: address(name) })).data[0];
    assert.equal((await search('ian')).subscribed, false);
    assert.equal((await search('joe')).subscribed, true);
    const why = JSON.parse((await installation.run('why', address('eve'))).stdout);
    assert.deepEqual({ reason: why.suppression.reason, source: why.suppression.source, evidence: why.suppression.evidence },
      { reason: 'bounce', source: 'report', evidence: '550 5.1.1 No such user' });
    assert.match(why.sends[0].summary, /A bounce was reported at .*: 550 5\.1\.1 No such user$/);
    const { sends: [delayed] } = JSON.parse((await installation.run('why', address('joe'))).stdout);
    assert.match(delayed.summary, /A delay was reported at .*: 451 later$/);
    assert.equal(await rows(`select sum(count) from report_counts where source = 'sendgrid' and outcome = 'unknown' and brand_id = 0`), '4');
  });

  test('SendGrid: what is not signed by its key, or old, is refused', async () => {
    const earlier = await state();
    const events = [sendgridEvent('joe', 'spamreport')];
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    await refused(await toSendgrid(events, { key: other }), 401, 'AUTHENTICATION_REQUIRED', earlier);
    await refused(await toSendgrid(events, { at: Math.floor(Date.now() / 1000) - 3 * 86400 }), 400, 'INVALID_REQUEST', earlier);
    await refused(await toSendgrid(events, { at: Math.floor(Date.now() / 1000) + 86400 }), 400, 'INVALID_REQUEST', earlier);
    await refused(await post(sources.sendgrid.path, JSON.stringify(events)), 401, 'AUTHENTICATION_REQUIRED', earlier);
    await refused(await post(sources.sendgrid.path, JSON.stringify(events), {
      'x-twilio-email-event-webhook-signature': '****', 'x-twilio-email-event-webhook-timestamp': '1',
    }), 401, 'AUTHENTICATION_REQUIRED', earlier);
    await refused(await toSendgrid({}), 400, 'INVALID_REQUEST', earlier);
    await refused(await toSendgrid([7]), 400, 'INVALID_REQUEST', earlier);
    await refused(await toSendgrid(null, { body: '['.repeat(5000) }), 400, 'INVALID_REQUEST', earlier);
    await refused(await toSendgrid(null, { body: '[{"event": "bounce", "reason": "\\u0000"}]' }), 400, 'INVALID_REQUEST', earlier);
    await refused(await toSendgrid(null, { body: 'a\0b' }), 400, 'INVALID_REQUEST', earlier);
    await refused(await toSendgrid(null, { body: ' '.repeat(1024 * 1024 + 1) }), 413, 'PAYLOAD_TOO_LARGE', earlier);
    // A batch whose last event cannot be recorded records none.
    await refused(await toSendgrid(null, { body: JSON.stringify([...events, 'x']) }), 400, 'INVALID_REQUEST', earlier);
    for (const path of ['/reports/sendgrid/rps_0000000000000', sources.postmark.path.replace('postmark', 'sendgrid'), '/reports/sendgrid', '/reports/x/y/z'])
      await refused(await toSendgrid(events, { path }), 404, 'NOT_FOUND', earlier);
    const got = await fetch(`http://127.0.0.1:${server.port}${sources.sendgrid.path}`);
    assert.equal(got.status, 405);
    assert.equal(got.headers.get('allow'), 'POST');
    const large = Array.from({ length: 4000 }, (_, index) => ({ event: 'delivered', sg_event_id: String(index), pad: 'x'.repeat(200) }));
    assert.equal((await toSendgrid(large)).body.unknown, 4000);
  });

  test('Postmark: its password is asked for, and its notifications are taken', async () => {
    const earlier = await state();
    const complaint = { RecordType: 'SpamComplaint', ID: 7, Metadata: { posthorn: tokens.joe }, BouncedAt: new Date().toISOString() };
    await refused(await toPostmark(complaint, 'posthorn:wrong'), 401, 'AUTHENTICATION_REQUIRED', earlier);
    await refused(await post(sources.postmark.path, JSON.stringify(complaint)), 401, 'AUTHENTICATION_REQUIRED', earlier);
    await refused(await toPostmark('[]'), 400, 'INVALID_REQUEST', earlier);
    assert.deepEqual((await toPostmark(complaint)).body, { applied: 1, repeated: 0, noted: 0, unknown: 0 });
    assert.deepEqual((await toPostmark(complaint)).body, { applied: 0, repeated: 1, noted: 0, unknown: 0 });
    const change = { RecordType: 'SubscriptionChange', Origin: 'Recipient', SuppressSending: true, Metadata: { posthorn: tokens.fay } };
    assert.equal((await toPostmark(change)).body.applied, 1);
    assert.equal((await toPostmark({ RecordType: 'Delivery', Metadata: { posthorn: tokens.joe } })).body.noted, 1);
    const soft = { RecordType: 'Bounce', Type: 'Transient', Metadata: { posthorn: tokens.gus } };
    assert.equal((await toPostmark(soft)).body.noted, 1);
  });

  test('the operator lists, releases and imports; a released address stays released', async () => {
    const { data } = await installation.admin('suppression', 'list');
    assert.equal(String(data.length), await suppressions());
    const released = await installation.admin('suppression', 'release', address('ada'));
    assert.equal(released.released.reason, 'bounce');
    assert.equal((await toSes(first)).body.repeated, 1);
    assert.equal(await suppressions(), String(data.length - 1), 'the old notification suppresses nobody again');
    const { code, stderr } = await installation.run('admin', 'suppression', 'release', address('ian'));
    assert.notEqual(code, 0);
    assert.match(stderr, /--unsubscribed/);
    await installation.admin('suppression', 'release', address('ian'), '--unsubscribed');
    assert.equal((await must('POST', '/v1/contacts/search', { search: address('ian') })).data[0].subscribed, true);
    const file = join(folder, 'export.csv');
    writeFileSync(file, 'email,reason,created\nkim@readers.example,550 5.1.1 gone,1700000000\nnobody,x,\n');
    const imported = await installation.admin('suppression', 'import', file, '--reason', 'bounce');
    assert.deepEqual(imported.suppressed, { bounce: 1, complaint: 0, unsubscribe: 0, operator: 0 });
    assert.deepEqual(imported.refusedRows.map(({ line }) => line), [3]);
    assert.equal(await rows(`select count(*) from audit_log where operation like 'admin.suppression.%'`), '3');
  });
});
