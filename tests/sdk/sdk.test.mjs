// The published REST client of the contract, unmodified, against our server: every method it has, the
// spellings of its older surface, its retries, its pages, its errors. It is a black box: nothing here knows how it works.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Installation } from '../lib/installation.mjs';
import { NameServer } from '../lib/dns_server.mjs';
import { until } from '../lib/processes.mjs';
import { CALLS, GONE, OLDER } from './calls.mjs';
import { invoke, methodsOf, outcomeOf, sdk, watchedClient } from './client.mjs';

const LIMIT_MS = 60_000;
const LETTER = '<html><head><title>Letter</title></head><body><p>Hello {{ firstName }}</p></body></html>';

describe('the published client', { timeout: 600_000 }, () => {
  let installation;
  let dns;
  let clock;
  let server;
  let endpoints;
  let fixture;
  let key; // of the organization, so that the client has to name the brand

  const config = (more = {}) => ({ apiKey: key, baseUrl: `http://127.0.0.1:${server.port}`, brandId: fixture.brandId, ...more });

  before(async () => {
    dns = await NameServer.prepare();
    installation = new Installation({ DNS_SERVERS: dns.place });
    clock = installation.movableClock();
    server = await installation.serve('--log-level', 'error');
    key = await installation.key();
    fixture = await makeFixture();
  });

  after(async () => {
    await dns.dispose();
    assert.deepEqual(await installation.dispose(), []);
  });

  /** One of everything that can be made, over plain HTTP. */
  async function makeFixture() {
    const brandId = await installation.brandId();
    const http = server.client(key, { 'x-brand-id': brandId });
    const must = async (method, path, body) => {
      const answer = await http.request(method, path, body);
      assert.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.body)}`);
      return answer.body;
    };
    const post = (path, body) => must('POST', path, body);
    endpoints = (await must('GET', '/v1/help')).endpoints;
    await post('/v1/contacts', { contacts: [{ email: 'ada+tag@example.com', firstName: 'Ada' }, { email: 'bob@example.com' }] });
    const importLetter = (title) => post('/v1/emails/import', { source: { kind: 'content', content: LETTER }, title });
    const { emailId, emailVersionId } = await importLetter('Letter');
    const audience = (name) => post('/v1/audiences', { name, filters: { logic: 'and', filters: [] } });
    const group = (name) => post('/v1/email-groups', { name });
    const trigger = () => post('/v1/automations/triggers', { title: 'Signed up', payloadSchema: { fields: [{ key: 'email', type: 'string', required: true }] } });
    const automate = async (config, published) => {
      const wait = { id: 'wait', type: 'wait', config: { duration: 1, unit: 'hours' } };
      const graph = { nodes: [{ id: 'start', type: 'trigger', config }, wait], connections: [{ from: 'start', to: 'wait' }] };
      const { automationId } = await post('/v1/automations', { name: 'Series', ...graph });
      if (published) await must('PATCH', `/v1/automations/${automationId}`, { published });
      return { automationId, graph };
    };
    const [{ domainId }] = (await must('GET', '/v1/domains')).data;
    const send = { emailId, domainId, subject: 'Hello' };
    const { sendId } = await post('/v1/sends', { ...send, to: ['ada+tag@example.com'] });
    const later = new Date(Date.now() + 3_600_000).toISOString();
    const { sendId: scheduledSendId } = await post('/v1/sends', { ...send, to: ['bob@example.com'], scheduledAt: later });
    await until('the send has ended', async () => (await must('GET', `/v1/sends/${sendId}`)).status === 'completed', LIMIT_MS);
    const audienceId = (await audience('All')).audienceId;
    const { triggerEventId: firedTriggerEventId } = await trigger();
    const { automationId, graph } = await automate({ mode: 'event', triggerEventId: firedTriggerEventId }, false);
    await automate({ mode: 'event', triggerEventId: firedTriggerEventId }, true);
    const { automationId: launchedAutomationId } = await automate({ mode: 'manualAudience', audienceId }, true);
    http.close();
    return {
      automationId, graph, firedTriggerEventId, launchedAutomationId,
      brandId, emailId, emailVersionId, domainId, sendId, scheduledSendId,
      since: new Date(Date.now() - 3_600_000).toISOString(),
      spareEmailId: (await importLetter('Spare')).emailId,
      audienceId, spareAudienceId: (await audience('Spare')).audienceId,
      triggerEventId: (await trigger()).triggerEventId, spareTriggerEventId: (await trigger()).triggerEventId,
      groupId: (await group('Letters')).groupId, spareGroupId: (await group('Spare')).groupId,
    };
  }

  /** The endpoint of the contract that an exchange went to. */
  function endpointOf({ method, path }) {
    const matches = (pattern) => {
      const [wanted, given] = [pattern.split('/'), path.split('/')];
      return wanted.length === given.length && wanted.every((word, i) => word === given[i] || word.startsWith('{'));
    };
    // Fixed words win over parameters, for every method.
    const isFixed = endpoints.some((endpoint) => endpoint.path === path);
    return endpoints.find((endpoint) => endpoint.method === method && (isFixed ? endpoint.path === path : matches(endpoint.path)));
  }

  async function visit(name, args, more) {
    const { client, exchanges } = watchedClient(config({ maxRetries: 0, ...more }));
    const outcome = await outcomeOf(invoke(client, name, args));
    return { ...outcome, exchange: exchanges[0], exchanges };
  }

  /** The client's error shows what our envelope says, and the request it belongs to. */
  function assertError(name, { error, exchange }, [status, code, param]) {
    assert.ok(error, `${name} succeeded and should answer ${code}`);
    const shown = `${name}: ${error.status} ${error.code} ${error.param}: ${error.message}`;
    assert.deepEqual([error.status, error.code], [status, code], shown);
    if (param !== undefined) assert.equal(error.param, param, shown);
    assert.equal(error.requestId, exchange.answer.get('x-request-id'), shown);
    const { type, message, suggestion, docs } = error.body.error;
    assert.deepEqual([error.type, error.message, error.suggestion, error.docs], [type, message, suggestion, docs], shown);
  }

  test('every method of the client is in one list, and nothing else is', () => {
    const { client } = watchedClient(config());
    assert.deepEqual(methodsOf(client).sort(), [...Object.keys(CALLS), ...Object.keys(GONE)].sort());
    for (const { method } of OLDER) assert.ok(CALLS[method], method);
  });

  test('what is built succeeds, what is not answers NOT_IMPLEMENTED, in the contract\'s words (R-081, R-017)', async () => {
    const wrong = [];
    let built = 0;
    for (const [name, call] of Object.entries(CALLS)) {
      if (typeof call === 'string') continue;
      const made = await visit(name, (call.args ?? call)(fixture));
      const endpoint = endpointOf(made.exchange);
      try {
        assert.ok(endpoint, `${name} asks for ${made.exchange.method} ${made.exchange.path}, which the contract does not have`);
        if (call.refused) assertError(name, made, endpoint.available || call.refused[0] === 403 ? call.refused : [501, 'NOT_IMPLEMENTED']);
        else if (!endpoint.available) assertError(name, made, [501, 'NOT_IMPLEMENTED']);
        else assert.equal(made.error, undefined, `${name}: ${JSON.stringify(made.error?.body)}`);
        built += endpoint.available ? 1 : 0;
      } catch (problem) {
        wrong.push(problem.message);
      }
    }
    assert.deepEqual(wrong, []);
    assert.ok(built > 40, `${built} methods lead to something built`);
  });

  test('methods of removed routes find nothing (R-287, R-411, R-414)', async () => {
    for (const [name, { args, answer }] of Object.entries(GONE)) {
      const made = await visit(name, args(fixture));
      assertError(name, made, answer);
      assert.equal(endpointOf(made.exchange), undefined, `${name}: the contract has ${made.exchange.path}`);
    }
  });

  test('older spellings do not bend the server: 400, naming what was sent (R-005, R-022, R-023, R-029, R-200)', async () => {
    const wrong = [];
    for (const { method, args, param } of OLDER) {
      const made = await visit(method, args(fixture));
      try {
        assertError(`${method} ${param}`, made, [400, 'INVALID_REQUEST', param]);
      } catch (problem) {
        wrong.push(problem.message);
      }
    }
    assert.deepEqual(wrong, []);
  });

  // ---- What a program relies on ----

  /** Rows of a list as they come by their pages, two at a time. */
  const bringContacts = async (count) => {
    const { client } = watchedClient(config());
    await client.contacts.upsertMany({ contacts: Array.from({ length: count }, (_, i) => ({ email: `page${i}@pages.example` })) });
    return client;
  };

  test('its helpers walk our cursors: every row once (R-012)', async () => {
    const client = await bringContacts(7);
    const wanted = Array.from({ length: 7 }, (_, i) => `page${i}@pages.example`);
    const filters = [{ field: 'email', operator: 'ends_with', value: '@pages.example' }];
    const walked = await Array.fromAsync(client.contacts.searchAll({ filters, limit: 2 }), ({ email }) => email);
    assert.deepEqual(walked.sort(), wanted);
    assert.equal(await client.contacts.count({ filters }), 7);

    for (const name of ['Monday', 'Tuesday', 'Wednesday']) await client.emailGroups.create({ name });
    const pages = [];
    const groups = sdk.autoPaginate(async (cursor) => {
      const { data, pagination } = await client.emailGroups.list({ limit: 2, ...(cursor !== null && { cursor }) });
      pages.push(data.length);
      return { items: data, pagination };
    });
    const names = await Array.fromAsync(groups, ({ groupName }) => groupName);
    assert.equal(new Set(names).size, names.length);
    assert.ok(['Monday', 'Tuesday', 'Wednesday'].every((name) => names.includes(name)), names.join());
    assert.equal(pages.length, Math.ceil(names.length / 2));

    const events = await Array.fromAsync(client.analytics.eventsAll({ sendId: fixture.sendId, limit: 1 }));
    assert.ok(events.length >= 2 && new Set(events.map(({ id }) => id)).size === events.length);
  });

  test('the brand is named by the client, and its absence and another brand are refused (R-056, R-057, R-059)', async () => {
    const { brandId } = await installation.admin('brand', 'create', 'Other');
    const { client, exchanges } = watchedClient(config());
    const list = await client.withBrand(brandId).contacts.count({});
    assert.equal(list, 0, 'the other brand has nobody');
    assert.ok((await client.contacts.count({})) > 0);
    await client.usage.get();
    assert.equal(exchanges.at(-1).headers.get('x-brand-id'), null, 'usage belongs to the organization');
    assertError('without a brand', await visit('contacts.count', [{}], { brandId: undefined }), [400, 'BRAND_ID_REQUIRED']);
    const own = await installation.key('--brand', fixture.brandId);
    assertError('another brand', await visit('contacts.count', [{}], { apiKey: own, brandId }), [403, 'BRAND_SCOPE_MISMATCH']);
    assertError('a wrong key', await visit('contacts.count', [{}], { apiKey: 'nonsense' }), [401, 'INVALID_API_KEY']);
  });

  test('the answer with its headers is there for those who ask (R-035, R-120)', async () => {
    const { client } = watchedClient(config());
    const answer = await client.contacts.validate({ emails: ['ada@mailinator.com'] }, { raw: true });
    assert.equal(answer.status, 200);
    assert.match(answer.requestId, /^req_[0-9a-f]{32}$/);
    for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']) assert.match(answer.headers.get(name), /^\d+$/);
    assert.equal(answer.headers.get('x-credit-cost'), '2');
  });

  test('its keys of idempotency are honoured: asked twice, worked once; with other words a conflict (R-145, R-146, R-147)', async () => {
    const { client, exchanges } = watchedClient(config());
    const create = (name, options) => client.emailGroups.create({ name }, options);
    const first = await create('Once', { idempotencyKey: 'sdk-once' });
    assert.deepEqual(await create('Once', { idempotencyKey: 'sdk-once' }), first);
    const { error } = await outcomeOf(create('Twice', { idempotencyKey: 'sdk-once' }));
    assert.deepEqual([error.status, error.code, error.type], [409, 'IDEMPOTENCY_CONFLICT', 'conflict']);
    const own = (await Promise.all([create('Mine'), create('Yours')])).map(({ groupId }) => groupId);
    assert.notEqual(own[0], own[1]);
    const keys = exchanges.slice(-2).map(({ headers }) => headers.get('idempotency-key'));
    assert.ok(keys[0] && keys[1] && keys[0] !== keys[1], 'each call has a key of its own');
  });

  test('a 429 is waited out as long as the server says, and the same call then succeeds (R-078, R-080, R-121, R-125)', async () => {
    const { key: slow } = await installation.admin('key', 'create', '--brand', fixture.brandId);
    const slept = [];
    const sleep = async (ms) => {
      slept.push(ms);
      clock.setSeconds(clock.seconds + Math.ceil(ms / 1000));
    };
    const { client, exchanges } = watchedClient(config({ apiKey: slow, maxRetries: 2 }), { sleep });
    const batch = () => client.contacts.upsertMany({ contacts: [{ email: 'again@example.com' }] });
    for (let i = 0; i < 10; i++) await batch(); // contacts.write_batch allows ten a minute
    assert.deepEqual(slept, []);
    const { summary } = await batch();
    assert.equal(summary.failed, 0);
    const [refused, served] = exchanges.slice(-2);
    assert.deepEqual([refused.status, served.status], [429, 200]);
    assert.equal(slept.at(-1), Number(refused.answer.get('retry-after')) * 1000);
    // A window counts whole seconds, so its calls leave it after up to 61; Retry-After is at most 60.
    assert.ok(slept.length <= 2 && slept[0] <= 60_000, slept.join());
    assert.equal(refused.headers.get('idempotency-key'), served.headers.get('idempotency-key'));

    const hasty = watchedClient(config({ apiKey: slow, maxRetries: 0 })).client;
    let refusal;
    for (let i = 0; i < 11 && !refusal; i++) ({ error: refusal } = await outcomeOf(hasty.contacts.upsertMany({ contacts: [{ email: 'a@example.com' }] })));
    assert.deepEqual([refusal.status, refusal.code, refusal.type], [429, 'RATE_LIMITED', 'rate_limit']);
    assert.ok(refusal.retryAfter >= 1 && refusal.retryAfter <= 60, `${refusal.retryAfter} s`);
    assert.equal(refusal.retryAfter, refusal.body.error.retryAfter);
  });

  test('a 503 is tried again with the same key, and charged once when it works (R-084)', async () => {
    const slept = [];
    const sleep = async (ms) => {
      slept.push(ms);
      await dns.start();
    };
    const { client, exchanges } = watchedClient(config(), { sleep });
    const used = async () => (await client.usage.get()).credits.used;
    const before = await used();
    const { data } = await client.contacts.validate({ emails: ['ada@plain.test'] });
    assert.equal(data[0].status, 'valid');
    const tries = exchanges.filter(({ path }) => path.endsWith('/validate'));
    assert.deepEqual(tries.map(({ status }) => status), [503, 200]);
    assert.deepEqual(slept, [Number(tries[0].answer.get('retry-after')) * 1000]);
    assert.equal(new Set(tries.map(({ headers }) => headers.get('idempotency-key'))).size, 1);
    assert.equal((await used()) - before, 2);
  });

  test('a call that the client gave up is charged once when it is made again with its key (R-145)', async () => {
    const { client } = watchedClient(config({ maxRetries: 0 }));
    const used = async () => (await client.usage.get()).credits.used;
    const validate = (timeoutMs) =>
      client.contacts.validate({ emails: ['ada@silent.test', 'eve@plain.test'] }, { idempotencyKey: 'patience', timeoutMs });
    const before = await used();
    await assert.rejects(validate(300), { name: 'AbortError' });
    const answer = await validate(LIMIT_MS);
    assert.deepEqual(await validate(LIMIT_MS), answer);
    assert.equal((await used()) - before, 2, 'one of the two addresses was answered for');
  });
});
