// Test runs of random automations, compared with an interpreter that knows only the documents: path, branches, times and the end of each
// run are equal (R-305, D-107, D-108, D-112). A failure is shrunk to a small graph. GRAPHS sets the number of graphs.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { makePlace, must } from '../../lib/brand_fixture.mjs';
import { sql } from '../../lib/database.mjs';
import { installationFor } from '../../lib/installation.mjs';
import { packagesOf } from '../../lib/packages.mjs';
import { interpret } from './interpreter.mjs';

const fc = packagesOf('third_party')('fast-check');
const LIMIT = { timeout: 600_000 };
const GRAPHS = Number(process.env.GRAPHS ?? 25);
const ZONE = 'Europe/Lisbon';
const installation = installationFor({ after });
let place;
let email;
let trigger;

before(async () => {
  const server = await installation.serve();
  place = await makePlace(installation, server);
  await sql(installation, `update brands set time_zone = '${ZONE}'`);
  email = await must(place.rest.call('POST', '/v1/emails/import', { content: '<html><head><title>T</title></head><body>Hi</body></html>', title: 'T' }));
  const made = await must(place.rest.call('POST', '/v1/automations/triggers', {
    title: 'Order', payloadSchema: { fields: [{ key: 'email', type: 'string', required: true }] },
  }));
  trigger = made.triggerEventId;
});

after(() => place.close());

// ---- Random automations ----

const span = fc.record({ duration: fc.integer({ min: 1, max: 40 }), unit: fc.constantFrom('minutes', 'hours', 'days') });
const DATES = ['2026-12-01T08:00:00Z', '2027-01-15T12:30:00.500+01:00', '2027-06-01T00:00:00Z', '2020-02-29T10:00:00Z'];
const PLANS = ['pro', 'Pro', 'free', ''];
const condition = fc.oneof(
  fc.record({ field: fc.constantFrom('payload.plan', 'plan'), operator: fc.constantFrom('equals', 'not_equals'), value: fc.constantFrom('pro', 'Free') }),
  fc.record({ field: fc.constant('payload.plan'), operator: fc.constantFrom('contains', 'not_contains', 'starts_with'), value: fc.constantFrom('PR', 'ee') }),
  fc.record({ field: fc.constant('payload.plan'), operator: fc.constantFrom('in', 'not_in'), value: fc.constant(['pro', 'free']) }),
  fc.record({ field: fc.constantFrom('payload.plan', 'payload.none', 'vip'), operator: fc.constantFrom('exists', 'not_exists', 'is_empty', 'is_not_empty') }),
  fc.record({ field: fc.constantFrom('payload.total', 'total'), operator: fc.constantFrom('gt', 'gte', 'lt', 'lte', 'equals', 'not_equals'), value: fc.constantFrom(0, 2.5, 10) }),
  fc.record({ field: fc.constant('total'), operator: fc.constant('between'), value: fc.constant([2.5, 10]) }),
  fc.record({ field: fc.constant('payload.vip'), operator: fc.constantFrom('is_true', 'is_false') }),
  fc.record({ field: fc.constant('payload.at'), operator: fc.constantFrom('before', 'after'), value: fc.constantFrom(...DATES) }),
);
const conditions = fc.record({ logicalOperator: fc.constantFrom('AND', 'OR'), conditions: fc.array(condition, { minLength: 1, maxLength: 3 }) });
const engagement = fc.subarray(['clicked', 'opened', 'otherwise'], { minLength: 1 });
const WEEK = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];

const node = fc.record({
  make: fc.oneof(
    fc.constant({ type: 'sendEmail' }),
    fc.constant({ type: 'sendEmail' }),
    span.map((config) => ({ type: 'wait', config })),
    fc.record({ localTime: fc.constantFrom('08:00', '12:30', '18:45'), weekdays: fc.subarray(WEEK, { minLength: 1 }) }).map((config) => ({ type: 'wait', config })),
    fc.record({ before: fc.boolean(), by: span }).map(({ before: early, by }) => ({ type: 'wait', config: { until: { field: 'payload.at', offset: { ...by, before: early } } } })),
    span.map((timeout) => ({ type: 'wait', config: { event: { timeout } } })),
    conditions.map((config) => ({ type: 'filter', config })),
    conditions.map((config) => ({ type: 'split', config })),
    fc.constantFrom('left', 'right').map((forced) => ({ type: 'split', config: { leftPercentage: 50 }, forced })),
    fc.record({ window: span, branches: engagement }).map((config) => ({ type: 'filter', config })),
    fc.record({ window: span, branches: engagement }).map((config) => ({ type: 'filter', config })),
  ),
  links: fc.array(fc.constantFrom(1, 1, 1, 2, 2, 0), { minLength: 3, maxLength: 3 }), // of each branch: so many nodes on; 0 ends the run
  hits: fc.array(fc.record({ type: fc.constantFrom('opened', 'clicked'), afterMs: fc.constantFrom(0, 30e3, 1200e3, 3600e3, 86400e3, 5 * 86400e3) }), { maxLength: 3 }),
});
const payload = fc.record({ plan: fc.constantFrom(...PLANS), total: fc.constantFrom(0, 2.5, 7, 100), vip: fc.boolean(), at: fc.constantFrom(...DATES) }, { requiredKeys: [] });
const story = fc.record({ nodes: fc.array(node, { minLength: 1, maxLength: 10, size: 'max' }), payload });

