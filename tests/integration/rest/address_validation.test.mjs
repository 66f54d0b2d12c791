// Validation of addresses with a real DNS server on loopback: verdicts, charges, stored results, and the behaviour while the server
// is down.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installationFor } from '../../lib/installation.mjs';
import { NameServer } from '../../lib/dns_server.mjs';
import { until } from '../../lib/processes.mjs';

const LIMIT = { timeout: 600_000 };

/** A server that asks a DNS server of its own, and a client in the default brand. `started` false: it is not there yet. */
async function place(test, { started = true, plan } = {}) {
  const dns = await NameServer.prepare();
  test.after(() => dns.dispose());
  if (started) await dns.start();
  const installation = installationFor(test, { DNS_SERVERS: dns.place });
  const server = await installation.serve('--log-level', 'error');
  const client = server.client(await installation.key('--brand', await installation.brandId()));
  test.after(() => client.close());
  const used = async () => (await client.get('/v1/usage')).body.credits.used;
  const count = async () => (await client.post('/v1/contacts/search', { count: true })).body.count;
  return { dns, client, installation, used, count, plan };
}

const verdictOf = ({ status, reason, didYouMean }) => [status, reason, didYouMean].filter(Boolean).join(' ');

test('addresses have the verdicts that the DNS and the lists give; nothing is written; each costs two credits (R-159, R-372)', LIMIT, async (t) => {
  const { client, used, count } = await place(t);
  const expected = {
    'ada@plain.test': 'valid',
    'ada+tag@PLAIN.test': 'valid',
    'ünal@plain.test': 'valid',
    'ada@münchen.test': 'valid',
    'ada@long.test': 'valid',
    'ada@implicit.test': 'valid',
    'ada@null.test': 'invalid no_mail',
    'ada@empty.test': 'invalid no_mail',
    'ada@absent.test': 'invalid no_such_domain',
    'ada@x.invalid': 'invalid no_such_domain',
    'info@plain.test': 'risky role',
    'ada@mailinator.com': 'risky disposable',
    'two@@plain.test': 'invalid invalid_syntax',
    [`${'a'.repeat(65)}@plain.test`]: 'invalid invalid_syntax',
    [`a@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(63)}.${'e'.repeat(63)}.test`]: 'invalid invalid_syntax',
  };
  const emails = Object.keys(expected);
  const answer = await client.post('/v1/contacts/validate', { emails });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.deepEqual(Object.fromEntries(answer.body.data.map((row) => [row.email, verdictOf(row)])), expected);
  assert.equal(answer.headers['x-credit-cost'], String(2 * emails.length));
  assert.equal(await used(), 2 * emails.length);
  assert.equal(await count(), 0);
});

test('a domain that does not answer is risky and costs nothing, the others have their verdicts (R-159)', LIMIT, async (t) => {
  const { client, used } = await place(t);
  const answer = await client.post('/v1/contacts/validate', { emails: ['ada@silent.test', 'ada@plain.test', 'Ada@plain.test', 'eve@gmial.silent.test'] });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.deepEqual(answer.body.data.map(verdictOf), ['risky dns_unavailable', 'valid', 'valid', 'risky dns_unavailable']);
  assert.equal(answer.headers['x-credit-cost'], '2', 'one address was checked, and it is the same one twice');
  assert.equal(await used(), 2);
});

test('a validation that produced nothing is a 503 that costs nothing, and the same key works later (R-084, R-155)', LIMIT, async (t) => {
  const { dns, client, used } = await place(t, { started: false });
  const ask = () => client.post('/v1/contacts/validate', { emails: ['ada@plain.test'] }, { 'idempotency-key': 'later' });
  const refused = await ask();
  assert.equal(refused.status, 503);
  assert.equal(refused.body.error.code, 'SERVICE_UNAVAILABLE');
  assert.ok(refused.body.error.retryAfter >= 1);
  assert.equal(refused.headers['x-credit-cost'], undefined);
  assert.equal(await used(), 0);

  await dns.start();
  const answer = await ask();
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.equal(answer.headers['x-credit-cost'], '2');
  await dns.dispose();
  const again = await ask();
  assert.deepEqual(again.body, answer.body, 'a replay asks nobody');
  assert.equal(again.headers['x-credit-cost'], '2');
  assert.equal(await used(), 2);
});

