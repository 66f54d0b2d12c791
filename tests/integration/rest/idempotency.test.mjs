// Idempotency keys over REST, for a program that retries: which parts of a replay are equal to the byte and which are new, how long a
// key lives, what makes two requests the same, and which operations ignore a key.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Installation } from '../../lib/installation.mjs';
import { NameServer } from '../../lib/dns_server.mjs';

const DAY_S = 86_400;
const LETTER = { source: { kind: 'content', content: '<html><body><p>Hello</p></body></html>' }, title: 'Letter' };

describe('idempotency keys', { timeout: 600_000 }, () => {
  let installation;
  let dns;
  let clock;
  let origin;
  let brandId;
  let key; // of the organization
  let emailId;
  let number = 0;

  const freshKey = () => `key-${++number}`;

  /** The answer as it came: {status, text, body, headers}. */
  async function call(method, path, body, headers = {}, by = key) {
    const response = await fetch(origin + path, {
      method, body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { authorization: `Bearer ${by}`, 'x-brand-id': brandId, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    });
    const text = await response.text();
    return { status: response.status, text, body: JSON.parse(text), headers: response.headers };
  }

  const post = (path, body, idempotencyKey, headers) => call('POST', path, body, { 'idempotency-key': idempotencyKey, ...headers });
  const used = async () => (await call('GET', '/v1/usage')).body.credits.used;

  function assertRefused(answer, status, code, param) {
    assert.deepEqual([answer.status, answer.body.error?.code, answer.body.error?.param], [status, code, param], answer.text);
  }

  function assertReplay(again, first) {
    assert.deepEqual([again.status, again.text], [first.status, first.text]);
    for (const name of ['content-type', 'x-credit-cost']) assert.equal(again.headers.get(name), first.headers.get(name), name);
    assert.notEqual(again.headers.get('x-request-id'), first.headers.get('x-request-id'));
  }

  before(async () => {
    dns = await NameServer.prepare();
    await dns.start();
    installation = new Installation({ DNS_SERVERS: dns.place });
    clock = installation.movableClock();
    const server = await installation.serve('--log-level', 'error');
    origin = `http://127.0.0.1:${server.port}`;
    brandId = await installation.brandId();
    key = await installation.key();
    ({ body: { emailId } } = await post('/v1/emails/import', LETTER, freshKey()));
    await post('/v1/contacts', { email: 'ada@example.com' }, freshKey());
  });

  after(async () => {
    await dns.dispose();
    assert.deepEqual(await installation.dispose(), []);
  });

  test('a replay is the first answer to the byte, with a request id and a rate window of its own; work and charge happen once (R-125, R-145, R-148, R-153, R-154)', async () => {
    const [{ domainId }] = (await call('GET', '/v1/domains')).body.data;
    const writes = [
      ['/v1/contacts', { email: 'one@example.com' }, 201],
      ['/v1/contacts', { email: 'one@example.com', firstName: 'One' }, 200],
      ['/v1/contacts', { contacts: [{ email: 'two@example.com' }, { email: 'wrong' }] }, 200],
      ['/v1/contacts/validate', { emails: ['ada@plain.test', 'eve@plain.test'] }, 200, '4'],
      ['/v1/contacts', { email: 'three@plain.test', validate: true }, 201, '2'],
      ['/v1/contacts/import-csv', { csv: 'email\nfour@example.com\n' }, 200],
      ['/v1/contacts/batch-delete', { emails: ['two@example.com'] }, 200],
      ['/v1/fields', { fieldName: 'size', fieldType: 'number' }, 201],
      ['/v1/emails/import', LETTER, 201, null],
      [`/v1/emails/${emailId}/clone`, {}, 201],
      ['/v1/email-groups', { name: 'Once' }, 201],
      ['/v1/audiences', { name: 'Once', filters: { logic: 'and', filters: [] } }, 201],
      ['/v1/sends', { emailId, domainId, to: ['ada@example.com'], subject: 'Once' }, 202],
      ['/v1/brands', { name: 'Once' }, 201],
    ];
    for (const [path, body, status, cost] of writes) {
      const mine = freshKey();
      const first = await post(path, body, mine);
      assert.equal(first.status, status, `${path}: ${first.text}`);
      if (cost !== undefined) assert.equal(first.headers.get('x-credit-cost'), cost, path);
      const spent = await used();
      const again = await post(path, body, mine);
      assertReplay(again, first);
      const left = ({ headers }) => Number(headers.get('x-ratelimit-remaining'));
      assert.ok(left(again) < left(first), `${path}: the replay counts`);
      assert.equal(await used(), spent, path);
    }
    const named = async (path, name) => (await call('GET', path)).body.data.filter((row) => [row.name, row.groupName, row.subject].includes(name)).length;
    for (const path of ['/v1/email-groups', '/v1/audiences', '/v1/sends', '/v1/brands']) assert.equal(await named(path, 'Once'), 1, path);
  });

  test('the same request in other words is the same; another body, path, operation or brand is not (R-146)', async () => {
    const mine = freshKey();
    const path = `/v1/emails/${emailId}/clone`;
    const first = await post(path, '{"title":"T\\u0065a","groupName":"Drinks"}', mine);
    assert.equal(first.status, 201, first.text);
    assertReplay(await post(path, ' { "groupName" : "Drinks", "title":"Tea" } ', mine), first);
    const { body: other } = await post('/v1/emails/import', LETTER, freshKey());
    const { body: brand } = await post('/v1/brands', { name: 'Elsewhere' }, freshKey());
    assertRefused(await post(path, { title: 'Tea', groupName: 'drinks' }, mine), 409, 'IDEMPOTENCY_CONFLICT');
    assertRefused(await post(path, { title: 'Tea' }, mine), 409, 'IDEMPOTENCY_CONFLICT');
    assertRefused(await post(`/v1/emails/${other.emailId}/clone`, { title: 'Tea', groupName: 'Drinks' }, mine), 409, 'IDEMPOTENCY_CONFLICT');
    assertRefused(await post(path, { title: 'Tea', groupName: 'Drinks', emailId: other.emailId }, mine), 409, 'IDEMPOTENCY_CONFLICT');
    assertRefused(await post('/v1/email-groups', { name: 'Drinks' }, mine), 409, 'IDEMPOTENCY_CONFLICT');
    assertRefused(await post(path, { title: 'Tea', groupName: 'Drinks' }, mine, { 'x-brand-id': brand.brandId }), 409, 'IDEMPOTENCY_CONFLICT');
    assertRefused(await post(path, '{"title":', mine), 409, 'IDEMPOTENCY_CONFLICT');
    assertReplay(await post(path, { title: 'Tea', groupName: 'Drinks' }, mine), first);
  });

  test('what was refused leaves the key free (R-145)', async () => {
    const mine = freshKey();
    assertRefused(await post('/v1/email-groups', '{"name":', mine), 400, 'INVALID_REQUEST', undefined);
    assertRefused(await post('/v1/email-groups', { name: '' }, mine), 400, 'INVALID_REQUEST', 'name');
    assertRefused(await post('/v1/emails/eml_0000000000000/clone', {}, mine), 404, 'EMAIL_NOT_FOUND', 'emailId');
    assertRefused(await post('/v1/contacts/validate', { emails: ['new@silent.test'] }, mine), 503, 'SERVICE_UNAVAILABLE', undefined);
    const first = await post('/v1/email-groups', { name: 'At last' }, mine);
    assert.equal(first.status, 201, first.text);
    assertReplay(await post('/v1/email-groups', { name: 'At last' }, mine), first);
  });

  test('a key has at most 100 characters, on every POST that is not the one for keys (R-142)', async () => {
    const [most, more] = [100, 101].map((length) => 'k'.repeat(length));
    assert.equal((await post('/v1/email-groups', { name: 'Hundred' }, most)).status, 201);
    for (const [path, body] of [['/v1/email-groups', { name: 'More' }], ['/v1/contacts', { email: 'a@example.com' }], ['/v1/contacts/search', {}]]) {
      assertRefused(await post(path, body, more), 400, 'INVALID_REQUEST', 'idempotencyKey');
    }
    assert.equal((await post('/v1/contacts/search', {}, most)).status, 200);
    assert.ok(!(await call('GET', '/v1/email-groups')).text.includes('"More"'));
  });

  test('other methods do not read the header, whatever stands in it (R-141)', async () => {
    const headers = { 'idempotency-key': 'k'.repeat(101) };
    const patch = (title) => call('PATCH', `/v1/emails/${emailId}`, { title }, headers);
    assert.deepEqual([(await patch('First')).body.title, (await patch('Second')).body.title], ['First', 'Second']);
    const { groupId } = (await post('/v1/email-groups', { name: 'To go' }, freshKey())).body;
    const remove = () => call('DELETE', `/v1/email-groups/${groupId}`, undefined, headers);
    assert.deepEqual([(await remove()).body.deleted, (await remove()).body.deleted], [true, false]);
    assert.equal((await call('GET', `/v1/emails/${emailId}`, undefined, headers)).status, 200);
  });

  test('a key is forgotten 24 hours after its first request (R-143)', async () => {
    const mine = freshKey();
    const save = (body) => post('/v1/brands', body, mine);
    const first = await save({ name: 'Yesterday' });
    clock.setSeconds(DAY_S - 30);
    assertReplay(await save({ name: 'Yesterday' }), first);
    assertRefused(await save({ name: 'Tomorrow' }), 409, 'IDEMPOTENCY_CONFLICT');
    clock.setSeconds(DAY_S + 5);
    const fresh = await save({ name: 'Tomorrow' });
    assert.equal(fresh.status, 201, fresh.text);
    assert.notEqual(fresh.body.brandId, first.body.brandId);
  });
});
