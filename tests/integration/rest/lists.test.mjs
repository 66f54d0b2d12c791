// Every built list, from its declaration: its limits and cursors, and that its pages show every row once. A list that is built and
// has no entry here fails this test.

import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { asRequest, loadCatalogue } from '../../cases/runner/catalogue.mjs';
import { sql } from '../../lib/database.mjs';
import { png } from '../../lib/images.mjs';
import { installationFor } from '../../lib/installation.mjs';
import { until } from '../../lib/processes.mjs';

const LIMIT = { timeout: 600_000 };
const installation = installationFor({ after }, { PUBLIC_URL: 'https://mail.example' });
const catalogue = loadCatalogue(join(dirname(fileURLToPath(import.meta.url)), '../../..'));
const parametersOf = (operation) => ({ ...operation.query, ...operation.body });
// What a list shows with one more parameter (a search of images with q) is tested by the cases of that operation.
// The findings of an audit are a part of it, with a limit of their own (D-39).
const LISTS = [...catalogue.operations.values()].filter((op) => op.built && op.route && parametersOf(op).cursor && op.when?.present === undefined && op.id !== 'emails.getAudit');

// How many rows are there at least, what names one, and the parameters of the path.
const FILLED = {
  'analytics.automations': { rows: 3, key: 'automationId' },
  'analytics.events': { rows: 8, key: 'id' },
  'apiKeys.list': { rows: 3, key: 'keyId' },
  'audiences.list': { rows: 3, key: 'audienceId' },
  'audienceRuns.list': { rows: 3, key: 'audienceRunId' },
  'automations.list': { rows: 3, key: 'automationId' },
  'brand.images': { rows: 3, key: 'assetId' },
  'brands.list': { rows: 3, key: 'brandId' },
  'contacts.search': { rows: 5, key: 'email' },
  'domains.list': { rows: 3, key: 'domainId' },
  'emailGroups.list': { rows: 3, key: 'groupId' },
  'emails.list': { rows: 3, key: 'emailId' },
  'fields.list': { rows: 9, key: 'fieldName' },
  'triggers.list': { rows: 3, key: 'triggerEventId' },
  'flows.list': { rows: 2, key: 'slug' },
  'insights.list': { rows: 3, key: 'insightId' },
  'integrations.list': { rows: 7, key: 'provider' },
  'placementTests.list': { rows: 3, key: 'testId', of: () => ({ emailId: ids.email }) },
  'runs.list': { rows: 3, key: 'automationRunId' },
  'sends.list': { rows: 4, key: 'sendId' },
  'templates.list': { rows: 10, key: 'emailId' },
  'triggerInstances.list': { rows: 3, key: 'triggerInstanceId' },
};

// Parameters that choose no rows, or say nothing alone.
const NO_FILTER = ['limit', 'cursor', 'include', 'count', 'logic', 'semantic', 'q'];
// What free texts and objects may be asked for.
const ASKED = {
  aspectRatio: '1:1',
  groupId: 'ungrouped',
  recipient: 'someone@example.com',
  recipientEmail: 'someone@example.com',
  'sends.list kind': undefined, // campaign is what is meant without it, and automation wants a further filter
  filters: { logic: 'and', filters: [{ field: 'email', operator: 'contains', value: 'a' }] },
};

let rest; // of an organization; a brand is named where the list is one of a brand
let signedIn; // an administrator, for the lists of sessions
let elsewhere; // of another organization: the two clients of its own lists
let brandId;
let otherBrandId;
let ids; // by kind, of rows that are there

const clientHeaders = (operation, brand = brandId) => (operation.reach === 'brand' ? { 'x-brand-id': brand } : {});

function list(operation, args, brand, client = operation.reach === 'session' ? signedIn : rest) {
  const { method, path, body } = asRequest(operation, { ...FILLED[operation.id]?.of?.(), ...args });
  return client.request(method, path, body, clientHeaders(operation, brand));
}

