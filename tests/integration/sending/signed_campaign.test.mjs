// Signatures of delivered mail: a third-party relay accepts a campaign, and mailauth verifies it with nothing but the records that
// `posthorn admin domain` printed for publishing.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { saveContacts, sendConfirmed } from '../../lib/campaign.mjs';
import { Installation } from '../../lib/installation.mjs';
import { packagesOf } from '../../lib/packages.mjs';
import { until } from '../../lib/processes.mjs';

const load = packagesOf('third_party');
const { SMTPServer } = load('smtp-server');
const { dkimVerify } = load('mailauth/lib/dkim/verify');

const DOMAIN = 'news.example.com';
const DESIGN = `<html><head><title>Letter</title></head><body>
<p>Dear {{ firstName }}, \u05e9\u05dc\u05d5\u05dd \u{1F4EC}</p></body></html>`;

describe('the mail of a sending domain', { timeout: 600_000 }, () => {
  const taken = [];
  let relay;
  let installation;
  let domain;

  const call = async (tool, args) => {
    const { code, stdout, stderr } = await installation.run('call', tool, JSON.stringify(args));
    return { ok: code === 0, body: JSON.parse(code === 0 ? stdout : stderr.split('\n')[0]) };
  };

  /** Sends to everybody: the messages as the relay took them. */
  async function campaign() {
    const from = taken.length;
    const { body } = await call('import_email', { content: DESIGN, title: 'Letter' });
    const { sendId } = await sendConfirmed(call, {
      emailId: body.emailId, domainId: domain.domainId, from: { email: `hello@${DOMAIN}` }, audienceId: 'all',
      subject: 'Gr\u00fc\u00dfe {{ firstName }}',
    });
    await until('the send has ended', async () => {
      const { status } = (await call('get_email_analytics', { view: 'send', sendId })).body;
      return status === 'completed';
    }, 60_000);
    return taken.slice(from);
  }

  /** The signatures of a message, verified with the records of the domain as they are now. */
  async function signaturesOf(bytes) {
    const { records } = await installation.admin('domain', 'records', DOMAIN);
    const resolver = async (name) => {
      const record = records.find((each) => each.record === 'dkim' && each.name === name);
      if (record) return [record.strings];
      throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
    };
    const { results } = await dkimVerify(bytes, { resolver });
    return results.map(({ status, algo, signingDomain, selector }) => ({ result: status.result, algo, signingDomain, selector }));
  }

  const expected = (number) => [
    { result: 'pass', algo: 'rsa-sha256', signingDomain: DOMAIN, selector: `ph${number}r` },
    { result: 'pass', algo: 'ed25519-sha256', signingDomain: DOMAIN, selector: `ph${number}e` },
  ];

  before(async () => {
    relay = new SMTPServer({
      authOptional: true, disableReverseLookup: true, logger: false, hideSTARTTLS: true,
      onData(stream, session, callback) {
        const chunks = [];
        stream.on('data', (chunk) => chunks.push(chunk));
        stream.on('end', () => {
          taken.push(Buffer.concat(chunks));
          callback();
        });
      },
    });
    await new Promise((resolve) => relay.listen(0, '127.0.0.1', resolve));
    installation = new Installation({ RELAY: `smtp://127.0.0.1:${relay.server.address().port}?tls=none` });
    domain = await installation.admin('domain', 'create', DOMAIN);
    await installation.admin('domain', 'verify', DOMAIN, '--trust');
    await saveContacts(call, 'reader', 5);
  });

  after(async () => {
    assert.deepEqual(await installation.dispose(), []);
    await new Promise((resolve) => relay.close(resolve));
  });

  test('carries two signatures that verify', async () => {
    const messages = await campaign();
    assert.equal(messages.length, 5);
    for (const bytes of messages) assert.deepEqual(await signaturesOf(bytes), expected(1));
    const tampered = Buffer.from(messages[0].toString('latin1').replace(/\r\nSubject: /, '$&x'), 'latin1');
    assert.deepEqual((await signaturesOf(tampered)).map(({ result }) => result), ['fail', 'fail']);
  });

  test('is signed with new keys when they are published', async () => {
    await installation.admin('domain', 'rotate', DOMAIN);
    for (const bytes of await campaign()) assert.deepEqual(await signaturesOf(bytes), expected(1));
    await installation.admin('domain', 'rotate', DOMAIN, '--trust');
    for (const bytes of await campaign()) assert.deepEqual(await signaturesOf(bytes), expected(2));
  });

  test('is signed with the same keys under another master key', async () => {
    await installation.admin('keys', 'add');
    assert.equal((await installation.admin('keys', 'rewrap')).resealed, 4);
    for (const bytes of await campaign()) assert.deepEqual(await signaturesOf(bytes), expected(2));
  });
});
