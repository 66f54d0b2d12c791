// Bad input for every operation: the declarations give the requests that must be refused, with status, code and param. Checksums of
// all tables show that nothing was written. A new operation is covered without a change here.

import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadCatalogue } from '../../cases/runner/catalogue.mjs';
import { Installation } from '../../lib/installation.mjs';
import { FILTERS } from '../../lib/resource_kinds.mjs';
import { problemOf, shown } from './matrix_answers.mjs';
import { Requests, routesOf } from './matrix_requests.mjs';
import { Fixture, sums } from './matrix_fixture.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const CONNECTIONS = 8;
const SHOWN_FAILURES = 40;
/** The not-found codes of the contract. */
const NOT_FOUND = {
  email: 'EMAIL_NOT_FOUND', version: 'EMAIL_VERSION_NOT_FOUND', send: 'SEND_NOT_FOUND', domain: 'DOMAIN_NOT_FOUND',
  audience: 'AUDIENCE_NOT_FOUND', group: 'EMAIL_GROUP_NOT_FOUND', brand: 'BRAND_NOT_FOUND', template: 'TEMPLATE_NOT_FOUND',
  flow: 'FLOW_NOT_FOUND', contact: 'CONTACT_NOT_FOUND', run: 'AUTOMATION_RUN_NOT_FOUND', audienceRun: 'AUDIENCE_RUN_NOT_FOUND',
  trigger: 'TRIGGER_EVENT_NOT_FOUND', instance: 'TRIGGER_INSTANCE_NOT_FOUND', automation: 'AUTOMATION_NOT_FOUND',
  insight: 'INSIGHT_NOT_FOUND', audit: 'AUDIT_NOT_FOUND', preview: 'PREVIEW_NOT_FOUND', test: 'EMAIL_NOT_FOUND', field: 'FIELD_NOT_FOUND',
};

/** What makes a request of an operation good but for its ids, where the required parameters alone do not. */
const usable = ({ ids: { own } }) => ({
  'apiKeys.create': { elsewhere: ['brandId'] }, // every brand of the organization is an administrator's
  'audiences.update': { body: { name: 'Matrix' } },
  'automations.create': { body: { nodes: [{ id: 'start', type: 'trigger', config: { mode: 'event' } }], connections: [] } },
  'automations.update': { body: { name: 'Matrix' } },
  'audiences.createFromEvents': { body: { eventTypes: ['sent'], from: '2026-11-01T00:00:00Z' } },
  'audiences.createFromCohort': { body: { cohort: { eventTypes: ['sent'], from: '2026-11-01T00:00:00Z' } } },
  'audiences.create': { body: { name: 'Matrix', filters: FILTERS } },
  'contacts.update': { body: { firstName: 'Matrix' } },
  'emails.update': { body: { title: 'Matrix' } },
  'triggers.update': { body: { title: 'Matrix' } },
  'domains.update': { body: { defaultSenderName: 'Matrix' } },
  'emails.audit': { body: { emailId: own.email } },
  'emails.create': { body: { prompt: 'A letter' } },
  'emails.edit': { body: { prompt: 'Shorter' } },
  'emails.import': { body: { content: '<p>Hi</p>' } },
  'emails.importFigma': { body: { figmaUrl: 'https://www.figma.com/design/AbC123/Spring?node-id=12-34' } },
  'emails.restore': { body: { emailVersionId: own.version } },
  'sends.create': { body: { emailId: own.email, domainId: own.domain, subject: 'Hi', audienceId: own.audience } },
  // A test may leave from any domain of the organization.
  'sends.test': { body: { test: true, emailId: own.email, subject: 'Hi', to: ['matrix@example.com'] }, elsewhere: ['domainId'] },
});