async function page(operation, args) {
  const answer = await list(operation, args);
  assert.equal(answer.status, 200, `${operation.id} ${JSON.stringify(args)}: ${JSON.stringify(answer.body)}`);
  const { limit, cursor, hasMore } = answer.body.pagination;
  assert.equal(hasMore, cursor !== null, operation.id);
  assert.ok(answer.body.data.length <= limit, operation.id);
  return answer.body;
}

async function assertRefused(operation, args, param, brand, client) {
  const { status, body } = await list(operation, args, brand, client);
  const what = `${operation.id} ${JSON.stringify(args)}: ${JSON.stringify(body).slice(0, 300)}`;
  assert.equal(status, 400, what);
  assert.equal(body.error.code, 'INVALID_REQUEST', what);
  assert.equal(body.error.param, param, what);
}

/** A value of this filter that is not its default; undefined when there can be none yet. */
function filterValue(operation, name) {
  const schema = parametersOf(operation)[name];
  for (const asked of [`${operation.id} ${name}`, name]) if (asked in ASKED) return ASKED[asked];
  if (schema.enum) return schema.enum.find((value) => value !== schema.default);
  if (schema.type === 'boolean') return !(schema.default ?? false);
  if (schema.format === 'date-time') return new Date(Date.now() - (name === 'from' ? 3_600_000 : 0)).toISOString();
  if (schema.format?.startsWith('id:')) return ids[schema.format.slice(3)];
  return schema.type === 'string' ? 'abc' : undefined;
}

