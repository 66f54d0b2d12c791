// A sending domain from its first record to its last, over REST: with a real DNS server whose zone changes and fails, and with a
// third-party relay that accepts the mail.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Installation } from '../../lib/installation.mjs';
import { packagesOf } from '../../lib/packages.mjs';
import { NameServer } from '../../lib/dns_server.mjs';
import { until } from '../../lib/processes.mjs';

const load = packagesOf('third_party');
const { SMTPServer } = load('smtp-server');
const { dkimVerify } = load('mailauth/lib/dkim/verify');

const DOMAIN = 'shop.test';
const ZONE = ['local=/test/'];
const ENDS_MS = 60_000;

/** What a zone file would hold, for dnsmasq; a text is cut where a string may end (RFC 1035 §3.3). */
const line = ({ name, type, value, priority }) =>
  type === 'MX' ? `mx-host=${name},mx.relay.test,${priority}` : `txt-record=${name},${value.match(/.{1,200}/g).map((part) => `"${part}"`).join(',')}`;
const zoneOf = (records) => [...ZONE, ...records.map((record) => line({ ...record, value: record.value.replace('<YOUR-RELAY>', 'relay.test') }))];

const dkim = ({ records }) => records.filter(({ record }) => record === 'dkim');
const selectors = (domain) => dkim(domain).map(({ name }) => name.split('.')[0]);
const statuses = ({ records }) => records.map(({ record, status }) => `${record} ${status}`);

