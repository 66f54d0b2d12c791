// Inbox placement tests against a real Dovecot: one message is filed in INBOX, one in the spam folder, one nowhere, and one mailbox is
// down. Other seed mailboxes are on servers that answer falsely, without end, or end in the middle. The runner is killed while a
// message is being sent, while a mailbox is being read and while a result is being written: every message is sent once, and the
// call is charged once or never.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { Mailing } from '../../faults/mailing.mjs';
import { Dovecot, missingDovecot } from '../../lib/dovecot.mjs';
import { FakeImap, writeWithoutEnd } from '../../lib/fake_imap.mjs';
import { SqlSession, sql } from '../../lib/database.mjs';
import { packagesOf } from '../../lib/packages.mjs';
import { freePort } from '../../lib/ports.mjs';
import { kill, until } from '../../lib/processes.mjs';

const WAIT_MS = 20_000;
const PRICE = 10;
const WINDOW_S = 31 * 60; // until the last look, of the last message too
const RESULTS = 'Authentication-Results: mx.seeds.example; spf=pass smtp.mailfrom=letters.example;\r\n dkim=pass (2048-bit key) header.d=letters.example; dmarc=fail (p=none)\r\n';

/** A relay that files each message where its recipient says, and keeps what it got. `hold` keeps the reply back. */
async function relayTo(dovecot) {
  const { SMTPServer } = packagesOf('third_party')('smtp-server');
  const relay = { got: [], hold: undefined };
  const file = async (recipient, message) => {
    const user = recipient.split('@')[0];
    const stored = `${RESULTS}${message}`;
    if (user === 'junk') await dovecot.deliverTo(recipient.replace('@', '+Junk@'), stored);
    else if (user === 'filed') await dovecot.deliverTo(recipient.replace('@', '+Receipts@'), stored);
    else if (user !== 'nowhere') await dovecot.deliverTo(recipient, stored);
  };
  relay.server = new SMTPServer({
    authOptional: true, disableReverseLookup: true, logger: false, hideSTARTTLS: true,
    onData: (stream, session, callback) => {
      const parts = [];
      stream.on('data', (part) => parts.push(part)).on('end', async () => {
        const recipient = session.envelope.rcptTo[0].address;
        const message = Buffer.concat(parts).toString('latin1');
        relay.got.push({ recipient, message, from: session.envelope.mailFrom.address });
        await file(recipient, message);
        await relay.hold?.(recipient);
        callback();
      });
    },
  });
  relay.server.on('error', () => {}); // connections of killed runners
  await new Promise((resolve) => relay.server.listen(0, '127.0.0.1', resolve));
  relay.port = relay.server.server.address().port;
  relay.close = () => new Promise((resolve) => relay.server.close(resolve));
  relay.to = (user) => relay.got.filter(({ recipient }) => recipient === `${user}@seeds.example`);
  return relay;
}

const FOUND = '* SEARCH 4\r\n';

/** The servers that misbehave. */
const startFakes = async () => ({
  liar: await FakeImap.start({
    'UID SEARCH': FOUND,
    'UID FETCH': (socket, tag) => socket.write(`* 4 FETCH (UID 4 BODY[HEADER] {31}\r\nMessage-ID: <another@message>\r\n\r\n)\r\n${tag} OK done\r\n`),
  }),
  endless: await FakeImap.start({ 'UID SEARCH': (socket) => writeWithoutEnd(socket, '* OK still searching\r\n') }),
  closing: await FakeImap.start({
    'UID SEARCH': FOUND,
    'UID FETCH': (socket) => socket.end('* 4 FETCH (UID 4 BODY[HEADER] {4000}\r\nMessage-ID: <an'),
  }),
});

