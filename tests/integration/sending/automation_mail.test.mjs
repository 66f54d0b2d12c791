// The mail of automations: a value of the event's payload reaches a real SMTP server, each message is a send of its own, and nothing of
// the payload is left behind.

import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { databaseUrl, sql } from '../../lib/database.mjs';
import { Driver } from '../../lib/driver.mjs';
import { BINARY, Installation } from '../../lib/installation.mjs';
import { packagesOf } from '../../lib/packages.mjs';
import { until } from '../../lib/processes.mjs';

const { SMTPServer } = packagesOf('third_party')('smtp-server');

const DOMAIN = 'letters.example.com';
const MARKER = 'zq7-marker-4711';
const DESIGN = '<html><head><title>Welcome</title></head><body><p>Your code is {{ payload.order.code }}.</p></body></html>';

describe('the mail of automations', { timeout: 600_000 }, () => {
  const taken = new Map();
  const deferred = new Set();
  let relay;
  let installation;
  let driver;
  let design;

  const append = (messages, more = {}) => driver.ask({ ...design, subject: 'Hello {{ payload.name | default: "you" }}', node: 'welcome', messages, ...more });

  const sendOf = (sendId) => installation.call('get_email_analytics', { view: 'send', sendId });

  const ended = (sendId) => until(`${sendId} has a result`, async () => {
    const send = await sendOf(sendId);
    return ['completed', 'failed'].includes(send.status) && send;
  }, 60_000);

  /** The tables that have the text in a row. */
  async function tablesWith(text) {
    const tables = await sql(installation, "select quote_ident(relname) from pg_class where relkind = 'r' and relnamespace = 'posthorn'::regnamespace");
    const counts = await sql(installation, tables.map((table) => `select '${table}', count(*) from ${table} t where t::text like '%${text}%'`).join(' union all '));
    return counts.map((line) => line.split('|')).filter(([, count]) => Number(count) > 0).map(([table]) => table);
  }

  before(async () => {
    relay = new SMTPServer({
      authOptional: true, disableReverseLookup: true, logger: false, hideSTARTTLS: true,
      onRcptTo({ address }, session, callback) {
        if (address.startsWith('nobody')) return callback(Object.assign(new Error('5.1.1 no such user'), { responseCode: 550 }));
        const isDeferred = address.startsWith('later') && !deferred.has(address);
        deferred.add(address);
        return callback(isDeferred ? Object.assign(new Error('4.2.0 try again'), { responseCode: 450 }) : null);
      },
      onData(stream, session, callback) {
        const chunks = [];
        stream.on('data', (chunk) => chunks.push(chunk));
        stream.on('end', () => {
          const address = session.envelope.rcptTo[0].address;
          taken.set(address, [...(taken.get(address) ?? []), Buffer.concat(chunks).toString('latin1').replaceAll('=\r\n', '')]);
          callback();
        });
      },
    });
    await new Promise((resolve) => relay.listen(0, '127.0.0.1', resolve));
    installation = new Installation({ RELAY: `smtp://127.0.0.1:${relay.server.address().port}?tls=none`, RETRY_AFTER: 1, PUBLIC_URL: 'https://mail.example' });
    await installation.admin('domain', 'create', DOMAIN);
    const { domainId } = await installation.admin('domain', 'verify', DOMAIN, '--trust');
    const { emailId } = await installation.call('import_email', { content: DESIGN, title: 'Welcome' });
    design = { emailId, domainId };
    driver = new Driver(join(dirname(BINARY), 'carrier_driver'), [installation.data, await databaseUrl(installation)]);
  });

  after(async () => {
    driver?.close();
    assert.deepEqual(await installation.dispose(), []);
    await new Promise((resolve) => relay.close(resolve));
  });

  test('a payload reaches the recipient and nothing else', async () => {
    await sql(installation, `insert into automation_runs (brand_id, id, automation_id, version_id, email, email_key, node_id, started_at, status)
      overriding system value select id, 1, 1, 1, 'ada@readers.example', 'ada@readers.example', 'welcome', now(), 'completed' from brands`);
    const payload = { name: MARKER, order: { code: MARKER } };
    const { sendIds, carrier } = await append([
      { email: 'ada@readers.example', payload }, { email: 'nobody@readers.example', payload }, { email: 'bob@readers.example' },
    ]);
    assert.equal(Number((await sql(installation, 'select count(*) from trigger_payloads'))[0]) <= 2, true);

    const [ada, nobody, bob] = await Promise.all(sendIds.map(ended));
    assert.deepEqual([ada.status, nobody.status, bob.status], ['completed', 'completed', 'completed']);
    assert.equal(ada.kind, 'automation');
    assert.equal(ada.stats.delivered, 1);
    assert.equal(nobody.stats.bounced, 1);
    assert.match(nobody.error, /^Bounced \(hard\): 550/);
    const [mail] = taken.get('ada@readers.example');
    assert.match(mail, new RegExp(`^Subject: Hello ${MARKER}\r$`, 'm'));
    assert.match(mail, new RegExp(`Your code is ${MARKER}\\.`));
    assert.match(taken.get('bob@readers.example')[0], /^Subject: Hello you\r$/m);
    assert.deepEqual([...taken.values()].map(({ length }) => length), [1, 1]);

    assert.deepEqual(await sql(installation, 'select count(*) from trigger_payloads'), ['0']);
    assert.deepEqual(await tablesWith(MARKER), []);
    assert.equal(installation.runnerLog.includes(MARKER), false);
    const why = await installation.run('why', 'ada@readers.example');
    assert.equal(why.code, 0, why.stderr);
    assert.equal(why.stdout.includes(MARKER), false);
    const { sends, runs } = JSON.parse(why.stdout);
    assert.deepEqual(sends.map(({ sendId, outcome, nodeId }) => [sendId, outcome, nodeId]), [[sendIds[0], 'delivered', 'welcome']]);
    assert.equal(runs.length, 1);
    assert.deepEqual(await sql(installation, `select status from sends where id = ${carrier}`), ['running']);
    assert.deepEqual(await sql(installation, "select count(*) from events where event_type = 'sent' and automation_run_id is not null"), ['2']);
  });

  test('a deferred message keeps its payload until its retry', async () => {
    const { sendIds } = await append([{ email: 'later@readers.example', payload: { order: { code: 'kept' } } }], { firstRun: 50 });
    assert.equal((await ended(sendIds[0])).stats.delivered, 1);
    assert.equal(deferred.has('later@readers.example'), true);
    assert.match(taken.get('later@readers.example')[0], /Your code is kept\./);
    assert.deepEqual(await sql(installation, 'select attempts from send_results where attempts > 1'), ['2']);
    assert.deepEqual(await sql(installation, 'select count(*) from trigger_payloads'), ['0']);
  });

  test('a resting carrier takes more messages', async () => {
    const messages = Array.from({ length: 700 }, (_, index) => ({ email: `r${index}@readers.example`, ...(index % 3 === 0 && { payload: { order: { code: `c${index}` } } }) }));
    const { sendIds } = await append(messages, { firstRun: 100, batch: 60 });
    assert.equal(new Set(sendIds).size, 700);
    await until('all have a result', async () => (await sql(installation, 'select count(*) from send_results'))[0] === '704', 60_000);
    assert.deepEqual(messages.filter(({ email }) => taken.get(email)?.length !== 1), []);
    for (const index of [0, 300, 699]) assert.match(taken.get(`r${index}@readers.example`)[0], new RegExp(`Your code is ${index % 3 === 0 ? `c${index}` : ''}\\.`));
    assert.deepEqual(await sql(installation, 'select count(*) from trigger_payloads'), ['0']);
    assert.deepEqual(await sql(installation, 'select count(*) from send_ranges where next_ordinal <= to_ordinal'), ['0']);
  });

  test('mail of a transactional domain is tracked when the brand says so, and no value of a payload is stored (A-52, R-328)', async () => {
    const name = 'service.example.com';
    await installation.admin('domain', 'create', name, '--purpose', 'transactional');
    const { domainId } = await installation.admin('domain', 'verify', name, '--trust');
    const content = '<html><head><title>Reset</title></head><body><a href="https://shop.example/reset?code={{ payload.order.code }}">Reset</a> <a href="https://shop.example/help">Help</a></body></html>';
    const { emailId } = await installation.call('import_email', { content, title: 'Reset' });
    const mailTo = async (reader, firstRun, code) => {
      const answer = await append([{ email: `${reader}@readers.example`, payload: { order: { code } } }], { emailId, domainId, firstRun, subject: 'Reset', node: 'reset' });
      assert.equal((await ended(answer.sendIds[0])).stats.delivered, 1);
      return { ...answer, text: taken.get(`${reader}@readers.example`)[0].replaceAll('=3D', '=') };
    };
    const tracked = /https:\/\/mail\.example(\/[co]\/[A-Za-z0-9_-]+)/g;
    const isTracked = async (carrier) => (await sql(installation, `select is_tracked from sends where id = ${carrier}`))[0];
    const switchTo = async (...words) => (await installation.admin('brand', 'tracking', ...words)).tracking;

    assert.equal(await switchTo(), 'marketing');
    const plain = await mailTo('plain', 2000, 'plain-code');
    assert.match(plain.text, /href="https:\/\/shop\.example\/reset\?code=plain-code"/);
    assert.doesNotMatch(plain.text, tracked);
    assert.equal(await isTracked(plain.carrier), 'f');

    assert.equal(await switchTo('all'), 'all');
    assert.match((await installation.run('admin', 'brand', 'tracking', 'some')).stderr, /off, marketing or all/);
    const full = await mailTo('full', 2001, MARKER);
    assert.equal(full.carrier, plain.carrier);
    assert.equal(await isTracked(full.carrier), 't', 'the send is marked, although it began before');
    const paths = [...full.text.matchAll(tracked)].map(([, path]) => path);
    assert.equal(paths.filter((path) => path.startsWith('/c/')).length >= 2, true, full.text);
    assert.equal(paths.filter((path) => path.startsWith('/o/')).length, 1);
    const web = (await installation.serve()).client();
    const targets = [];
    for (const path of paths) {
      const { status, headers } = await web.get(path);
      assert.equal(status, path.startsWith('/c/') ? 302 : 200, path);
      targets.push(headers.location);
    }
    assert.ok(targets.includes(`https://shop.example/reset?code=${MARKER}`), targets.join());
    await until('each request is stored', async () => Number((await sql(installation, `select count(*) from hits where send_id = ${full.carrier}`))[0]) === paths.length, 60_000);
    assert.deepEqual(await sql(installation, `select distinct url from hits where send_id = ${full.carrier} and url like '%reset%'`), ['https://shop.example/reset?code={{ payload.order.code }}']);
    assert.deepEqual(await tablesWith(MARKER), []);

    assert.equal(await switchTo('off'), 'off');
    assert.doesNotMatch((await mailTo('off', 2002, 'off')).text, tracked);
    const { sendIds } = await append([{ email: 'letter@readers.example', payload: {} }], { firstRun: 2003 });
    await ended(sendIds[0]);
    assert.doesNotMatch(taken.get('letter@readers.example')[0], tracked);
  });
});