test('contacts are saved with their verdicts; many are checked in the background, as they are charged (R-159, R-366)', LIMIT, async (t) => {
  const { client, installation, used, count } = await place(t);
  const one = await client.post('/v1/contacts', { email: 'ada@null.test', firstName: 'Ada', validate: true });
  assert.equal(one.status, 201, JSON.stringify(one.body));
  assert.equal(one.headers['x-credit-cost'], '2');
  assert.deepEqual(one.body.warnings.map(({ code, field, original }) => [code, field, original]), [['ADDRESS_INVALID', 'email', 'ada@null.test']]);
  const fine = await client.post('/v1/contacts', { email: 'bob@plain.test', validate: true });
  assert.equal(fine.body.warnings, undefined);

  const few = await client.post('/v1/contacts', { validate: true, contacts: [{ email: 'ada@null.test' }, { email: 'cyd@plain.test' }, { email: 'x' }] });
  assert.equal(few.status, 200);
  assert.equal(few.headers['x-credit-cost'], '4', 'a row that was not saved is not checked');
  assert.equal(few.body.validationJobId, undefined);
  assert.equal(await used(), 8);

  const contacts = Array.from({ length: 300 }, (_, i) => ({ email: `p${i}@${['plain', 'null', 'absent'][i % 3]}.test` }));
  const many = await client.post('/v1/contacts', { validate: true, contacts }, { 'idempotency-key': 'many' });
  assert.equal(many.status, 200, JSON.stringify(many.body));
  assert.deepEqual(many.body.summary, { inserted: 300, updated: 0, failed: 0 });
  assert.match(many.body.validationJobId, /^job_/);
  assert.equal(many.headers['x-credit-cost'], '0', 'what is checked later is charged later');
  assert.equal(await count(), 303);
  await until('all are checked', async () => (await used()) === 608);
  const again = await client.post('/v1/contacts', { validate: true, contacts }, { 'idempotency-key': 'many' });
  assert.deepEqual(again.body, many.body);

  // A server that cannot be reached is passed over.
  const imported = await client.post('/v1/emails/import', { content: '<p>Hello</p><a href="{{ unsubscribeUrl }}">Leave</a>', title: 'News' });
  const { data: [domain] } = (await client.get('/v1/domains?sendableOnly=true')).body;
  const send = await client.post('/v1/sends', { emailId: imported.body.emailId, audienceId: 'all', subject: 'News', domainId: domain.domainId });
  assert.equal(send.status, 202, JSON.stringify(send.body));
  await until('the campaign has ended', async () => (await client.get(`/v1/sends/${send.body.sendId}`)).body.status === 'completed');
  assert.equal(installation.outbox().length, 102, 'bob, cyd and the hundred at plain.test');
});

test('an import of few contacts checks them while the caller waits, and charges what was checked (R-159, R-366, D-144)', LIMIT, async (t) => {
  const { client, used } = await place(t);
  const ask = { csv: 'email\nada@null.test\nbob@plain.test\neve@silent.test\nx\n', validate: true };
  const answer = await client.post('/v1/contacts/import-csv', ask, { 'idempotency-key': 'few' });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.equal(answer.headers['x-credit-cost'], '4', 'the server of eve does not answer, and x was not saved');
  assert.deepEqual(answer.body.warnings.map(({ code, original }) => [code, original]), [['ADDRESS_INVALID', 'ada@null.test'], ['ADDRESS_UNCHECKED', 'eve@silent.test']]);
  assert.equal(answer.body.validationJobId, undefined);
  assert.equal(await used(), 4);
  const again = await client.post('/v1/contacts/import-csv', ask, { 'idempotency-key': 'few' });
  assert.deepEqual(again.body, answer.body);
  assert.equal(again.headers['x-credit-cost'], '4');
  assert.equal(await used(), 4);

  const plain = await client.post('/v1/contacts/import-csv', { csv: 'email\ncyd@plain.test\n' });
  assert.equal(plain.headers['x-credit-cost'], undefined);
  const rows = Array.from({ length: 101 }, (_, i) => `p${i}@plain.test\n`).join('');
  const many = await client.post('/v1/contacts/import-csv', { csv: `email\n${rows}`, validate: true });
  assert.equal(many.headers['x-credit-cost'], '0', 'what is checked later is charged later');
  assert.match(many.body.validationJobId, /^job_/);
  await until('all are checked', async () => (await used()) === 206);
});