describe('inbox placement tests', { timeout: 600_000, skip: missingDovecot() }, () => {
  let dovecot;
  let relay;
  let fakes;
  let clock;
  let mailing;
  let installation;
  let client;
  let emailId;
  let tests; // the path of the tests of the design
  let orgId;
  let secretFile;
  let server;

  const one = async (statement) => (await sql(installation, statement))[0];
  const credits = async () => (await client.get('/v1/usage')).body.credits;
  const seedAt = (port, user) => `imap://${user}%40seeds.example@127.0.0.1:${port}/?tls=none`;
  const addSeed = (provider, port, user) => installation.admin('seed', 'add', provider, seedAt(port, user), '--secret-file', secretFile);
  const removeSeed = ({ seedId }) => installation.admin('seed', 'remove', String(seedId));
  const read = async (testId) => (await client.get(`${tests}/${testId}`)).body;
  const become = (what, testId, holds) => until(what, async () => {
    const body = await read(testId);
    return (await holds(body)) && body;
  }, WAIT_MS).catch(async (problem) => {
    const rows = await sql(installation, 'select provider, state, placement, reason, due_at from placement_observations order by id');
    assert.fail(`${problem.message}: ${JSON.stringify(await read(testId))}\n${rows.join('\n')}\n${installation.runnerLog.split('\n').slice(-10).join('\n')}`);
  });
  const ended = (testId) => become('the test has ended', testId, ({ status }) => !['queued', 'running'].includes(status));
  const create = async (body = {}, headers = {}) => {
    const answer = await client.post(tests, body, headers);
    assert.equal(answer.status, 202, JSON.stringify(answer.body));
    return answer.body;
  };
  const killRunner = async () => {
    const pid = installation.runnerPid;
    assert.ok(pid > 0);
    kill(pid);
    await until('another runner works', () => ![0, pid].includes(installation.runnerPid), WAIT_MS);
  };

  before(async () => {
    dovecot = await Dovecot.start({ isOfUsers: true });
    relay = await relayTo(dovecot);
    fakes = await startFakes();
    mailing = await Mailing.prepare({
      addresses: ['reader@readers.example'], sinks: [`smtp://127.0.0.1:${relay.port}?tls=none`], options: { PUBLIC_URL: 'https://mail.example' },
      start: async (made) => { clock = made.movableClock(); },
    });
    installation = mailing.installation;
    secretFile = join(installation.folder, 'seed.secret');
    writeFileSync(secretFile, 'secret\n');
    ({ emailId } = await installation.call('import_email', { content: mailing.letter, title: 'Letter', subjectLine: 'Hello' }));
    tests = `/v1/emails/${emailId}/inbox-placement-tests`;
    server = await installation.serve();
    client = server.client(await installation.key('--brand', await installation.brandId()));
    orgId = (await installation.admin('org', 'list')).data[0].orgId;
    await installation.admin('org', 'plan', orgId, 'trial');
  });

  after(async () => {
    client?.close();
    const left = await mailing?.dispose();
    for (const fake of Object.values(fakes ?? {})) await fake.close();
    await relay?.close();
    await dovecot?.stop();
    assert.deepEqual(left, [], 'left behind');
  });

  afterEach(async () => {
    for (const seed of (await installation.admin('seed', 'list')).data) await removeSeed(seed);
  });

  test('the operator keeps seed mailboxes with sealed passwords (D-118)', async () => {
    const refused = async (words, reason) => assert.match((await installation.run('admin', 'seed', 'add', ...words)).stderr, reason);
    const address = seedAt(1, 'inbox');
    await refused(['gmail', address], /--secret-file/);
    await refused(['gmail', address.replace('example@', 'example:secret@'), '--secret-file', secretFile], /must not contain the password/);
    await refused(['gmail', address.replace('/?', '/INBOX?'), '--secret-file', secretFile], /without a folder/);
    await refused(['gmail', 'imaps://user@imap.example', '--secret-file', secretFile], /not an email address/);
    await refused(['G mail', address, '--secret-file', secretFile], /letters/);
    const seed = await installation.admin('seed', 'add', 'Gmail', 'imaps://user@imap.example', 'user@mail.example', '--secret-file', secretFile, '--org', orgId);
    await refused(['gmail', 'imaps://user@imap.example', 'user@mail.example', '--secret-file', secretFile, '--org', orgId], /has this address/);
    const [listed] = (await installation.admin('seed', 'list')).data;
    assert.deepEqual([listed.seedId, listed.provider, listed.email, listed.orgId], [seed.seedId, 'gmail', 'user@mail.example', orgId]);
    assert.equal(await one("select count(*) from seed_mailboxes where position('secret'::bytea in password) > 0"), '0');
    const sealed = await one('select encode(password, \'hex\') from seed_mailboxes');
    await installation.admin('keys', 'add');
    await installation.admin('keys', 'rewrap');
    assert.notEqual(await one('select encode(password, \'hex\') from seed_mailboxes'), sealed, 'it is sealed with the new key');
    assert.equal((await removeSeed(seed)).removed, true);
    assert.match((await installation.run('admin', 'seed', 'remove', String(seed.seedId))).stderr, /No seed mailbox/);
  });

  test('without a seed mailbox nothing is pretended (D-153)', async () => {
    const before = await credits();
    const answer = await client.post(tests, {});
    assert.deepEqual([answer.status, answer.body.error.code], [503, 'SERVICE_UNAVAILABLE']);
    assert.match(answer.body.error.message, /posthorn admin seed add/);
    assert.deepEqual(await credits(), before);
    assert.equal(await one('select count(*) from placement_tests'), '0');
  });

  test('each message is told where it is (R-162, R-236, R-237, R-238, R-440, R-441, D-43, D-140, A-10, A-25)', async () => {
    const seeds = [
      await addSeed('alpha', dovecot.port, 'inbox'), await addSeed('alpha', dovecot.port, 'filed'), await addSeed('beta', dovecot.port, 'junk'),
      await addSeed('gamma', dovecot.port, 'nowhere'), await addSeed('gamma', await freePort(), 'down'),
      await addSeed('liar', fakes.liar.port, 'liar'), await addSeed('endless', fakes.endless.port, 'endless'), await addSeed('closing', fakes.closing.port, 'closing'),
    ];
    const figures = `select concat_ws(' ', (select count(*) from events), (select count(*) from sends), (select coalesce(sum(sent), 0) from email_usage),
      (select coalesce(sum(sent), 0) from test_sends))`;
    const before = await one(figures);
    const { used } = await credits();
    const unknown = await client.post(tests, { providers: ['alpha', 'omega'] });
    assert.deepEqual([unknown.status, unknown.body.error.code, unknown.body.error.param], [400, 'INVALID_REQUEST', 'providers.1']);
    assert.match(unknown.body.error.message, /omega.*alpha, beta/);

    const key = { 'idempotency-key': 'placement-1' };
    const made = await create({ subject: 'Do you see this?' }, key);
    assert.deepEqual([made.seedCount, made.results, made.folders.length], [seeds.length, null, seeds.length]);
    assert.ok(['queued', 'running'].includes(made.status));
    assert.equal((await create({ subject: 'Do you see this?' }, key)).testId, made.testId, 'the same call makes no second test');
    const held = await credits();
    assert.deepEqual([held.reserved, held.used], [PRICE, used], 'the price is held');
    await until('every message is sent', () => relay.got.length === seeds.length, WAIT_MS);
    await become('all are noted', made.testId, () => one("select count(*) from placement_observations where state <> 'sent'").then((count) => count === '0'));
    for (const { message } of relay.got) {
      assert.match(message, /^DKIM-Signature: /m);
      assert.match(message, /^Subject: Do you see this\?/m);
      assert.match(message, /https:\/\/example\.com\/more/, 'links are not tracked');
    }
    assert.equal(new Set(relay.got.map(({ message }) => /^Message-ID: (.*)$/mi.exec(message)[1])).size, seeds.length);

    clock.advance(16);
    const found = await become('the delivered ones are found', made.testId, ({ results }) => results?.overall.inbox === 2 && results.overall.spam === 1);
    assert.equal(found.status, 'running');
    assert.equal(found.results.overall.pending, 5);
    clock.advance(WINDOW_S);
    const done = await ended(made.testId);
    assert.equal(done.status, 'partially_completed');
    assert.deepEqual(done.results.overall, { total: 8, inbox: 2, spam: 1, missing: 1, pending: 4 });
    assert.deepEqual(done.results.byProvider.find(({ provider }) => provider === 'gamma'), { provider: 'gamma', total: 2, inbox: 0, spam: 0, missing: 1, pending: 1 });
    assert.deepEqual(done.results.authentication.dkim, { pass: 3, fail: 0, unknown: 0 });
    assert.deepEqual(done.results.authentication.dmarc, { pass: 0, fail: 3, unknown: 0 });
    const rows = (provider) => done.folders.filter((row) => row.provider === provider);
    assert.deepEqual(rows('alpha').map(({ placement, folder }) => [placement, folder]).sort(), [['inbox', 'INBOX'], ['inbox', 'Receipts']]);
    assert.deepEqual(rows('beta'), [{ provider: 'beta', placement: 'spam', folder: 'Junk', spf: 'pass', dkim: 'pass', dmarc: 'fail' }]);
    assert.deepEqual(rows('gamma').map(({ placement }) => placement).sort(), ['missing', 'pending']);
    assert.match(rows('gamma').find(({ placement }) => placement === 'pending').reason, /could not be read/);
    assert.match(rows('liar')[0].reason, /another message/);
    for (const provider of ['endless', 'closing']) assert.deepEqual([rows(provider)[0].placement, /could not be read/.test(rows(provider)[0].reason)], ['pending', true], provider);
    assert.deepEqual([(await credits()).reserved, (await credits()).used], [0, used + PRICE], 'charged once');
    assert.equal(await one(figures), before, 'it counts in no figure and uses no allowance');
    assert.equal(relay.got.length, seeds.length);

    assert.deepEqual((await client.get(`${tests}?limit=1`)).body.data, [done]);
    const shown = await installation.call('get_inbox_placement_results', { emailId, testId: done.testId });
    assert.deepEqual([shown.testId, shown.status, shown.results.overall], [done.testId, done.status, done.results.overall]);
    const listed = await installation.call('get_inbox_placement_results', { emailId, limit: 1 });
    assert.deepEqual(listed.data.map(({ testId }) => testId), [done.testId]);
  });

  test('a test without a result costs nothing, also one of an assistant (R-440)', async () => {
    await addSeed('down', await freePort(), 'gone');
    const { used } = await credits();
    const { testId } = await installation.call('create_inbox_placement_test', { emailId });
    await until('the message is sent', () => relay.to('gone').length === 1, WAIT_MS);
    await become('it is noted', testId, () => one("select count(*) from placement_observations where state = 'sending'").then((count) => count === '0'));
    clock.advance(WINDOW_S);
    const done = await ended(testId);
    assert.deepEqual([done.status, done.results, done.folders[0].placement], ['failed', null, 'pending']);
    assert.deepEqual([(await credits()).used, (await credits()).reserved], [used, 0]);
  });

  test('the test of a design that is deleted sends no more messages', async () => {
    const users = ['round1', 'round2', 'round3', 'round4', 'later'];
    for (const user of users) await addSeed('down', await freePort(), user);
    const copy = await installation.call('import_email', { content: mailing.letter, title: 'Copy', subjectLine: 'Hello' });
    let release;
    relay.hold = (recipient) => (recipient === 'round1@seeds.example' ? new Promise((resolve) => { release = resolve; }) : undefined);
    const answer = await client.post(`/v1/emails/${copy.emailId}/inbox-placement-tests`, {});
    assert.equal(answer.status, 202, JSON.stringify(answer.body));
    await until('the relay holds its reply', () => release !== undefined, WAIT_MS);
    assert.equal((await client.request('DELETE', `/v1/emails/${copy.emailId}`)).status, 200);
    relay.hold = undefined;
    release();
    await until('the test has failed', async () => await one('select status from placement_tests order by id desc limit 1') === 'failed', WAIT_MS);
    assert.deepEqual([relay.to('round1').length, relay.to('later').length], [1, 0]);
    assert.equal((await credits()).reserved, 0);
  });

  test('a killed runner sends nothing twice, and the call is charged once (R-162)', async () => {
    const { used } = await credits();
    let release;
    let isHeld = false;
    const reading = { isHeld: false, isFree: false };
    const slow = await FakeImap.start({
      'UID SEARCH': (socket, tag) => {
        reading.isHeld = true;
        if (reading.isFree) socket.write(`* SEARCH\r\n${tag} OK done\r\n`);
      },
    });
    fakes.slow = slow;
    await addSeed('first', dovecot.port, 'killed');
    await addSeed('second', slow.port, 'stuck');

    // While the relay has the message and its reply is on its way.
    relay.hold = (recipient) => (recipient === 'killed@seeds.example' ? new Promise((resolve) => { [isHeld, release] = [true, resolve]; }) : undefined);
    const { testId } = await create();
    await until('the relay holds its reply', () => isHeld, WAIT_MS);
    await killRunner();
    release();
    await until('the other message is sent', () => relay.to('stuck').length === 1, WAIT_MS);
    await become('nothing waits', testId, () => one("select count(*) from placement_observations where state in ('waiting', 'sending')").then((count) => count === '0'));
    assert.equal(await one("select count(*) from placement_observations where is_uncertain"), '1');

    // While a mailbox is being read.
    clock.advance(16);
    await until('the mailbox is being read', () => reading.isHeld, WAIT_MS);
    reading.isFree = true; // for the next runner, whose look would otherwise wait as well
    await killRunner();
    await become('the uncertain message is found', testId, ({ results }) => results?.overall.inbox === 1);

    // While the result of the last look is being written.
    const lock = await SqlSession.open(installation);
    await lock.rows('begin');
    await lock.rows("select 'locked' from placement_tests order by id desc limit 1 for update");
    clock.advance(WINDOW_S);
    await until('the end waits for the lock', async () => (await one("select count(*) from pg_stat_activity where wait_event_type = 'Lock'")) !== '0', WAIT_MS);
    await killRunner();
    await lock.close(); // the database has ended with the runner
    const done = await ended(testId);
    assert.deepEqual([done.status, done.results.overall.inbox, done.results.overall.missing], ['completed', 1, 1]);
    assert.deepEqual([relay.to('killed').length, relay.to('stuck').length], [1, 1], 'no message twice');
    assert.deepEqual([(await credits()).used, (await credits()).reserved], [used + PRICE, 0]);
    assert.equal(await one(`select count(*) from audit_log where operation = 'placementTests.create' and subjects @> array['${testId}']`), '2', 'the call and its job');
    const said = [...server.log, installation.runnerLog].join('\n');
    assert.ok(!/"secret"|secret@|:secret/.test(said), 'no password in the logs');
  });

  test('a message that waits in a restored backup is looked for and not sent again', async () => {
    const { used } = await credits();
    await addSeed('first', dovecot.port, 'restored');
    await addSeed('second', dovecot.port, 'nowhere');
    const { testId } = await create();
    const latest = '(select max(id) from placement_tests)';
    const stateIs = (state) => one(`select count(*) from placement_observations where state = '${state}' and test_id = ${latest}`)
      .then((count) => count === '2', () => false); // the database may be starting
    await become('both are sent, and the job rests', testId, async () => (await stateIs('sent')) && await one("select count(*) from jobs where kind = 'place_test' and state in ('queued', 'running')") === '1' &&
      await one("select count(*) from jobs where kind = 'place_test' and state = 'queued' and run_after > now()") === '1');
    const before = ['restored', 'nowhere'].map((user) => relay.to(user).length);

    // The state of a backup from before they went out, and of the folders then. The job rests until the next runner has looked at it.
    await sql(installation, `begin; update jobs set run_after = now() + interval '1 day' where kind = 'place_test' and state = 'queued';
      update placement_observations set state = 'waiting', sent_at = null, due_at = now() where test_id = ${latest};
      update placement_tests set status = 'queued' where id = ${latest};
      update data_folders set generation = generation - 1; commit`);
    assert.ok(await stateIs('waiting'));
    await killRunner();
    await become('the restore is noticed', testId, () => stateIs('sent'));
    assert.equal((await read(testId)).status, 'running');
    await sql(installation, "update jobs set run_after = now() where kind = 'place_test' and state = 'queued'; select pg_notify('posthorn_work', '')");
    await become('the message is found where it went', testId, ({ results }) => results?.overall.inbox === 1);
    clock.advance(WINDOW_S);
    const done = await ended(testId);
    assert.deepEqual([done.status, done.results.overall.inbox, done.results.overall.pending], ['partially_completed', 1, 1]);
    const { placement, reason } = done.folders.find(({ provider }) => provider === 'second');
    assert.deepEqual([placement, /not certain/.test(reason)], ['pending', true], reason);
    assert.deepEqual(['restored', 'nowhere'].map((user) => relay.to(user).length), before, 'no message twice');
    assert.deepEqual([(await credits()).used, (await credits()).reserved], [used + PRICE, 0]);
  });
});
