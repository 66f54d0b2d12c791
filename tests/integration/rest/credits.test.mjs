// Credits and the allowance of sends over REST: the published prices, the cost that a call reports, and the grants of the operator.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '../../lib/database.mjs';
import { Installation } from '../../lib/installation.mjs';
import { until } from '../../lib/processes.mjs';

// The contract's table: operation, cost, how it is counted.
const PRICES = {
  htmlToPng: 1,
  gif: 10,
  imageOptimize: 1,
  imageResize: 2,
  contactValidation: 2, // R-159, an address
  accessibilityAudit: 5,
  clientPreviews: 10,
  inboxPlacementTest: 10,
};
const METERED = ['emailGeneration', 'emailEdit', 'emailImport', 'brandImageSearch', 'imageGeneration'];

describe('credits', { timeout: 600_000 }, () => {
  const installation = new Installation();
  const clock = installation.movableClock();
  let server;
  let client; // a key of the default brand
  let orgId;
  const clients = [];

  const usage = async () => (await client.get('/v1/usage')).body;
  const imported = (content, headers) => client.post('/v1/emails/import', { content, title: 'Letter' }, headers);

  before(async () => {
    server = await installation.serve('--log-level', 'error');
    client = server.client(await installation.key('--brand', await installation.brandId()));
    clients.push(client);
    orgId = (await installation.admin('org', 'list')).data[0].orgId;
  });

  after(async () => {
    clients.forEach((made) => made.close());
    assert.deepEqual(await installation.dispose(), []);
  });

  test('the help has the prices of the contract (R-152, R-156, R-157, R-158, R-159, R-160, R-161, R-162, R-163, R-169)', async () => {
    const { operations } = (await client.get('/v1/help')).body.credits;
    const published = new Map(operations.map((row) => [row.operation, row]));
    for (const [name, cost] of Object.entries(PRICES)) assert.equal(published.get(name)?.cost, cost, name);
    assert.equal(published.get('contactValidation').unit, 'address');
    for (const name of METERED) assert.deepEqual([published.get(name)?.cost, published.get(name)?.kind], [1, 'metered'], name);
    assert.ok(![...published.keys()].some((name) => /figma/i.test(name)), 'a frame of a design tool is free');
  });

  test('plan and bonus hold from the next call on, and leave an audit row each (R-164, R-165, R-167)', async () => {
    assert.equal((await usage()).credits.limit, null);
    assert.deepEqual(await installation.admin('org', 'plan', orgId, 'trial'), { orgId, plan: 'trial' });
    const { plan, credits, emailSends, period } = await usage();
    assert.deepEqual(plan, { key: 'trial', name: 'Trial' });
    assert.deepEqual([credits, emailSends], [{ limit: 100, used: 0, remaining: 100, reserved: 0 }, { limit: 500, used: 0, remaining: 500 }]);
    const now = new Date();
    assert.equal(period.start, new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth())).toISOString());
    assert.equal(period.end, new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString());
    assert.deepEqual(await installation.admin('org', 'credits', orgId, '50'), { orgId, bonusCredits: 50 });
    assert.equal((await usage()).credits.remaining, 150);
    const rows = await sql(installation, `select operation from audit_log where '${orgId}' = any (subjects) order by id`);
    assert.deepEqual(rows, ['admin.org.plan', 'admin.org.credits']);
    for (const [param, ...words] of [
      ['plan', 'plan', orgId, 'golden'], ['plan', 'plan', orgId], ['org', 'plan', 'org_0000000000000', 'trial'], ['credits', 'credits', orgId, '-1'],
      ['credits', 'credits', orgId, '1.5'], ['credits', 'credits', orgId, '1e9'], ['credits', 'credits', orgId, '2000000000'],
    ]) {
      const { code, stderr } = await installation.run('admin', 'org', '--', ...words);
      assert.equal(code, 1, words.join(' '));
      assert.equal(JSON.parse(stderr.split('\n')[0]).error.param, param, stderr);
    }
    assert.equal((await usage()).credits.remaining, 150, 'a refused command changes nothing');
    await installation.admin('org', 'credits', orgId, '0');
  });

  test('a metered success is charged without a header, a fixed one with it, a failure not at all (R-153, R-154, R-155, R-159)', async () => {
    const made = await imported('<p>Hi</p>');
    assert.deepEqual([made.status, made.headers['x-credit-cost']], [201, undefined]);
    assert.equal((await usage()).credits.used, 1);
    assert.equal((await imported('<script>alert(1)</script>')).status, 422);
    assert.equal((await client.post('/v1/contacts/validate', { emails: [] })).status, 400);
    assert.equal((await usage()).credits.used, 1);
    // Names that cannot exist (RFC 6761) are checked without the DNS.
    const checked = await client.post('/v1/contacts/validate', { emails: ['a@b.invalid', 'c@b.invalid', 'x'] }, { 'idempotency-key': 'check' });
    assert.deepEqual([checked.status, checked.headers['x-credit-cost']], [200, '6']);
    assert.equal((await usage()).credits.used, 7);
    const again = await client.post('/v1/contacts/validate', { emails: ['a@b.invalid', 'c@b.invalid', 'x'] }, { 'idempotency-key': 'check' });
    assert.deepEqual([again.status, again.headers['x-credit-cost'], (await usage()).credits.used], [200, '6', 7]);
    const read = await client.get('/v1/emails');
    assert.deepEqual([read.status, read.headers['x-credit-cost']], [200, undefined]);
  });

  test('without credits nothing is begun, for any caller (R-083, R-168)', async () => {
    const designs = (await client.get('/v1/emails')).body.data.length;
    await sql(installation, 'update credit_usage set used = 99');
    const tooMany = await client.post('/v1/contacts/validate', { emails: ['a@b.invalid'] });
    assert.deepEqual([tooMany.status, tooMany.body.error.code, tooMany.body.error.type], [402, 'INSUFFICIENT_CREDITS', 'invalid_request']);
    await sql(installation, 'update credit_usage set used = 120');
    const refused = await imported('<p>Hi</p>', { 'idempotency-key': 'later' });
    assert.deepEqual([refused.status, refused.body.error.code, refused.headers['x-credit-cost']], [402, 'INSUFFICIENT_CREDITS', undefined]);
    assert.equal((await client.get('/v1/emails')).body.data.length, designs);
    assert.deepEqual((await usage()).credits, { limit: 100, used: 120, remaining: 0, reserved: 0 });
    await installation.admin('org', 'credits', orgId, '21');
    assert.equal((await imported('<p>Hi</p>', { 'idempotency-key': 'later' })).status, 201, 'the bonus pays, and the key was free');
    assert.deepEqual((await usage()).credits, { limit: 100, used: 121, remaining: 0, reserved: 0 });
    assert.equal((await imported('<p>Hi</p>')).status, 402);
  });

  test('a send that found no room in the plan goes on when the operator makes room (R-104, R-263, R-277)', async () => {
    await client.post('/v1/contacts', { contacts: [{ email: 'a@example.com' }, { email: 'b@example.com' }] });
    const { domainId } = (await client.get('/v1/domains')).body.data[0];
    const { emailId } = (await client.get('/v1/emails')).body.data[0];
    const order = { emailId, domainId, audienceId: 'all', subject: 'Hi' };
    await sql(installation, "insert into email_usage select id, date_trunc('month', now() at time zone 'UTC')::date, 499 from organizations");
    const now = await client.post('/v1/sends', order);
    assert.deepEqual([now.status, now.body.error.code], [402, 'SEND_QUOTA_EXCEEDED']);
    const later = await client.post('/v1/sends', { ...order, scheduledAt: new Date(Date.now() + 3600_000).toISOString() });
    assert.equal(later.status, 202, JSON.stringify(later.body));
    clock.advance(3600);
    const send = async () => (await client.get(`/v1/sends/${later.body.sendId}`)).body;
    await until('it waits for the plan', async () => (await send()).pauseReason === 'plan_limit', 60_000);
    await installation.admin('org', 'plan', orgId, 'standard');
    await until('it is sent', async () => (await send()).status === 'completed', 60_000);
    assert.equal((await usage()).emailSends.used, 501);
  });
});
