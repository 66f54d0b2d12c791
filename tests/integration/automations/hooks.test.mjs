// Events of integrations at a running server: the seven kinds of providers, signed by the libraries of the providers where there is
// one, and what is refused, repeated, ignored or without an address (R-399, R-400, R-401, D-28).

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHmac, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { sql } from '../../lib/database.mjs';
import { BINARY, Installation } from '../../lib/installation.mjs';
import { packagesOf } from '../../lib/packages.mjs';
import { until } from '../../lib/processes.mjs';

const load = packagesOf('third_party');
const { Webhook: Svix } = load('svix');
const { Webhook: StandardWebhook } = load('standardwebhooks');
const Stripe = load('stripe');
const { WorkOS } = load('@workos-inc/node');

const LIMIT = { timeout: 600_000 };
const MARKER = 'marker-8c51f0';
const KINDS = ['identity', 'payments', 'ecommerce', 'authentication', 'database', 'directory_sync', 'in_app_purchase'];
const SECRETS = {
  identity: `whsec_${Buffer.from('identity secret of the test').toString('base64')}`,
  payments: 'whsec_payments0123456789',
  ecommerce: 'shpss_0123456789abcdef',
  authentication: `whsec_${Buffer.from('authentication secret of it').toString('base64')}`,
  database: 'database-secret-0123456789',
  directory_sync: 'workos0123456789secret',
  in_app_purchase: 'purchases-0123456789abc',
};
const stripe = new (Stripe.default ?? Stripe)('sk_test_x');
const workos = new WorkOS('sk_test_x');
const address = (name) => `${name}@readers.example`;

// ---- What the providers send: headers for a body, made with a secret at a time ----

const SIGNERS = {
  identity(body, secret, at, { id = `msg_${randomUUID()}` } = {}) {
    const signature = new Svix(secret).sign(id, at, body);
    return { 'svix-id': id, 'svix-timestamp': String(Math.floor(at / 1000)), 'svix-signature': signature };
  },
  payments: (body, secret, at) => ({
    'stripe-signature': stripe.webhooks.generateTestHeaderString({ payload: body, secret, timestamp: Math.floor(at / 1000) }),
  }),
  ecommerce: (body, secret, at, { topic = 'orders/paid', id = randomUUID() } = {}) => ({
    'x-shopify-topic': topic, 'x-shopify-event-id': id, 'x-shopify-hmac-sha256': createHmac('sha256', secret).update(body).digest('base64'),
  }),
  authentication(body, secret, at, { id = `msg_${randomUUID()}` } = {}) {
    const signature = new StandardWebhook(secret).sign(id, at, body);
    return { 'webhook-id': id, 'webhook-timestamp': String(Math.floor(at / 1000)), 'webhook-signature': signature };
  },
  database: (body, secret) => ({ authorization: `Bearer ${secret}` }),
  directory_sync: async (body, secret, at) => ({
    'workos-signature': `t=${+at}, v1=${await workos.webhooks.computeSignature(String(+at), JSON.parse(body), secret)}`,
  }),
  in_app_purchase: (body, secret) => ({ authorization: secret }),
};

const identityUser = (id, email, members = {}) => ({
  type: 'user.created', object: 'event',
  data: { id, first_name: 'Ada', primary_email_address_id: 'e1', email_addresses: [{ id: 'e1', email_address: email }], note: MARKER, ...members },
});
const stripeEvent = (type, object) => ({ id: `evt_${randomUUID()}`, object: 'event', type, data: { object } });
const invoice = (customer, email) => stripeEvent('invoice.paid', { id: 'in_1', customer, customer_email: email, amount_paid: 1250, currency: 'eur' });
const purchase = (type, user, email) => ({
  api_version: '1.0',
  event: { id: randomUUID(), type, app_user_id: user, product_id: 'weekly', price: 4.99, expiration_at_ms: 1659331174000, subscriber_attributes: { $email: { value: email } } },
});