describe('every operation refuses bad input', { timeout: 600_000 }, () => {
  const installation = new Installation();
  const policies = JSON.parse(readFileSync(join(ROOT, 'schemas/policies.json'), 'utf8'));
  const catalogue = loadCatalogue(ROOT);
  const routes = routesOf(catalogue);
  const operations = routes.flatMap((route) => route.operations);
  let server;
  let fixture;
  let requests;
  let client;

  before(async () => {
    server = await installation.serve('--log-level', 'error');
    fixture = await Fixture.make(installation, server, policies);
    requests = new Requests(fixture, policies);
    client = server.client(undefined, {}, CONNECTIONS);
  });

  after(async () => {
    client.close();
    assert.deepEqual(await installation.dispose(), []);
  });

  /** Sends what was generated, and fails when an answer is not the expected one, a table changed, or a kind is missing. */
  async function walk(t, kinds, changing = [], list = requests.take()) {
    const before = await sums(installation, changing);
    const counts = Object.fromEntries(kinds.map((kind) => [kind, 0]));
    const problems = [];
    const began = performance.now();
    let next = 0;
    const worker = async () => {
      while (next < list.length) {
        const request = list[next++];
        let problem;
        const answer = await client.request(request.method, request.target, request.body, request.headers).catch((error) => {
          problem = error.message;
          return {};
        });
        counts[request.kind]++;
        problem ??= problemOf(request, answer);
        if (problem) problems.push(shown(request, answer, problem));
      }
    };
    await Promise.all(Array.from({ length: 2 * CONNECTIONS }, worker));
    t.diagnostic(`${list.length} requests in ${Math.round(performance.now() - began)} ms: ${JSON.stringify(counts)}`);
    assert.equal(problems.length, 0, `${problems.length} answers are wrong:\n${problems.slice(0, SHOWN_FAILURES).join('\n')}`);
    for (const [kind, count] of Object.entries(counts)) assert.ok(count > 0, `no request of the kind ${kind}`);
    assert.deepEqual(await sums(installation, changing), before, 'a refused call has written something');
  }

  test('credentials come first, then rate windows (A-27, R-041, R-042, R-043, R-080, R-074)', async (t) => {
    for (const operation of operations) requests.credentials(operation);
    await walk(t, ['credential', 'order', 'rate']);
  });

  test('brands and scopes come before what is asked (R-047, R-048, R-049, R-056, R-057, R-058, R-060, R-068, R-069, R-070, R-071, R-074)', async (t) => {
    for (const operation of operations) {
      requests.scopes(operation);
      requests.brand(operation);
    }
    await walk(t, ['session', 'organization', 'scope', 'brand', 'order']);
  });

  test('keys that are not declared are refused by name (R-003, R-004, R-005, R-008, R-019, R-020, R-021)', async (t) => {
    for (const operation of operations) requests.keys(operation);
    for (const route of routes) requests.queries(route);
    await walk(t, ['query key', 'body key', 'malformed query']);
  });

  test('values that the declaration does not take are refused by name (R-007, R-034)', async (t) => {
    for (const route of routes) for (const operation of route.operations) requests.values(route, operation);
    await walk(t, ['path value', 'query value', 'body value', 'body value within', 'missing', 'missing within']);
  });

  test('a fault of a row of a batch fails that row (D-143)', async (t) => {
    // The call itself succeeds, so it is in the audit log, the check of addresses is a job, and good rows beside a faulty one are deleted.
    const changing = ['audit_log', 'jobs', 'job_waiters', 'credit_usage', 'credit_holds', 'contacts'];
    await walk(t, ['failed row'], changing, requests.takeFailedRows());
  });

  test('bodies are JSON objects and say so (R-001, R-006)', async (t) => {
    for (const route of routes) requests.bodies(route);
    await walk(t, ['malformed body', 'no object', 'content type']);
  });

  test('bodies have an end (D-10)', async (t) => {
    for (const route of routes) requests.oversized(route);
    await walk(t, ['oversized body']);
  });

  test('an idempotency key has 1 to 100 characters and is looked at before the body (R-142, R-141)', async (t) => {
    for (const operation of operations) requests.idempotency(operation);
    await walk(t, ['idempotency key', 'order']);
  });

  test('ids that name nothing in the brand are not found (R-062, R-063, R-031)', async (t) => {
    const good = usable(fixture);
    for (const operation of operations) {
      for (const [name, schema] of Object.entries(operation.built ? operation.path ?? {} : {})) {
        const kind = fixture.kindOf(name, schema);
        assert.ok(NOT_FOUND[kind] || kind === 'key', `${operation.id}: ${name} names a resource of no known kind`);
      }
      if (!operation.route.startsWith('DELETE ')) requests.ids(operation, good[operation.id] ?? {}, (kind) => NOT_FOUND[kind]);
    }
    await walk(t, ['path id', 'query id', 'body id']);
  });

  test('deleting what is not there changes nothing and says so (R-017, R-018)', async (t) => {
    for (const operation of operations) if (operation.route.startsWith('DELETE ')) requests.ids(operation, {}, () => null);
    // A delete that found nothing was done, not refused: it leaves its audit row.
    await walk(t, ['deleted id'], ['audit_log']);
  });

  // ---- What is whose ----

  /** Every id in an answer. */
  const idsIn = (value) => JSON.stringify(value).match(/"[a-z]{3}_[0-9a-z]{13}"/g) ?? [];
  const lists = (reach) => operations.filter((operation) => operation.built && operation.reach === reach && operation.scope !== undefined &&
    operation.path === undefined && operation.when === undefined && /^GET |\/search$/.test(operation.route));

  test('what a brand lists is its own and no other brand\'s (R-064)', async (t) => {
    const { brands, keys } = fixture;
    let seen = 0;
    for (const { id, route } of lists('brand')) {
      const [method, path] = route.split(' ');
      const ask = (brand) => client.request(method, path, method === 'POST' ? {} : undefined, { ...keys.organization, 'x-brand-id': brand });
      const [own, other] = [await ask(brands.own), await ask(brands.other)];
      assert.equal(own.status, 200, `${id}: ${JSON.stringify(own.body)}`);
      const theirs = new Set(idsIn(other.body));
      const shared = idsIn(own.body).filter((one) => theirs.has(one));
      assert.deepEqual(shared, [], id);
      if (idsIn(own.body).length > 0 && theirs.size > 0) seen++;
    }
    t.diagnostic(`${seen} lists hold something in both brands`);
    assert.ok(seen >= 5, 'designs, folders, audiences, domains and contacts at least');
  });

  test('what is the organization\'s is the same in every brand, and needs none (R-065)', async () => {
    const other = { ...fixture.keys.organization, 'x-brand-id': fixture.brands.other };
    const paths = ['/v1/flows', '/v1/usage', '/v1/brands', ...lists('organization').map(({ route }) => route.split(' ')[1])];
    for (const path of paths) {
      const [without, within] = [await client.get(path, fixture.keys.organization), await client.get(path, other)];
      assert.equal(without.status, 200, `${path}: ${JSON.stringify(without.body)}`);
      assert.deepEqual(within.body, without.body, path);
      if (path !== '/v1/brands') assert.deepEqual((await client.get(path, fixture.keys.brand)).body, without.body, path);
    }
    assert.ok(paths.includes('/v1/templates'));
  });

  test('the sums see what is written, so that the walks above could have failed', async () => {
    const before = await sums(installation);
    const answer = await client.post('/v1/contacts', { email: 'written@example.com' }, fixture.keys.brand);
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    const written = Object.entries(await sums(installation)).filter(([table, sum]) => sum !== before[table]).map(([table]) => table);
    assert.deepEqual(written.sort(), ['audit_log', 'contacts']);
  });
});