const branchesOf = ({ type, config }) => {
  if (type === 'split') return ['left', 'right'];
  if (type === 'filter') return config.branches ?? ['true', 'false'];
  return type === 'wait' && config.event ? ['event', 'timeout'] : [undefined];
};

/** The automation of a story, as a caller writes it. */
function automationOf({ nodes: drawn }) {
  const id = (at) => `n${at}`;
  const nodes = drawn.map(({ make }, at) => ({ id: id(at), type: make.type, config: structuredClone(make.config ?? {}) }));
  for (const [at, made] of nodes.entries()) {
    if (made.type === 'sendEmail') made.config = { emailId: email.emailId, emailVersionId: email.emailVersionId, subject: 'Hi' };
    if (made.config.event) made.config.event.triggerEventId = trigger;
    // The nearest message before the filter, or else one that the run never passes.
    const earlier = nodes.slice(0, at).findLast(({ type }) => type === 'sendEmail');
    if (made.type === 'filter' && made.config.window) made.config.sourceNodeId = (earlier ?? { id: 'unsent' }).id;
  }
  if (nodes.some(({ config }) => config.sourceNodeId === 'unsent')) nodes.push({ id: 'unsent', type: 'sendEmail', config: { emailId: email.emailId, emailVersionId: email.emailVersionId, subject: 'Hi' } });
  const connections = [{ from: 'start', to: 'n0' }];
  for (const [at, { links }] of drawn.entries())
    for (const [place_, branch] of branchesOf(nodes[at]).entries())
      if (links[place_] > 0 && at + links[place_] < drawn.length) connections.push({ from: id(at), to: id(at + links[place_]), ...(branch && { branch }) });
  return { nodes: [{ id: 'start', type: 'trigger', config: { mode: 'event' } }, ...nodes], connections };
}

const scenarioOf = ({ nodes }) => ({
  engagement: nodes.flatMap(({ make, hits }, at) => (make.type === 'sendEmail' ? [{ nodeId: `n${at}`, events: hits }] : [])),
  splits: nodes.flatMap(({ make }, at) => (make.forced ? [{ nodeId: `n${at}`, branch: make.forced }] : [])),
});

// ---- The comparison; times are microseconds since 1970 ----

/** The steps that the run of a story must have. Everything happens exactly when it is due. */
function expectedSteps({ nodes, payload: given }, automation, startedAt) {
  const drawnOf = (id) => nodes[Number(id.slice(1))];
  const { path } = interpret(automation, {
    contact: { customFields: {} }, payload: given, startedAt, zone: ZONE, isExact: true,
    engagement: Object.fromEntries(nodes.map(({ hits }, at) => [`n${at}`, [hits.map(({ type, afterMs }) => ({ type, after: afterMs * 1000 }))]])),
    splits: (id) => drawnOf(id).make.forced,
  });
  return path.map(({ nodeId, status, branch, enteredAt, at }) => `${nodeId} ${status} ${branch} ${enteredAt} ${at}`);
}

const us = (column) => `(extract(epoch from ${column}) * 1000000)::bigint`;

async function storedSteps() {
  const rows = await sql(installation, `select node_id || ' ' || s.status || ' ' || coalesce(branch, '') || ' ' || ${us('s.started_at')} || ' ' || ${us('s.completed_at')}
    from automation_steps s where run_id = (select max(id) from automation_runs) order by visit`);
  return { rows, startUs: Number(rows[0].split(' ').at(-1)) };
}

test('test runs go the way of the interpreter', LIMIT, async () => {
  await fc.assert(fc.asyncProperty(story, async (drawn) => {
    const automation = automationOf(drawn);
    const { automationId } = await must(place.rest.call('POST', '/v1/automations', automation));
    await must(place.rest.call('POST', `/v1/automations/${automationId}/test`, { payload: drawn.payload, scenario: scenarioOf(drawn) }));
    const { rows, startUs } = await storedSteps();
    assert.deepEqual(rows, expectedSteps(drawn, automation, startUs));
  }), { numRuns: GRAPHS });
  const [runs] = await sql(installation, "select count(*) filter (where mode = 'test') || ' ' || count(*) from automation_runs");
  assert.equal(runs.split(' ')[0], runs.split(' ')[1]);
});