/** One event of each kind: [kind, body, options of the signer, address, the custom fields that the contact gets]. */
const EVENTS = [
  ['identity', identityUser('user_1', address('ada')), {}, 'ada', { identity_user_id: 'user_1', identity_first_name: 'Ada' }],
  ['payments', invoice('cus_1', address('bob')), {}, 'bob',
    { payments_customer_id: 'cus_1', payments_invoice_id: 'in_1', payments_amount_paid: 1250, payments_currency: 'eur' }],
  ['ecommerce', { id: 820982911946154500, email: address('cyd'), name: '#1', total_price: '409.94', currency: 'USD', customer: { id: 11531 } }, {}, 'cyd',
    { ecommerce_customer_id: '11531', ecommerce_order_name: '#1', ecommerce_total_price: 409.94, ecommerce_currency: 'USD' }],
  ['authentication', { type: 'user.created', timestamp: '2026-01-01T00:00:00Z', data: { id: 'u_1', email: address('dan') } }, {}, 'dan',
    { authentication_user_id: 'u_1' }],
  ['database', { type: 'INSERT', table: 'users', schema: 'public', record: { id: 5, email: address('eve'), plan: 'pro', password: MARKER }, old_record: null }, {}, 'eve',
    { database_table: 'users', database_row_id: '5', database_plan: 'pro' }],
  ['directory_sync', { id: 'event_1', event: 'dsync.user.created', data: { id: 'du_1', directory_id: 'd_1', emails: [{ primary: true, value: address('fay') }] } }, {}, 'fay',
    { directory_sync_user_id: 'du_1', directory_sync_directory_id: 'd_1' }],
  ['in_app_purchase', purchase('INITIAL_PURCHASE', 'app_1', address('gus')), {}, 'gus',
    { in_app_purchase_user_id: 'app_1', in_app_purchase_price: 4.99, in_app_purchase_expires_at: '2022-08-01T05:19:34.000Z' }],
];

