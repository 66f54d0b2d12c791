// The SMTP client against mail servers we did not write: npm smtp-server with scripted replies, and Debian's Postfix as a relay
// that passes everything on. What they received must be what was handed over, and what they refused must be told as it was.
//
//     node smtp_servers.mjs build/smtp_driver

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Driver } from '../lib/driver.mjs';
import { packagesOf } from '../lib/packages.mjs';
import { Postfix, missingPostfix } from '../lib/postfix.mjs';

const load = packagesOf('third_party');
const { SMTPServer } = load('smtp-server');
const driverPath = process.argv[2];
if (!driverPath) throw new Error('usage: smtp_servers.mjs DRIVER');

const driver = new Driver(driverPath);
const folder = mkdtempSync(join(tmpdir(), 'posthorn-smtp-'));
after(() => {
  driver.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A certificate of 127.0.0.1 by an authority of its own, for one day. */
function makeCertificate() {
  const openssl = (...words) => execFileSync('openssl', words, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  openssl('req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '1', '-subj', '/CN=Test CA');
  openssl('req', '-newkey', 'rsa:2048', '-nodes', '-keyout', 'key.pem', '-out', 'request.pem', '-subj', '/CN=relay.test',
    '-addext', 'subjectAltName=IP:127.0.0.1');
  openssl('x509', '-req', '-in', 'request.pem', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '1',
    '-copy_extensions', 'copy', '-out', 'cert.pem');
  return { key: join(folder, 'key.pem'), cert: join(folder, 'cert.pem'), ca: join(folder, 'ca.pem') };
}
const certificate = makeCertificate();
const tls = { key: readFileSync(certificate.key), cert: readFileSync(certificate.cert) };
const trusted = `ca=${encodeURIComponent(certificate.ca)}`;

const ok = (...words) => words.at(-1)();
const refusal = (code, text) => Object.assign(new Error(text), { responseCode: code });

/** A server that keeps what it takes: { from, to, args, body, user, isSecure } each. */
async function startServer(options = {}) {
  const taken = [];
  const server = new SMTPServer({
    authOptional: true, disableReverseLookup: true, logger: false, hideSTARTTLS: true, onRcptTo: ok,
    onData(stream, session, callback) {
      const chunks = [];
      stream.on('data', (chunk) => chunks.push(chunk));
      stream.on('end', () => {
        const { envelope: { mailFrom, rcptTo }, user, secure } = session;
        taken.push({ from: mailFrom.address, args: mailFrom.args, to: rcptTo.map(({ address }) => address), user, isSecure: secure,
          body: Buffer.concat(chunks).toString('latin1') });
        callback(null, 'Kept');
      });
    },
    ...options,
  });
  server.on('error', () => {}); // a client that goes away
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => server.connections.forEach((connection) => connection._socket.destroy());
  return { taken, port: server.server.address().port, cut, stop: () => new Promise((resolve) => server.close(resolve)) };
}

const letter = (to, more = {}) => ({
  from: 'bounces@from.test', to, smtputf8: false, body: `Subject: For ${to.length}\r\n\r\n.Hello\r\n..\r\n`, ...more,
});

async function withServer(options, work) {
  const server = await startServer(options);
  try {
    await work(server);
  } finally {
    await server.stop();
  }
}

/** Hands letters over; fails where the driver does not understand. */
async function send(request) {
  const reply = await driver.ask({ loops: 1, ...request });
  assert.equal(reply.error, undefined);
  return reply;
}

const fates = (reply) => reply.outcomes.map(({ end, stage, code }) => `${end} ${stage} ${code}`);

// ---- npm smtp-server ----

test('messages arrive as they were handed over, over several sessions and two loops', () => withServer({}, async ({ taken, port }) => {
  const messages = Array.from({ length: 200 }, (_, i) => letter(`person${i}@there.test`, { body: `X-Number: ${i}\r\n\r\n.${'line\r\n'.repeat(i * 20)}.\r\nend\r\n` }));
  const reply = await send({ relays: [`smtp://127.0.0.1:${port}?connections=5&messages=30`], loops: 2, messages });
  assert.deepEqual(new Set(fates(reply)), new Set(['replied final 250']));
  assert.deepEqual(new Set(reply.outcomes.map(({ dots }) => dots)), new Set([1]));
  const sorted = taken.sort((a, b) => a.to[0].localeCompare(b.to[0], 'en', { numeric: true }));
  assert.deepEqual(sorted.map(({ body }) => body), messages.map(({ body }) => body));
  assert.deepEqual(sorted.map(({ to }) => to), messages.map(({ to }) => [to]));
}));

test('a refused recipient, a full one and a refused message are told apart', () => withServer({
  onRcptTo({ address }, session, callback) {
    if (address.startsWith('gone')) return callback(refusal(550, '5.1.1 No such user'));
    if (address.startsWith('full')) return callback(refusal(452, '4.2.2 Mailbox full'));
    return callback();
  },
  onData(stream, session, callback) {
    stream.resume();
    stream.on('end', () => (session.envelope.rcptTo[0].address.startsWith('spam') ? callback(refusal(554, '5.7.1 Looks like spam')) : callback()));
  },
}, async ({ port }) => {
  const names = ['fine', 'gone', 'full', 'spam', 'fine'];
  const reply = await send({ relays: [`smtp://127.0.0.1:${port}?connections=1`], messages: names.map((name) => letter(`${name}@there.test`)) });
  assert.deepEqual(fates(reply), ['replied final 250', 'replied rcpt 550', 'replied rcpt 452', 'replied final 554', 'replied final 250']);
  assert.deepEqual(reply.outcomes.map(({ verdict }) => verdict), ['accepted', 'hard', 'soft', 'block', 'accepted']);
}));

test('421 rests the relay, and the message is given out again', () => {
  let senders = 0;
  return withServer({
    onMailFrom: (address, session, callback) => callback(++senders === 2 ? refusal(421, '4.7.0 Try later') : undefined),
  }, async ({ taken, port }) => {
    const messages = ['a', 'b', 'c'].map((name) => letter(`${name}@there.test`));
    const reply = await send({ relays: [`smtp://127.0.0.1:${port}?connections=1`], again: true, messages });
    assert.deepEqual(fates(reply), Array(3).fill('replied final 250'));
    assert.equal(taken.length, 3);
  });
});

for (const method of ['PLAIN', 'LOGIN']) {
  test(`AUTH ${method} over STARTTLS with an authority of our own`, () => withServer({
    ...tls, hideSTARTTLS: false, authOptional: false, authMethods: [method],
    onAuth: ({ username, password }, session, callback) =>
      (username === 'us er' && password === 'p@ss/w:rd%' ? callback(null, { user: username }) : callback(refusal(535, '5.7.8 Wrong'))),
  }, async ({ taken, port }) => {
    const relay = (password) => `smtp://us%20er:${encodeURIComponent(password)}@127.0.0.1:${port}?connections=1&${trusted}`;
    const reply = await send({ relays: [relay('p@ss/w:rd%')], messages: [letter('a@there.test'), letter('b@there.test')] });
    assert.deepEqual(fates(reply), Array(2).fill('replied final 250'));
    assert.deepEqual(taken.map(({ user, isSecure }) => [user, isSecure]), Array(2).fill(['us er', true]));

    const wrong = await send({ relays: [relay('guess')], messages: [letter('a@there.test')] });
    assert.deepEqual(fates(wrong), ['notSent connect 0']);
    assert.match(wrong.outcomes[0].text, /^it refused the log-in: 535 /);
    assert.doesNotMatch(JSON.stringify(wrong), /guess|us er/);
  }));
}

test('a password is not said where TLS is not offered, unless the operator wants that', () => {
  const seen = [];
  return withServer({
    hideSTARTTLS: true, allowInsecureAuth: true, authOptional: true, disabledCommands: ['STARTTLS'],
    onAuth: ({ username }, session, callback) => callback(null, { user: seen.push(username) }),
  }, async ({ port }) => {
    const relay = (query) => `smtp://user:secret@127.0.0.1:${port}?connections=1${query}`;
    const refused = await send({ relays: [relay('')], messages: [letter('a@there.test')] });
    assert.deepEqual(fates(refused), ['notSent connect 0']);
    assert.match(refused.outcomes[0].text, /STARTTLS/);
    assert.deepEqual(seen, []);
    const wanted = await send({ relays: [relay('&tls=none')], messages: [letter('a@there.test')] });
    assert.deepEqual(fates(wanted), ['replied final 250']);
    assert.deepEqual(seen, ['user']);
  });
});

test('a log-in that the relay does not offer is a failure', () => withServer({ disabledCommands: ['AUTH', 'STARTTLS'] }, async ({ taken, port }) => {
  const reply = await send({ relays: [`smtp://user:secret@127.0.0.1:${port}?tls=none`], messages: [letter('a@there.test')] });
  assert.deepEqual(fates(reply), ['notSent connect 0']);
  assert.equal(reply.outcomes[0].text, 'it does not offer AUTH');
  assert.equal(taken.length, 0);
}));

test('TLS at once, TLS required and TLS when offered, with certificates verified', () => withServer({ ...tls, hideSTARTTLS: false }, async ({ taken, port }) => {
  const messages = [letter('a@there.test', { body: `Subject: Large\r\n\r\n${'0123456789\r\n'.repeat(20000)}` }), letter('b@there.test')];
  for (const query of [`tls=required&${trusted}`, trusted, 'verify=no']) {
    const reply = await send({ relays: [`smtp://127.0.0.1:${port}?connections=1&${query}`], messages });
    assert.deepEqual(fates(reply), Array(2).fill('replied final 250'), query);
  }
  assert.deepEqual(new Set(taken.map(({ isSecure }) => isSecure)), new Set([true]));
  assert.equal(taken[0].body, messages[0].body);

  const untrusted = await send({ relays: [`smtp://127.0.0.1:${port}?connections=1`], messages: [letter('a@there.test')] });
  assert.deepEqual(fates(untrusted), ['notSent connect 0']);
  assert.match(untrusted.outcomes[0].text, /certificate/);
  await withServer({ ...tls, secure: true }, async (other) => {
    const reply = await send({ relays: [`smtps://127.0.0.1:${other.port}?connections=1&${trusted}`], messages });
    assert.deepEqual(fates(reply), Array(2).fill('replied final 250'));
    assert.equal(other.taken[0].isSecure, true);
  });
  await withServer({ disabledCommands: ['STARTTLS'] }, async (plain) => {
    const reply = await send({ relays: [`smtp://127.0.0.1:${plain.port}?tls=required`], messages: [letter('a@there.test')] });
    assert.deepEqual(fates(reply), ['notSent connect 0']);
    assert.equal(plain.taken.length, 0);
  });
}));

test('SMTPUTF8 is asked for where it is needed only', () => withServer({}, async ({ taken, port }) => {
  const messages = [letter('jörg@there.test', { smtputf8: true }), letter('plain@there.test')];
  const reply = await send({ relays: [`smtp://127.0.0.1:${port}?connections=1`], messages });
  assert.deepEqual(fates(reply), Array(2).fill('replied final 250'));
  assert.deepEqual(taken.map(({ to: [address] }) => address), ['jörg@there.test', 'plain@there.test']);
  assert.equal(taken[0].args.SMTPUTF8, true);
  assert.equal(taken[0].args.BODY, '8BITMIME');
  assert.equal(taken[1].args.SMTPUTF8, undefined);
}));

test('a message beyond the size that a relay offers is refused for itself', () => withServer({ size: 5000, disabledCommands: ['STARTTLS'] }, async ({ taken, port }) => {
  const messages = [letter('a@there.test', { body: `Subject: x\r\n\r\n${'0123456789\r\n'.repeat(1000)}` }), letter('b@there.test')];
  const reply = await send({ relays: [`smtp://127.0.0.1:${port}?connections=1`], messages });
  assert.deepEqual(fates(reply), ['replied mail 552', 'replied final 250']);
  assert.equal(reply.outcomes[0].verdict, 'refused');
  assert.equal(taken.length, 1);
}));

test('a server that goes away after the dot leaves one uncertain message', async () => {
  let seen = 0;
  const server = await startServer({
    onData(stream, session, callback) {
      stream.resume();
      stream.on('end', () => (++seen === 2 ? server.cut() : callback()));
    },
  });
  const names = ['a', 'b', 'c'];
  const reply = await send({ relays: [`smtp://127.0.0.1:${server.port}?connections=1`], messages: names.map((name) => letter(`${name}@there.test`)) });
  assert.deepEqual(fates(reply), ['replied final 250', 'uncertain final 0', 'notSent mail 0']);
  await server.stop();
});

// ---- Postfix ----

const missing = missingPostfix();
if (missing) console.log(`SKIPPED the SMTP client was not tested with Postfix: ${missing}`);

test('Postfix passes on what it was given, with PIPELINING, STARTTLS and SMTPUTF8', { skip: missing }, () => withServer({}, async ({ taken, port }) => {
  const postfix = await Postfix.start({ nextHop: port, settings: {
    smtpd_tls_security_level: 'may', smtpd_tls_cert_file: certificate.cert, smtpd_tls_key_file: certificate.key,
  } });
  try {
    const messages = Array.from({ length: 100 }, (_, i) => letter(`person${i}@there.test`, { body: `From: a@from.test\r\nSubject: ${i}\r\n\r\n.first ${i}\r\n.\r\n..\r\nlast\r\n` }));
    messages.push(letter('jörg@there.test', { smtputf8: true, body: 'From: a@from.test\r\nSubject: u\r\n\r\nHello\r\n' }));
    const reply = await send({ relays: [`smtp://127.0.0.1:${postfix.port}?tls=required&connections=4&messages=40&${trusted}`], loops: 2, messages });
    assert.deepEqual(new Set(fates(reply)), new Set(['replied final 250']), postfix.log());
    assert.match(reply.outcomes[0].text, /queued as/);
    for (let i = 0; taken.length < messages.length && i < 1500; i++) await new Promise((resolve) => setTimeout(resolve, 100));
    const bodyOf = ({ body }) => body.slice(body.indexOf('\r\n\r\n'));
    const expected = new Map(messages.map((message) => [message.to, bodyOf(message)]));
    assert.deepEqual(new Map(taken.map((message) => [message.to[0], bodyOf(message)])), expected);
    assert.equal(taken.length, messages.length);
  } finally {
    postfix.stop();
  }
}));

test("Postfix's refusals are told for each recipient, and its 421 after too many errors ends", { skip: missing }, () => withServer({}, async ({ port }) => {
  const postfix = await Postfix.start({ nextHop: port, settings: {
    smtpd_recipient_restrictions: 'check_recipient_access inline:{ {gone@there.test = 550 5.1.1 User unknown}, {grey@there.test = 450 4.7.1 Come back} }, permit',
    smtpd_sender_restrictions: 'check_sender_access inline:{ {bad@from.test = 553 5.7.1 Not yours} }, permit',
    smtpd_soft_error_limit: 1000, smtpd_hard_error_limit: 6, message_size_limit: 50000,
  } });
  try {
    const names = ['fine', 'gone', 'grey', 'fine'];
    const reply = await send({ relays: [`smtp://127.0.0.1:${postfix.port}?connections=1`], messages: names.map((name) => letter(`${name}@there.test`)) });
    assert.deepEqual(fates(reply), ['replied final 250', 'replied rcpt 550', 'replied rcpt 450', 'replied final 250'], postfix.log());
    assert.deepEqual(reply.outcomes.map(({ verdict }) => verdict), ['accepted', 'hard', 'soft', 'accepted']);

    const large = letter('fine@there.test', { body: `Subject: x\r\n\r\n${'0123456789\r\n'.repeat(6000)}` });
    const sender = letter('fine@there.test', { from: 'bad@from.test' });
    const others = await send({ relays: [`smtp://127.0.0.1:${postfix.port}?connections=1`], messages: [large, sender, letter('fine@there.test')] });
    assert.deepEqual(fates(others), ['replied mail 552', 'replied rcpt 553', 'replied final 250'], postfix.log());
    assert.deepEqual(others.outcomes.map(({ verdict }) => verdict), ['refused', 'block', 'accepted']);

    // Each refusal is an error to it, and so is the DATA behind it: the session ends, another one goes on.
    const many = Array.from({ length: 8 }, () => letter('gone@there.test'));
    const tired = await send({ relays: [`smtp://127.0.0.1:${postfix.port}?connections=1`], again: true, messages: many });
    const codes = new Set(tired.outcomes.map(({ code }) => code));
    assert.ok(codes.has(550) && [...codes].every((code) => code === 550 || code === 421), JSON.stringify([...codes]));
  } finally {
    postfix.stop();
  }
}));