before(async () => {
  const server = await installation.serve();
  rest = server.client(await installation.key());
  signedIn = server.client(undefined, { cookie: `__session=${(await installation.admin('session', 'create')).cookie}` });
  for (const name of ['Second', 'Third']) await installation.key('--name', name);
  const { orgId } = await installation.admin('org', 'create', 'Elsewhere');
  elsewhere = {
    organization: server.client(await installation.key('--org', orgId)),
    session: server.client(undefined, { cookie: `__session=${(await installation.admin('session', 'create', '--org', orgId)).cookie}` }),
  };
  brandId = await installation.brandId();
  const inBrand = { 'x-brand-id': brandId };
  const made = async (path, body, headers = inBrand) => {
    const answer = await rest.post(path, body, headers);
    assert.ok(answer.status >= 200 && answer.status < 300, `${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  otherBrandId = (await made('/v1/brands', { name: 'Other' }, {})).brandId;
  await made('/v1/brands', { name: 'Third' }, {});
  for (const name of ['one.example', 'two.example']) await installation.admin('domain', 'create', name, '--brand', brandId);

  const images = [1, 2, 3].map((shade) => `<img src="data:image/png;base64,${png(4, 4, shade).toString('base64')}" alt="">`);
  const designs = [];
  for (const groupName of ['One', 'Two', 'Three']) {
    designs.push(await made('/v1/emails/import', { content: `<p>Hello</p>${images.join('')}`, title: groupName, groupName, subjectLine: 'Hello' }));
  }
  const emails = ['ann', 'bob', 'cyd', 'dan', 'eve'].map((name) => `${name}@example.com`);
  await made('/v1/contacts', { contacts: emails.map((email) => ({ email })) });
  for (const fieldName of ['plan', 'seats', 'tier']) await made('/v1/fields', { fieldName, fieldType: 'string' });
  const audiences = [];
  const filters = { logic: 'and', filters: [{ field: 'email', operator: 'contains', value: 'a' }] };
  const payloadSchema = { fields: [{ key: 'email', type: 'string', required: true }] };
  const triggers = [];
  for (const title of ['First', 'Second', 'Third']) triggers.push(await made('/v1/automations/triggers', { title, payloadSchema }));
  for (const name of ['First', 'Second', 'Third']) audiences.push(await made('/v1/audiences', { name, filters }));

  const graph = { nodes: [{ id: 'start', type: 'trigger', config: { mode: 'event' } }], connections: [] };
  await made('/v1/automations', { name: 'Draft', ...graph });
  /** A published automation whose runs wait. */
  const publish = async (name, config) => {
    const wait = { id: 'wait', type: 'wait', config: { duration: 300, unit: 'days' } };
    const nodes = [{ id: 'start', type: 'trigger', config }, wait];
    const { automationId } = await made('/v1/automations', { name, nodes, connections: [{ from: 'start', to: 'wait' }] });
    const { status, body } = await rest.request('PATCH', `/v1/automations/${automationId}`, { published: true }, inBrand);
    assert.equal(status, 200, JSON.stringify(body));
    return automationId;
  };
  const { triggerEventId } = triggers[0];
  const automationId = await publish('Fired', { mode: 'event', triggerEventId });
  const fires = [];
  for (const email of emails.slice(0, 3)) fires.push(await made(`/v1/automations/triggers/${triggerEventId}/fire`, { payload: { email } }));
  const launched = await publish('Launched', { mode: 'manualAudience', audienceId: audiences[0].audienceId });
  const nextYear = new Date(Date.now() + 300 * 86_400_000).toISOString();
  for (let i = 0; i < 3; i++) await made(`/v1/automations/${launched}/run`, { scheduledAt: nextYear });

  const [{ domainId }] = (await installation.admin('domain', 'list', '--brand', brandId)).data.filter(({ kind }) => kind !== 'sending');
  const later = new Date(Date.now() + 3_600_000).toISOString();
  for (const { emailId } of designs) await made('/v1/sends', { emailId, domainId, to: emails.slice(0, 1), subject: 'Later', scheduledAt: later });
  const { sendId } = await made('/v1/sends', { emailId: designs[0].emailId, domainId, to: emails.slice(1), subject: 'Now' });
  // A run of insights finds something only in the figures of weeks.
  await sql(installation, `insert into insights (brand_id, detector, subject, state, kind, severity, score, description, action, detail, held, missed, found_at, checked_at)
    select b.id, 'bounceSpike', n::text, 'active', 'insight', 'warning', n, 'Finding ' || n, '{"kind": "assistant", "label": "Look", "intent": "explain_bounces", "prompt": "Look."}', '{}', 2, 0, now(), now()
      from (select min(id) as id from brands) b, generate_series(1, 3) n`);
  await sql(installation, `insert into placement_tests (brand_id, email_id, version_id, domain_id, subject, from_address, status, created_at, updated_at)
    select e.brand_id, e.id, e.latest_version_id, d.id, 'Hello', 'a@b.example', 'failed', now(), now()
      from emails e join domains d on d.brand_id = e.brand_id and d.kind = 'sandbox' cross join generate_series(1, 3)`);
  await sql(installation, `insert into placement_observations (brand_id, test_id, seed_organization_id, seed_id, provider, email, state, due_at)
    select brand_id, id, 0, 1, 'alpha', 'x@seeds.example', 'done', now() from placement_tests`);
  const known = async () => (await rest.get('/v1/analytics/events', inBrand)).body.data.length;
  await until('the events of a send', async () => (await known()) >= FILLED['analytics.events'].rows, 60_000);
  ids = {
    email: designs[0].emailId, send: sendId, audience: audiences[0].audienceId, automation: automationId,
    instance: fires[0].triggerInstanceId, run: fires[0].automationRunIds[0], trigger: triggerEventId,
  };
}, LIMIT);

after(() => {
  for (const client of [rest, signedIn, ...Object.values(elsewhere ?? {})]) client?.close();
});

test('every built list is told here how it is filled', () => {
  assert.deepEqual(LISTS.map(({ id }) => id).sort(), Object.keys(FILLED).sort());
});

for (const operation of LISTS) {
  const { rows: least, key } = FILLED[operation.id] ?? {};
  const parameters = parametersOf(operation);

  test(`R-170: ${operation.id} takes a limit of 1 to 100, and 100 is the default`, LIMIT, async () => {
    assert.equal((await page(operation, {})).pagination.limit, 100);
    assert.equal((await page(operation, { limit: 100 })).pagination.limit, 100);
    assert.equal((await page(operation, { limit: 1 })).data.length, 1);
    for (const limit of [0, 101, -1, 1.5, 'x', '']) await assertRefused(operation, { limit }, 'limit');
  });

  test(`R-171, R-012: pages of ${operation.id} show every row once, in the order of the whole`, LIMIT, async () => {
    const whole = (await page(operation, {})).data.map((row) => row[key]);
    assert.ok(whole.length >= least, `${whole.length} rows`);
    assert.equal(new Set(whole).size, whole.length, 'a row has a name of its own');
    assert.ok(whole.every(Boolean), 'every row has a name');
    for (const limit of [1, 2]) {
      const seen = [];
      for (let cursor; cursor !== null;) {
        const { data, pagination } = await page(operation, cursor === undefined ? { limit } : { limit, cursor });
        assert.ok(data.length === limit || pagination.cursor === null, 'only the last page is short');
        assert.ok(data.length > 0, 'no page is empty');
        seen.push(...data.map((row) => row[key]));
        cursor = pagination.cursor;
      }
      assert.deepEqual(seen, whole, `pages of ${limit}`);
    }
  });

  test(`R-009: ${operation.id} refuses a cursor that is not its own`, LIMIT, async () => {
    const { cursor } = (await page(operation, { limit: 1 })).pagination;
    assert.ok(cursor, 'there is a second page');
    const middle = cursor.length >> 1;
    const altered = cursor.slice(0, middle) + (cursor[middle] === 'A' ? 'B' : 'A') + cursor.slice(middle + 1);
    for (const bad of [altered, cursor.slice(0, -2), `${cursor}AA`, 'nonsense', '']) await assertRefused(operation, { limit: 1, cursor: bad }, 'cursor');
    const other = LISTS[(LISTS.indexOf(operation) + 1) % LISTS.length];
    const foreign = (await page(other, { limit: 1 })).pagination.cursor;
    await assertRefused(operation, { limit: 1, cursor: foreign }, 'cursor');
    if (operation.reach === 'brand') await assertRefused(operation, { limit: 1, cursor }, 'cursor', otherBrandId);
    const stranger = elsewhere[operation.reach];
    if (stranger) await assertRefused(operation, { limit: 1, cursor }, 'cursor', undefined, stranger);
    await page(operation, { limit: 2, cursor });
  });

  const filters = Object.keys(parameters).filter((name) => !NO_FILTER.includes(name));
  if (filters.length > 0) {
    test(`R-009: a cursor of ${operation.id} is bound to ${filters.join(', ')}`, LIMIT, async () => {
      const { cursor } = (await page(operation, { limit: 1 })).pagination;
      for (const name of filters) {
        const value = filterValue(operation, name);
        if (value !== undefined) await assertRefused(operation, { limit: 1, cursor, [name]: value }, 'cursor');
      }
    });
  }

  if (parameters.include) {
    test(`${operation.id} knows what it may include`, LIMIT, async () => {
      await page(operation, { limit: 1, include: parameters.include.enum.join(',') });
      for (const token of parameters.include.enum) await page(operation, { limit: 1, include: token });
      await assertRefused(operation, { limit: 1, include: 'everything' }, 'include');
    });
  }

  if (operation.body) {
    test(`R-171: ${operation.id} takes its cursor in the body, not in the query`, LIMIT, async () => {
      const [method, path] = operation.route.split(' ');
      for (const name of ['limit', 'cursor']) {
        const { status, body } = await rest.request(method, `${path}?${name}=1`, {}, clientHeaders(operation));
        assert.equal(status, 400);
        assert.equal(body.error.param, name);
      }
    });
  }
}