describe('events of integrations', LIMIT, () => {
  let installation;
  let server;
  let rest;
  let brandId;
  const connections = {};
  const secrets = { ...SECRETS };

  const must = async (method, path, body) => {
    const answer = await rest.request(method, path, body);
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const rows = (statement) => sql(installation, statement);
  const one = async (statement) => (await rows(statement))[0];
  /** Everything that an event may write. */
  const state = () =>
    one(`select concat_ws('/', (select count(*) from contacts), (select sum(hashtext(c::text)) from contacts c), (select count(*) from trigger_instances),
         (select count(*) from automation_runs), (select count(*) from trigger_payloads), (select count(*) from integration_events),
         (select count(*) from integration_people), (select count(*) from events), (select count(*) from audit_log where operation = 'integrations.receive'))`);
  const contact = async (name) => (await must('POST', '/v1/contacts/search', { search: address(name) })).data[0];

  async function post(path, body, headers = {}, method = 'POST') {
    const url = `http://127.0.0.1:${server.port}${path}`;
    const answer = await fetch(url, { method, body, headers: { 'content-type': 'application/json', ...headers } });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? null : JSON.parse(text), headers: answer.headers };
  }

  async function send(kind, event, { path = connections[kind].path, secret = secrets[kind], at = new Date(), sent, ...options } = {}) {
    const body = typeof event === 'string' ? event : JSON.stringify(event);
    return post(path, sent ?? body, await SIGNERS[kind](body, secret, at, options));
  }

  /** The outcome of an event that is answered with 200. */
  async function outcome(kind, event, options) {
    const answer = await send(kind, event, options);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body.outcome;
  }

  /** A refused event: its status, code and envelope. */
  async function refused(answer, status, code) {
    const { status: found, body, headers } = await answer;
    assert.equal(found, status, JSON.stringify(body));
    assert.equal(body.error.code, code);
    assert.ok(body.error.type && body.error.message && body.error.docs);
    for (const name of headers.keys()) assert.doesNotMatch(name, /^x-ratelimit/);
  }

  function secretFile(name, secret) {
    const path = join(installation.folder, `${name}.secret`);
    writeFileSync(path, `${secret}\n`);
    return path;
  }

  /** Runs an admin command with the secret on its standard input. */
  const withInput = (input, ...words) =>
    new Promise((resolve) => {
      const child = execFile(BINARY, ['admin', ...words], { env: installation.environment }, (problem, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr }));
      child.stdin.end(input);
    });

  before(async () => {
    installation = new Installation();
    server = await installation.serve();
    brandId = await installation.brandId();
    rest = server.client(await installation.key('--brand', brandId));
  });

  after(async () => {
    rest?.close();
    assert.deepEqual(await installation.dispose(), []);
  });

  test('connections make triggers, which are listed and cannot be changed, and never show a secret', async () => {
    assert.deepEqual((await must('GET', '/v1/integrations')).data.map(({ connected }) => connected), KINDS.map(() => false));
    for (const kind of KINDS) {
      const words = kind === 'database' ? ['--tables', 'users,orders', '--columns', 'plan'] : [];
      connections[kind] = await installation.admin('integration', 'add', kind, '--brand', brandId, '--secret-file', secretFile(kind, SECRETS[kind]), ...words);
      assert.equal(connections[kind].path, `/integrations/${kind}/webhook/${connections[kind].connectionId}`);
      assert.equal(connections[kind].secret, undefined, 'a given secret is not repeated');
    }
    assert.deepEqual((await must('GET', '/v1/integrations')).data.map(({ connected }) => connected), KINDS.map(() => true));
    const { data } = await installation.admin('integration', 'list');
    assert.deepEqual(data.map(({ provider }) => provider), KINDS);
    assert.deepEqual(data[4].tables, ['users', 'orders']);
    for (const secret of Object.values(SECRETS)) {
      assert.ok(!JSON.stringify(data).includes(secret));
      assert.equal(await one(`select count(*) from integration_connections where position('${secret}'::bytea in secret) > 0`), '0', 'it is sealed');
    }

    const triggers = (await must('GET', '/v1/automations/triggers')).data;
    const count = (kind) => triggers.filter(({ provider }) => provider === kind).length;
    assert.deepEqual(KINDS.map(count), [3, 5, 3, 3, 6, 3, 4]);
    const paid = triggers.find(({ title }) => title === 'Invoice paid');
    assert.deepEqual(paid.payloadSchema.fields[0], { key: 'email', type: 'string', required: true });
    assert.ok(paid.payloadSchema.fields.some(({ key, type, required }) => key === 'payments_amount_paid' && type === 'int' && !required));
    assert.ok(triggers.some(({ title, payloadSchema }) => title === 'UPDATE orders' && payloadSchema.fields.some(({ key }) => key === 'database_plan')));
    for (const [method, body] of [['PATCH', { title: 'Mine' }], ['DELETE', undefined]]) {
      const answer = await rest.request(method, `/v1/automations/triggers/${paid.triggerEventId}`, body);
      assert.equal(answer.status, 422, method);
      assert.equal(answer.body.error.code, 'TRIGGER_IMMUTABLE');
    }

    for (const [words, said] of [
      [['bakery'], /provider/], [['database'], /tables/], [['payments', '--tables', 'users'], /tables/], [['database', '--tables', 'users', '--columns', 'Plan'], /column/],
      [['payments', '--secret-file', secretFile('short', 'short')], /16 to 500/], [['identity', '--secret-file', secretFile('plain', 'this!is!no!base64!!')], /base64/],
      [['payments', '--secret-file', join(installation.folder, 'missing')], /could not be opened/],
    ]) {
      const { code, stderr } = await installation.run('admin', 'integration', 'add', ...words);
      assert.notEqual(code, 0, words.join(' '));
      assert.match(stderr, said);
    }
  });

  test('each kind of provider fires its trigger and saves the contact with its fields', async () => {
    for (const [kind, event, options, name, fields] of EVENTS) {
      const answer = await send(kind, event, options);
      assert.equal(answer.status, 200, `${kind}: ${JSON.stringify(answer.body)}`);
      assert.equal(answer.body.outcome, 'fired', kind);
      const { customFields } = await contact(name);
      for (const [key, value] of Object.entries(fields)) assert.equal(customFields[key], value, `${kind}: ${key} in ${JSON.stringify(customFields)}`);
      assert.deepEqual(Object.keys(customFields).filter((key) => !key.startsWith(`${kind}_`)), [], `${kind}: no other field`);
      const instance = await must('GET', `/v1/automations/trigger-instances/${answer.body.triggerInstanceId}`);
      assert.equal(instance.source, 'integration');
      assert.equal(instance.provider, kind);
      assert.deepEqual(instance.automationRunIds, [], 'no automation listens');
      const { data } = await must('GET', `/v1/analytics/events?recipient=${address(name)}`);
      assert.deepEqual(data.map(({ eventType }) => eventType), ['trigger_unmatched', 'inbound_received'], kind);
      assert.ok(data.every(({ triggerInstanceId }) => triggerInstanceId === answer.body.triggerInstanceId));
    }
  });

  test('an event starts the published automations that listen, once', async () => {
    const { triggerEventId } = connections.payments.triggers.find(({ event }) => event === 'customer.deleted');
    const nodes = [{ id: 'start', type: 'trigger', config: { mode: 'event', triggerEventId } }, { id: 'pause', type: 'wait', config: { duration: 3, unit: 'days' } },
      { id: 'known', type: 'filter', config: { logicalOperator: 'AND', conditions: [{ field: 'payload.payments_customer_name', operator: 'exists' }] } },
      { id: 'end', type: 'wait', config: { duration: 1, unit: 'hours' } }];
    const branches = [{ from: 'start', to: 'pause' }, { from: 'pause', to: 'known' }, { from: 'known', to: 'end', branch: 'true' }];
    const { automationId } = await must('POST', '/v1/automations', { name: 'Farewell', nodes, connections: branches });
    await must('PATCH', `/v1/automations/${automationId}`, { published: true });
    const event = stripeEvent('customer.deleted', { id: 'cus_7', email: address('kim'), name: MARKER });
    const { body } = await send('payments', event);
    assert.equal(body.outcome, 'fired');
    const instance = await must('GET', `/v1/automations/trigger-instances/${body.triggerInstanceId}`);
    assert.deepEqual(instance.matchedAutomationIds, [automationId]);
    assert.equal(instance.automationRunIds.length, 1);
    const { data: fired } = await must('GET', '/v1/analytics/events?eventType=trigger_fired');
    assert.deepEqual(fired.map(({ recipientEmail }) => recipientEmail), [address('kim')]);
    assert.equal(await outcome('payments', event), 'repeated');
    assert.deepEqual(await rows('select email, status from automation_runs'), [`${address('kim')}|running`]);
    assert.equal(await one(`select count(*) from trigger_payloads where position('${MARKER}'::bytea in sealed) > 0`), '0', 'the payload is sealed');
    assert.equal((await contact('kim')).customFields.payments_customer_name, MARKER);
    await must('PATCH', `/v1/automations/${automationId}`, { published: false, stopInFlight: true });
  });

  test('the providers accept each other: their own verifiers take what the signers made', async () => {
    const body = JSON.stringify(EVENTS[1][1]);
    const now = new Date();
    assert.doesNotThrow(() => new Svix(SECRETS.identity).verify(body, SIGNERS.identity(body, SECRETS.identity, now)));
    assert.throws(() => new Svix(SECRETS.identity).verify(`${body} `, SIGNERS.identity(body, SECRETS.identity, now)));
    assert.ok(new StandardWebhook(SECRETS.authentication).verify(body, SIGNERS.authentication(body, SECRETS.authentication, now)));
    assert.ok(stripe.webhooks.constructEvent(body, SIGNERS.payments(body, SECRETS.payments, now)['stripe-signature'], SECRETS.payments));
    const directory = JSON.stringify(EVENTS[5][1]);
    const header = (await SIGNERS.directory_sync(directory, SECRETS.directory_sync, now))['workos-signature'];
    assert.ok(await workos.webhooks.verifyHeader({ payload: JSON.parse(directory), sigHeader: header, secret: SECRETS.directory_sync }));
  });

  test('a repeated event changes nothing, also when many arrive at once', async () => {
    const fired = () => one(`select concat_ws('/', (select count(*) from trigger_instances), (select count(*) from contacts), (select count(*) from integration_events))`);
    const user = identityUser('user_2', address('hal'));
    const bodies = [
      ['identity', user, { id: 'msg_1' }], ['payments', invoice('cus_2', address('hal'))], ['authentication', { type: 'user.created', data: { id: 'u_2', email: address('hal') } }, { id: 'msg_1' }],
      ['ecommerce', { id: 2, email: address('hal') }, { id: 'e-1' }], ['directory_sync', { id: 'event_2', event: 'dsync.user.created', data: { id: 'du_2', email: address('hal') } }],
      ['in_app_purchase', purchase('RENEWAL', 'app_2', address('hal'))],
      ['database', { type: 'UPDATE', table: 'orders', record: { id: 9, email: address('hal') }, old_record: null }],
    ];
    for (const [kind, event, options] of bodies) {
      const before = Number((await fired()).split('/')[0]);
      const answers = await Promise.all(Array.from({ length: 6 }, () => outcome(kind, event, options)));
      assert.deepEqual(answers.filter((found) => found !== 'repeated'), ['fired'], `${kind}: ${answers}`);
      assert.equal(Number((await fired()).split('/')[0]), before + 1, kind);
      const after = await fired();
      assert.equal(await outcome(kind, event, options), 'repeated');
      assert.equal(await fired(), after);
    }
    assert.equal(await outcome('ecommerce', { id: 2, email: address('hal') }, { id: 'e-2' }), 'repeated', 'the id is not signed, the body is');
    assert.equal(await outcome('identity', user, { id: 'msg_2' }), 'fired', 'another event of the same contents');
  });

  test('an event that names only a person finds the contact; a stranger is recorded as rejected', async () => {
    const subscription = (customer) => stripeEvent('customer.subscription.created', { id: 'sub_1', customer, status: 'active', items: { data: [{ price: { id: 'price_1' } }] } });
    assert.equal(await outcome('payments', subscription('cus_1')), 'fired');
    assert.equal((await contact('bob')).customFields.payments_subscription_status, 'active');
    assert.equal(await outcome('authentication', { type: 'session.created', data: { id: 's_1', user_id: 'u_1' } }), 'fired');
    assert.equal((await contact('dan')).customFields.authentication_session_id, 's_1');
    const contacts = await one('select count(*) from contacts');
    for (const [kind, event] of [
      ['payments', subscription('cus_9')], ['authentication', { type: 'user.deleted', data: { id: 'u_9', deleted: true } }],
      ['identity', identityUser('user_9', 'not an address')], ['identity', identityUser('user_9', `eve@readers.example\r\nBcc: ${address('ada')}`)],
      ['in_app_purchase', purchase('EXPIRATION', 'app_9', undefined)],
    ]) {
      const answer = await send(kind, event);
      assert.deepEqual([answer.status, answer.body.outcome], [200, 'rejected'], JSON.stringify(answer.body));
      const instance = await must('GET', `/v1/automations/trigger-instances/${answer.body.triggerInstanceId}`);
      assert.equal(instance.state, 'rejected');
      assert.match(instance.rejectionReason, /address/);
      const { data: [told] } = await must('GET', '/v1/analytics/events?eventType=inbound_unresolved&limit=1');
      assert.deepEqual([told.triggerInstanceId, told.summary, told.recipientEmail], [answer.body.triggerInstanceId, instance.rejectionReason, undefined]);
      assert.equal(await outcome(kind, event, kind === 'identity' || kind === 'authentication' ? {} : undefined), kind === 'identity' || kind === 'authentication' ? 'rejected' : 'repeated');
    }
    assert.equal(await one('select count(*) from contacts'), contacts);
    await must('DELETE', `/v1/contacts/${address('bob')}`);
    assert.equal(await one(`select count(*) from integration_people p left join contacts c on c.id = p.contact_id where c.id is null`), '0');
    assert.equal(await outcome('payments', subscription('cus_1')), 'rejected', 'the contact is deleted');
  });

  test('events that a connection does not take are answered and ignored', async () => {
    const earlier = await one('select count(*) from trigger_instances');
    for (const [kind, event, options] of [
      ['payments', stripeEvent('charge.failed', { customer_email: address('ada') })], ['identity', { type: 'session.created', data: {} }], ['identity', {}],
      ['ecommerce', { email: address('ada') }, { topic: 'carts/create' }], ['database', { type: 'INSERT', table: 'secrets', record: { email: address('ada') } }],
      ['in_app_purchase', { event: { type: 'TEST', id: '1' } }],
    ])
      assert.equal(await outcome(kind, event, options), 'ignored', kind);
    assert.equal(await one('select count(*) from trigger_instances'), earlier);
  });

  test('what is not signed, forged, cut, late or at another address is refused and writes nothing', async () => {
    const earlier = await state();
    for (const [kind, event, options] of EVENTS) {
      const body = JSON.stringify(event);
      const path = connections[kind].path;
      await refused(post(path, body), 401, 'AUTHENTICATION_REQUIRED');
      const other = kind === 'identity' || kind === 'authentication' ? `whsec_${Buffer.from('another secret than that').toString('base64')}` : 'another secret than that';
      await refused(send(kind, event, { ...options, secret: other }), 401, 'AUTHENTICATION_REQUIRED');
      if (kind !== 'database' && kind !== 'in_app_purchase') {
        await refused(send(kind, event, { ...options, sent: body.slice(0, -1) }), 401, 'AUTHENTICATION_REQUIRED');
        await refused(send(kind, event, { ...options, sent: body.replace('readers', 'strangers') }), 401, 'AUTHENTICATION_REQUIRED');
        await refused(send(kind, event, { ...options, sent: `${body} ` }), 401, 'AUTHENTICATION_REQUIRED');
      }
      if (['identity', 'payments', 'authentication', 'directory_sync'].includes(kind)) {
        await refused(send(kind, event, { ...options, at: new Date(Date.now() - 400_000) }), 400, 'INVALID_REQUEST');
        await refused(send(kind, event, { ...options, at: new Date(Date.now() + 400_000) }), 400, 'INVALID_REQUEST');
      }
      const wrong = [path.replace(kind, kind === 'payments' ? 'identity' : 'payments'), `/integrations/${kind}/webhook/itg_0000000000000`, `/integrations/${kind}/webhook/`,
        `/integrations/${kind}/${connections[kind].connectionId}`, `${path}/x`, path.replace(kind, 'bakery'), `/integrations/${kind}/webhook/${connections[kind].connectionId.toUpperCase()}`];
      for (const foreign of wrong) await refused(send(kind, event, { ...options, path: foreign }), 404, 'NOT_FOUND');
      assert.equal(await state(), earlier, `${kind}: nothing is written`);
    }
    await refused(send('in_app_purchase', '[]'), 400, 'INVALID_REQUEST');
    await refused(send('in_app_purchase', '{"event": {"type": "RENEWAL", "type": "TEST"}}'), 400, 'INVALID_REQUEST');
    await refused(send('in_app_purchase', '['.repeat(5000)), 400, 'INVALID_REQUEST');
    await refused(send('in_app_purchase', '{"event": {"id": "\\u0000"}}'), 400, 'INVALID_REQUEST');
    await refused(send('in_app_purchase', 'a\0b'), 400, 'INVALID_REQUEST');
    await refused(send('in_app_purchase', ' '.repeat(1024 * 1024 + 1)), 413, 'PAYLOAD_TOO_LARGE');
    const got = await fetch(`http://127.0.0.1:${server.port}${connections.payments.path}`);
    assert.equal(got.status, 405);
    assert.equal(got.headers.get('allow'), 'POST');
    const key = await installation.key('--brand', brandId);
    await refused(post(connections.payments.path, '{}', { authorization: `Bearer ${key}` }), 401, 'AUTHENTICATION_REQUIRED');
    assert.equal(await state(), earlier, 'nothing is written');
    const large = purchase('RENEWAL', 'app_3', address('ian'));
    large.event.aliases = Array.from({ length: 20_000 }, (_, index) => `alias ${index} ${MARKER}`);
    assert.equal(await outcome('in_app_purchase', large), 'fired');
  });

  test('a secret is rotated, from a file, from standard input or anew; a revoked connection is gone', async () => {
    const { connectionId } = connections.payments;
    const rotated = await withInput('whsec_rotated0123456789\n', 'integration', 'rotate', connectionId, '--secret-file', '-');
    assert.deepEqual(JSON.parse(rotated.stdout), { connectionId, rotated: true });
    assert.equal((await send('payments', invoice('cus_1', address('ada')))).status, 401, 'the old secret has ended');
    secrets.payments = 'whsec_rotated0123456789';
    assert.equal(await outcome('payments', invoice('cus_1', address('ada'))), 'fired');
    const made = await installation.admin('integration', 'rotate', connections.identity.connectionId);
    assert.match(made.secret, /^whsec_/);
    secrets.identity = made.secret;
    assert.equal(await outcome('identity', identityUser('user_3', address('joe'))), 'fired');
    await installation.admin('keys', 'add');
    assert.equal((await installation.admin('keys', 'rewrap')).resealed >= KINDS.length, true);
    assert.equal(await one('select min(get_byte(secret, 1)) from integration_connections'), '2');
    assert.equal(await outcome('identity', identityUser('user_4', address('joe'))), 'fired');

    assert.deepEqual(await installation.admin('integration', 'revoke', connectionId), { connectionId, revoked: true });
    const earlier = await state();
    await refused(send('payments', invoice('cus_1', address('ada'))), 404, 'NOT_FOUND');
    assert.equal(await state(), earlier, 'nothing is written');
    assert.equal((await must('GET', '/v1/integrations')).data[1].connected, false);
    assert.equal((await installation.admin('integration', 'list')).data[1].revokedAt !== undefined, true);
    assert.notEqual((await installation.run('admin', 'integration', 'rotate', connectionId)).code, 0);
    assert.notEqual((await installation.run('admin', 'integration', 'revoke', connectionId)).code, 0);
    const unused = await installation.admin('integration', 'add', 'payments');
    const triggers = async () => (await must('GET', '/v1/automations/triggers')).data.map(({ triggerEventId }) => triggerEventId);
    assert.ok((await triggers()).includes(unused.triggers[0].triggerEventId));
    await installation.admin('integration', 'revoke', unused.connectionId);
    assert.ok(!(await triggers()).includes(unused.triggers[0].triggerEventId), 'the triggers of an unused connection go with it');
  });

  test('noted events are deleted after 30 days, and nothing of a body is kept', async () => {
    const logs = `${server.log.join('\n')}${installation.runnerLog}`;
    assert.ok(!logs.includes(MARKER) && !logs.includes('readers.example'));
    assert.equal(await one(`select count(*) from audit_log a where a::text like '%${MARKER}%'`), '0');
    assert.equal(await one(`select count(*) from contacts c where c::text like '%${MARKER}%' and email <> '${address('kim')}'`), '0');
    const all = Number(await one('select count(*) from integration_events'));
    await rows(`update integration_events set received_at = now() - interval '31 days' where event_key in (select event_key from integration_events limit 5)`);
    rest.close();
    await server.stop();
    await installation.stop();
    await installation.admin('brand', 'list');
    await until('old events are deleted', async () => Number(await one('select count(*) from integration_events')) === all - 5, 60_000);
  });
});