describe('a sending domain', { timeout: 600_000 }, () => {
  const taken = [];
  let relay;
  let dns;
  let installation;
  let clock;
  let client;
  let brandId;
  let emailId;
  let domain;
  const path = () => `/v1/domains/${domain.domainId}`;
  const read = async () => (await client.get(path())).body;
  const verify = () => client.post(`${path()}/verify`, {});
  let campaigns = 0;
  const campaign = (more = {}) =>
    client.post('/v1/sends', { emailId, domainId: domain.domainId, to: `reader${++campaigns}@example.com`, subject: 'News', ...more });

  async function verified() {
    const answer = await verify();
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.equal(answer.body.status, 'verified', JSON.stringify(answer.body));
    return answer.body;
  }

  /** The message to `recipient`, and which of its signatures hold by the records of `published`. */
  async function delivered(recipient, published) {
    const { message } = await until(`${recipient} has mail`, () => taken.find(({ to }) => to === recipient), ENDS_MS);
    const resolver = async (name) => {
      const record = dkim(published).find((each) => each.name === name);
      if (record) return [[record.value]];
      throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
    };
    const { results } = await dkimVerify(message, { resolver });
    return { text: message.toString('latin1'), signatures: results.map(({ status, signingDomain }) => `${status.result} ${signingDomain}`) };
  }

  before(async () => {
    relay = new SMTPServer({
      authOptional: true, disableReverseLookup: true, logger: false, hideSTARTTLS: true,
      onData(stream, session, callback) {
        const chunks = [];
        stream.on('data', (chunk) => chunks.push(chunk));
        stream.on('end', () => {
          taken.push({ to: session.envelope.rcptTo[0].address, from: session.envelope.mailFrom.address, message: Buffer.concat(chunks) });
          callback();
        });
      },
    });
    await new Promise((resolve) => relay.listen(0, '127.0.0.1', resolve));
    dns = await NameServer.prepare(ZONE);
    await dns.start();
    installation = new Installation({ DNS_SERVERS: dns.place, RELAY: `smtp://127.0.0.1:${relay.server.address().port}?tls=none` });
    clock = installation.movableClock();
    const server = await installation.serve('--log-level', 'error');
    brandId = await installation.brandId();
    client = server.client(await installation.key('--brand', brandId));
    const imported = await client.post('/v1/emails/import', { content: '<p>Hello</p><a href="{{ unsubscribeUrl }}">Leave</a>', title: 'News' });
    emailId = imported.body.emailId;
  });

  after(async () => {
    client?.close();
    assert.deepEqual(await installation.dispose(), []);
    await dns.dispose();
    await new Promise((resolve) => relay.close(resolve));
  });

  test('is connected, published, verified, and then carries campaigns (R-383, R-384, R-385, R-387)', async () => {
    const created = await client.post('/v1/domains', { name: DOMAIN });
    assert.equal(created.status, 201, JSON.stringify(created.body));
    domain = created.body;
    const early = await verify();
    assert.equal(early.status, 200, JSON.stringify(early.body));
    assert.equal(early.body.status, 'pending', 'an empty zone is an answer');
    assert.ok(early.body.records.every(({ status }) => status === 'pending'));
    const refused = await campaign();
    assert.deepEqual([refused.status, refused.body.error?.code], [422, 'DOMAIN_NOT_READY']);

    await dns.publish(zoneOf([dkim(domain)[0]]));
    assert.equal((await verify()).body.status, 'pending', 'both keys have to be there');
    assert.deepEqual(statuses(await read()).slice(0, 3), ['dkim verified', 'dkim pending', 'spf pending']);

    await dns.publish(zoneOf(dkim(domain)));
    assert.deepEqual(statuses(await verified()), ['dkim verified', 'dkim verified', 'spf pending', 'dmarc pending', 'bounce pending', 'bounce pending']);
    await dns.publish(zoneOf(domain.records));
    const whole = await verified();
    assert.ok(whole.records.every(({ status }) => status === 'verified'), JSON.stringify(whole.records));
    assert.ok(whole.sendable && whole.verifiedAt);
    const { data } = (await client.get('/v1/domains?sendableOnly=true')).body;
    assert.deepEqual(data.at(-1), whole);

    const patched = await client.request('PATCH', path(), { defaultSenderName: 'The Shop', defaultFromEmail: `news@${DOMAIN}`, defaultReplyToEmail: 'team@elsewhere.test' });
    assert.equal(patched.status, 200, JSON.stringify(patched.body));
    const send = await campaign({ to: 'ada@example.com' });
    assert.equal(send.status, 202, JSON.stringify(send.body));
    const { text, signatures } = await delivered('ada@example.com', domain);
    assert.deepEqual(signatures, [`pass ${DOMAIN}`, `pass ${DOMAIN}`]);
    assert.match(text, /^From: "?The Shop"? <news@shop\.test>\r$/m);
    assert.match(text, /^Reply-To: <?team@elsewhere\.test>?\r$/m);
    assert.match(taken.find(({ to }) => to === 'ada@example.com').from, /^b[a-z2-7]{53}@bounce\.shop\.test$/, 'reports come back there (D-124)');
    assert.match(text, /^List-Unsubscribe: <mailto:u[a-z2-7]{53}@bounce\.shop\.test>\r$/m);
  });

  test('is lent to tests of its organization, and to nothing else (R-257)', async () => {
    const { brandId: sister } = await installation.admin('brand', 'create', 'Sister');
    const others = await installation.key();
    const header = { authorization: `Bearer ${others}`, 'x-brand-id': sister };
    const { body: { emailId: sisters } } = await client.post('/v1/emails/import', { content: '<p>Hello</p>', title: 'Theirs' }, header);
    const order = { emailId: sisters, domainId: domain.domainId, to: 'bob@example.com', subject: 'Trial' };
    const tried = await client.post('/v1/sends', { ...order, test: true }, header);
    assert.equal(tried.status, 200, JSON.stringify(tried.body));
    assert.deepEqual((await delivered('bob@example.com', domain)).signatures, [`pass ${DOMAIN}`, `pass ${DOMAIN}`]);
    const sent = await client.post('/v1/sends', order, header);
    assert.deepEqual([sent.status, sent.body.error?.code], [404, 'DOMAIN_NOT_FOUND']);
    const claimed = await client.post('/v1/domains', { name: DOMAIN }, header);
    assert.deepEqual([claimed.status, claimed.body.error?.code], [409, 'DOMAIN_OTHER_BRAND']);
  });

  test('stays verified while the DNS is in trouble (R-384)', async () => {
    const troubles = {
      'nobody answers for the keys': [...zoneOf(domain.records.slice(2)), `server=/_domainkey.${DOMAIN}/127.0.0.1#1`],
      'it refuses to answer': [],
    };
    for (const [what, zone] of Object.entries(troubles)) {
      await dns.publish(zone);
      const answer = await verify();
      assert.deepEqual([answer.status, answer.body.error?.code], [503, 'SERVICE_UNAVAILABLE'], what);
      assert.ok(answer.body.error.retryAfter >= 1);
    }
    await dns.stop();
    assert.equal((await verify()).status, 503, 'it is away');
    const after = await read();
    assert.equal(after.status, 'verified');
    assert.ok(after.records.every(({ status }) => status === 'verified'));
    assert.equal((await campaign()).status, 202);
    await dns.publish(zoneOf(domain.records));
    await verified();
  });

  test('signs with new keys once they are published, over whichever transport that is noticed (R-383)', async () => {
    const old = selectors(domain);
    await installation.admin('domain', 'rotate', DOMAIN);
    domain = await read();
    assert.equal(dkim(domain).length, 4);
    assert.deepEqual(selectors(await verified()), selectors(domain), 'the new ones are not there yet');
    await dns.publish(zoneOf(domain.records));
    domain = await verified();
    assert.equal(dkim(domain).length, 2);
    assert.ok(selectors(domain).every((selector) => !old.includes(selector)));

    await installation.admin('domain', 'rotate', DOMAIN);
    domain = await read();
    await dns.publish(zoneOf(domain.records));
    const byHand = await installation.admin('domain', 'verify', DOMAIN);
    assert.deepEqual(dkim(byHand).map(({ state, published }) => [state, published]), [['used', true], ['used', true]]);
    domain = await read();
    assert.deepEqual(selectors(domain), selectors(byHand));
  });

  test('is pending again when its records are gone (R-384, R-387)', async () => {
    await dns.publish(ZONE);
    const gone = await verify();
    assert.equal(gone.status, 200, JSON.stringify(gone.body));
    assert.deepEqual([gone.body.status, gone.body.sendable, gone.body.verifiedAt], ['pending', false, undefined]);
    const refused = await campaign();
    assert.deepEqual([refused.status, refused.body.error?.code], [422, 'DOMAIN_NOT_READY']);
    await dns.publish(zoneOf([{ ...dkim(domain)[0], value: 'v=DKIM1; k=rsa; p=' }, dkim(domain)[1]]));
    assert.equal((await verify()).body.status, 'pending', 'a revoked key is none');
    await dns.publish(zoneOf(domain.records));
    await verified();
  });

  test('deleted, it signs what was accepted before, and nothing more (R-018)', async () => {
    const scheduledAt = new Date(Date.now() + 3600_000).toISOString();
    const send = await campaign({ to: 'cyd@example.com', scheduledAt });
    assert.equal(send.status, 202, JSON.stringify(send.body));
    assert.deepEqual((await client.request('DELETE', path())).body, { domainId: domain.domainId, deleted: true });
    const refused = await campaign();
    assert.deepEqual([refused.status, refused.body.error?.code], [404, 'DOMAIN_NOT_FOUND']);
    clock.advance(3601);
    assert.deepEqual((await delivered('cyd@example.com', domain)).signatures, [`pass ${DOMAIN}`, `pass ${DOMAIN}`]);
    const again = await client.post('/v1/domains', { name: DOMAIN });
    assert.equal(again.status, 201, JSON.stringify(again.body));
    assert.notEqual(again.body.domainId, domain.domainId);
  });
});
