// The rules of the agent protocol that bind every tool: hints, costs, the same shapes and refusals as REST, small pages, what
// a brand connection sees, and one account of scopes, windows, keys and credits over all transports.

import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadCatalogue } from '../../cases/runner/catalogue.mjs';
import { saveContacts, sendConfirmed } from '../../lib/campaign.mjs';
import { installationFor } from '../../lib/installation.mjs';
import { transportsOfKey, makePlace, must, stdioTransport } from '../../lib/brand_fixture.mjs';
import { assertReports } from '../../lib/report.mjs';
import { sql } from '../../lib/database.mjs';

const LIMIT = { timeout: 600_000 };
const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const HTML = '<!doctype html><html><head><title>Rules</title></head><body><p>Hello {{ firstName }}</p></body></html>';
const DEFAULT_PAGE = 10;
const READS = { readOnly: true, destructive: false };
const WRITES = { readOnly: false, destructive: false };
const DESTROYS = { readOnly: false, destructive: true };

/** What the contract says of the tools, written down a second time on purpose. */
const TOOLS = {
  create_brand: { ...WRITES, cost: 'Free.' },
  get_capabilities: { ...READS, cost: 'Free.' },
  get_email_analytics: { ...READS, cost: 'Free.' },
  get_insight: { ...READS, cost: 'Free.' },
  list_insights: { ...READS, cost: 'Free.' },
  save_contact: { ...WRITES, cost: 'Free; 2 credits for each address that is validated.' },
  import_contacts_csv: { ...WRITES, cost: 'Free; 2 credits for each address that is validated.' },
  delete_contacts: { ...DESTROYS, cost: 'Free.' },
  create_contact_field: { ...WRITES, cost: 'Free.' },
  delete_contact_field: { ...DESTROYS, cost: 'Free.' },
  create_audience: { ...WRITES, cost: 'Free.' },
  create_audience_from_events: { ...WRITES, cost: 'Free.' },
  delete_audience: { ...DESTROYS, cost: 'Free.' },
  search_contacts: { ...READS, cost: 'Free.' },
  get_email: { ...READS, cost: 'Free.' },
  create_email: { ...WRITES, cost: 'Metered: 1 credit.' },
  import_email: { ...WRITES, cost: 'Metered: 1 credit.' },
  list_emails: { ...READS, cost: 'Free.' },
  clone_email: { ...WRITES, cost: 'Free.' },
  delete_email: { ...DESTROYS, cost: 'Free.' },
  edit_email: { ...WRITES, cost: 'Free; 1 credit for a prompt, when it succeeds.' },
  delete_email_group: { ...DESTROYS, cost: 'Free.' },
  list_email_groups: { ...READS, cost: 'Free.' },
  restore_email_version: { ...WRITES, cost: 'Free.' },
  save_email_group: { ...WRITES, cost: 'Free.' },
  update_email_metadata: { ...WRITES, cost: 'Free.' },
  audit_email: { ...WRITES, cost: 'Costs 5 credits.' },
  get_email_audit: { ...READS, cost: 'Free.' },
  get_template: { ...READS, cost: 'Free.' },
  list_flows: { ...READS, cost: 'Free.' },
  search_templates: { ...READS, cost: 'Free.' },
  create_inbox_placement_test: { ...WRITES, cost: 'Costs 10 credits.' },
  get_inbox_placement_results: { ...READS, cost: 'Free.' },
  control_email_send: { ...DESTROYS, cost: 'Free.' },
  send_email: { ...DESTROYS, cost: 'Free.' },
  save_trigger: { ...WRITES, cost: 'Free.' },
  list_triggers: { ...READS, cost: 'Free.' },
  delete_trigger: { ...DESTROYS, cost: 'Free.' },
  check_trigger: { ...READS, cost: 'Free.' },
  get_trigger_contract: { ...READS, cost: 'Free.' },
  set_trigger_contract: { ...DESTROYS, cost: 'Free.' },
  infer_payload_contract: { ...READS, cost: 'Free.' },
  save_automation: { ...DESTROYS, cost: 'Free.' },
  get_automation: { ...READS, cost: 'Free.' },
  list_automations: { ...READS, cost: 'Free.' },
  delete_automation: { ...DESTROYS, cost: 'Free.' },
  test_automation: { ...WRITES, cost: 'Free.' },
  run_automation: { ...DESTROYS, cost: 'Free.' },
  fire_trigger_event: { ...DESTROYS, cost: 'Free.' },
  list_trigger_events: { ...READS, cost: 'Free.' },
  list_automation_runs: { ...READS, cost: 'Free.' },
  cancel_automation_run: { ...DESTROYS, cost: 'Free.' },
  control_audience_run: { ...DESTROYS, cost: 'Free.' },
  test_email_rendering: { ...WRITES, cost: 'Costs 10 credits.' },
  get_email_rendering: { ...READS, cost: 'Free.' },
};
const TOOL_NAMES = Object.keys(TOOLS).sort();

const installation = installationFor({ after });
let server;

before(async () => {
  server = await installation.serve();
});

const namesOf = (list) => list.map(({ name }) => name).sort();
const creditsUsed = async (place) => (await must(place.rest.call('GET', '/v1/usage'))).credits.used;

/** The refusal over both transports, which must be the same but for the words of the suggestion. */
async function sameRefusal(what, tool, rest) {
  const [overTool, overRest] = [await tool, await rest];
  assert.ok(!overTool.ok && !overRest.ok, `${what}: both transports refuse: ${JSON.stringify([overTool, overRest])}`);
  // The suggestion names tools to the one and routes to the other.
  const withoutSuggestion = ({ error: { suggestion, ...error } }) => (assert.ok(suggestion.length > 0, what), error);
  assert.deepEqual(withoutSuggestion(overTool.body), withoutSuggestion(overRest.body), what);
  return overTool.body.error;
}

// ---- What is listed ----

test('R-415: one tool per capability, each with its hints', LIMIT, async () => {
  const place = await makePlace(installation, server);
  for (const list of [await (await stdioTransport(installation)).list(), await place.mcp.list()]) {
    for (const { name, annotations } of list) {
      assert.equal(annotations.readOnlyHint, TOOLS[name].readOnly, `${name}: readOnlyHint`);
      assert.equal(annotations.destructiveHint, TOOLS[name].destructive, `${name}: destructiveHint`);
    }
  }
  const reached = loadCatalogue(ROOT).tools.flatMap(({ run, chooseBy }) =>
    [...new Set([run ?? [], Object.values(chooseBy?.values ?? chooseBy?.present ?? {}), chooseBy?.otherwise ?? []].flat())]);
  assert.deepEqual(reached.filter((id, at) => reached.indexOf(id) !== at), [], 'no operation is reached by two tools');
});

test('R-415: a tool that says it only reads is all that --read-only serves, and changes nothing', LIMIT, async () => {
  const transport = await stdioTransport(installation, '--read-only');
  assert.deepEqual(namesOf(await transport.list()), TOOL_NAMES.filter((name) => TOOLS[name].readOnly));
  const { count } = await must(transport.call('search_contacts', { count: true }));
  for (const name of TOOL_NAMES.filter((tool) => !TOOLS[tool].readOnly)) {
    const { ok, refusal } = await transport.call(name, { email: 'nobody@example.com', name: 'Nobody' });
    assert.ok(!ok && refusal, `${name} is refused by the protocol`);
  }
  assert.deepEqual(await must(transport.call('search_contacts', { count: true })), { count });
});

test('R-416: a metered tool names its cost at the end of its description, and so does its help', LIMIT, async () => {
  const transport = await stdioTransport(installation);
  for (const { name, description } of await transport.list()) {
    assert.ok(description.endsWith(` ${TOOLS[name].cost}`), `${name}: ${description}`);
    const { tools } = await must(transport.call('get_capabilities', { tool: name }));
    assert.equal(tools.find((tool) => tool.name === name).cost, TOOLS[name].cost);
  }
});

// ---- The same answers ----

test('R-417: results have the shape of REST', LIMIT, async () => {
  const place = await makePlace(installation, server);
  await saveContacts(place.mcp.call, 'shape', 12);
  const { emailId } = await must(place.mcp.call('import_email', { content: HTML }));
  const window = { from: '2026-01-01T00:00:00Z', to: '2026-01-31T00:00:00Z' };
  const pairs = [
    ['list_emails', { limit: 5, sortBy: 'createdAt' }, 'GET', '/v1/emails?limit=5&sortBy=createdAt'],
    ['get_email', { emailId, include: ['html', 'versions'] }, 'GET', `/v1/emails/${emailId}?include=html,versions`],
    ['search_contacts', { search: 'shape-1', limit: 20, sort: 'email', order: 'asc' }, 'POST', '/v1/contacts/search'],
    ['search_contacts', { count: true }, 'POST', '/v1/contacts/search'],
    ['get_email_analytics', { view: 'overview', ...window }, 'GET', `/v1/analytics/overview?${new URLSearchParams(window)}`],
    ['get_email_analytics', { view: 'sends', limit: 7 }, 'GET', '/v1/sends?limit=7'],
    ['get_email_analytics', { view: 'events', ...window }, 'GET', `/v1/analytics/events?${new URLSearchParams({ ...window, limit: 10 })}`],
    ['save_contact', { email: 'shape-0@example.com' }, 'POST', '/v1/contacts'],
  ];
  const stable = (body) => ({ ...body, updatedAt: undefined });
  for (const [tool, args, method, path] of pairs) {
    const detail = TOOLS[tool].readOnly ? { detail: 'full' } : {};
    const overTool = await must(place.mcp.call(tool, { ...args, ...detail }));
    const overRest = await must(place.rest.call(method, path, method === 'POST' ? args : undefined));
    assertReports(stable(overTool), stable(overRest), `${tool} ${JSON.stringify(args)}`);
  }
});

test('R-417: the same fault has the same envelope', LIMIT, async () => {
  const place = await makePlace(installation, server);
  await must(place.mcp.call('save_contact', { email: 'typed@example.com', customFields: { age: 3 } }));
  const { emailId } = await must(place.mcp.call('import_email', { content: HTML }));
  const to = ['ada@example.com'];
  const faults = [
    ['EMAIL_NOT_FOUND', 'get_email', { emailId: 'eml_0000000000000' }, 'GET', '/v1/emails/eml_0000000000000'],
    ['INVALID_REQUEST', 'list_emails', { limit: 0 }, 'GET', '/v1/emails?limit=0'],
    ['INVALID_REQUEST', 'save_contact', { email: 'not an address' }, 'POST', '/v1/contacts'],
    ['FIELD_TYPE_MISMATCH', 'save_contact', { email: 'b@example.com', customFields: { age: 'old' } }, 'POST', '/v1/contacts'],
    ['AUDIENCE_NOT_FOUND', 'search_contacts', { audienceId: 'aud_0000000000000' }, 'POST', '/v1/contacts/search'],
    ['INVALID_REQUEST', 'search_contacts', { filters: { logic: 'xor', filters: [] } }, 'POST', '/v1/contacts/search'],
    ['INVALID_REQUEST', 'send_email', { emailId, subject: 'Hi' }, 'POST', '/v1/sends'],
    ['DOMAIN_NOT_FOUND', 'send_email', { emailId, subject: 'Hi', domainId: 'dom_0000000000000', to }, 'POST', '/v1/sends'],
    ['EMAIL_NOT_FOUND', 'send_email', { emailId: 'eml_0000000000000', subject: 'Hi', to, test: true }, 'POST', '/v1/sends'],
    ['SEND_NOT_FOUND', 'get_email_analytics', { view: 'send', sendId: 'snd_0000000000000' }, 'GET', '/v1/sends/snd_0000000000000'],
  ];
  for (const [code, tool, args, method, path] of faults) {
    const rest = place.rest.call(method, path, method === 'POST' ? args : undefined);
    const error = await sameRefusal(`${tool} ${JSON.stringify(args)}`, place.mcp.call(tool, args), rest);
    assert.equal(error.code, code, tool);
  }
});

test('R-418: list tools page by ten rows and say how to go on', LIMIT, async () => {
  const place = await makePlace(installation, server);
  const COUNT = DEFAULT_PAGE + 2;
  await saveContacts(place.mcp.call, 'page', COUNT);
  const { domains } = await must(place.mcp.call('get_capabilities', { topic: 'account' }));
  const later = new Date(Date.now() + 3600_000).toISOString();
  const { data: contacts } = await must(place.rest.call('POST', '/v1/contacts/search', {}));
  for (let i = 0; i < COUNT; i++) {
    const { emailId } = await must(place.mcp.call('import_email', { content: HTML, title: `Design ${i}`, groupName: `Folder ${i}` }));
    const send = { emailId, domainId: domains[0].domainId, to: contacts.map(({ email }) => email), subject: 'Hi' };
    await sendConfirmed(place.mcp.call, i === 0 ? send : { ...send, scheduledAt: later });
  }
  const lists = [['list_emails', {}, 'emailId'], ['list_email_groups', {}, 'groupId'], ['search_contacts', {}, 'id'], ['get_email_analytics', { view: 'sends' }, 'sendId']];
  for (const [tool, args, id] of lists) {
    const first = await must(place.mcp.call(tool, args));
    assert.equal(first.data.length, DEFAULT_PAGE, tool);
    assert.equal(first.pagination.limit, DEFAULT_PAGE);
    assert.equal(first.pagination.hasMore, true);
    const second = await must(place.mcp.call(tool, { ...args, cursor: first.pagination.cursor }));
    assert.equal(second.pagination.hasMore, false);
    assert.equal(new Set([...first.data, ...second.data].map((row) => row[id])).size, COUNT, `${tool}: every row once`);
  }
  for (const tool of ['search_templates', 'list_flows']) assert.equal((await must(place.mcp.call(tool, {}))).pagination.limit, DEFAULT_PAGE);
  const events = await must(place.mcp.call('get_email_analytics', { view: 'events' }));
  assert.equal(events.pagination.limit, DEFAULT_PAGE);
  const automations = await must(place.mcp.call('get_email_analytics', { view: 'automations' }));
  assert.equal(automations.pagination.limit, DEFAULT_PAGE);
  const { emailId } = await must(place.mcp.call('import_email', { content: HTML, title: 'Placed' }));
  for (const [tool, args] of [['list_insights'], ['list_automations'], ['list_triggers'], ['list_trigger_events'], ['list_automation_runs'], ['get_inbox_placement_results', { emailId }]]) {
    assert.equal((await must(place.mcp.call(tool, args))).pagination.limit, DEFAULT_PAGE, tool);
  }
});

// ---- Who sees what ----

test('R-421: create_brand is for organization connections only', LIMIT, async () => {
  const place = await makePlace(installation, server);
  const organizationKey = await installation.key();
  const organization = transportsOfKey(server, organizationKey);
  const withoutIt = TOOL_NAMES.filter((name) => name !== 'create_brand');
  for (const [who, transport, names] of [
    ['a brand key', place.mcp, withoutIt],
    ['an organization key in a brand', transportsOfKey(server, organizationKey, { 'x-brand-id': place.brandId }).mcp, withoutIt],
    ['stdio in a brand', await stdioTransport(installation, '--brand', place.brandId), withoutIt],
    ['an organization key', organization.mcp, TOOL_NAMES],
    ['stdio of the local owner', await stdioTransport(installation), TOOL_NAMES],
  ]) {
    assert.deepEqual(namesOf(await transport.list()), names, who);
    if (names === withoutIt) assert.ok((await transport.call('create_brand', { name: 'Hidden' })).refusal, `${who} cannot call it`);
  }
  const { brandId } = await must(organization.mcp.call('create_brand', { name: 'Seen' }));
  const { data } = await must(organization.rest.call('GET', '/v1/brands'));
  assert.ok(data.some((brand) => brand.brandId === brandId));
  assert.ok(!data.some((brand) => brand.name === 'Hidden'), 'a refused call created nothing');
});

// ---- The same account ----

test('R-422: scopes bind tools as they bind REST', LIMIT, async () => {
  const place = await makePlace(installation, server, '--scopes', 'contacts');
  await must(place.mcp.call('search_contacts', { count: true }));
  const error = await sameRefusal('list_emails', place.mcp.call('list_emails'), place.rest.call('GET', '/v1/emails'));
  assert.equal(error.code, 'INSUFFICIENT_PERMISSIONS');
  const sent = { emailId: 'eml_0000000000000', subject: 'Hi', to: ['a@example.com'], test: true };
  const sending = await sameRefusal('send_email', place.mcp.call('send_email', sent), place.rest.call('POST', '/v1/sends', sent));
  assert.equal(sending.code, 'INSUFFICIENT_PERMISSIONS');
});

test('R-422: brands bind tools as they bind REST', LIMIT, async () => {
  const place = await makePlace(installation, server);
  const other = await makePlace(installation, server);
  const { emailId } = await must(place.mcp.call('import_email', { content: HTML }));
  const foreign = await sameRefusal('a foreign design', other.mcp.call('get_email', { emailId }), other.rest.call('GET', `/v1/emails/${emailId}`));
  assert.equal(foreign.code, 'EMAIL_NOT_FOUND');

  const nowhere = transportsOfKey(server, await installation.key());
  const unnamed = await sameRefusal('no brand named', nowhere.mcp.call('list_emails'), nowhere.rest.call('GET', '/v1/emails'));
  assert.equal(unnamed.code, 'BRAND_ID_REQUIRED');

  const misled = transportsOfKey(server, place.key, { 'x-brand-id': other.brandId });
  const mismatch = await sameRefusal('another brand named', misled.mcp.call('list_emails'), misled.rest.call('GET', '/v1/emails'));
  assert.equal(mismatch.code, 'BRAND_SCOPE_MISMATCH');
});

test('R-422: tools and REST count in one window', LIMIT, async () => {
  const CALLS = 10; // of contacts.write_batch, a minute
  const place = await makePlace(installation, server, '--rate-multiplier', '1');
  const args = { contacts: [{ email: 'window@example.com' }] };
  for (let i = 1; i <= CALLS / 2; i++) {
    await must(place.mcp.call('save_contact', args));
    const { status, headers } = await place.rest.call('POST', '/v1/contacts', args);
    assert.equal(status, 200);
    assert.equal(Number(headers['x-ratelimit-remaining']), CALLS - 2 * i);
  }
  for (const transport of [await place.mcp.call('save_contact', args), await place.rest.call('POST', '/v1/contacts', args)]) {
    assert.equal(transport.body.error.code, 'RATE_LIMITED');
    assert.ok(transport.body.error.retryAfter >= 1);
  }
  await must(place.mcp.call('save_contact', { email: 'single@example.com' }));
});

test('R-422: an idempotency key is one key over every transport', LIMIT, async () => {
  const place = await makePlace(installation, server);
  const stdio = await stdioTransport(installation, '--brand', place.brandId);
  const contact = { email: 'once@example.com', firstName: 'Ada' };
  const headers = { 'idempotency-key': 'once' };
  const first = await must(place.mcp.call('save_contact', { ...contact, idempotencyKey: 'once' }));
  await must(place.rest.call('POST', '/v1/contacts', { ...contact, firstName: 'Changed since' }));
  const replay = await place.rest.call('POST', '/v1/contacts', contact, headers);
  assert.equal(replay.status, 201, 'the answer of the first call, whose contact was new');
  assert.deepEqual(replay.body, first);
  assert.deepEqual(await must(stdio.call('save_contact', { ...contact, idempotencyKey: 'once' })), first);
  const { data } = await must(place.mcp.call('search_contacts', { search: 'once@' }));
  assert.equal(data[0].firstName, 'Changed since', 'a replay writes nothing');

  const other = { ...contact, firstName: 'Bob' };
  const conflict = await sameRefusal('another body', place.mcp.call('save_contact', { ...other, idempotencyKey: 'once' }),
    place.rest.call('POST', '/v1/contacts', other, headers));
  assert.equal(conflict.code, 'IDEMPOTENCY_CONFLICT');
  const tooLong = 'k'.repeat(101);
  const refused = await sameRefusal('a long key', place.mcp.call('save_contact', { ...contact, idempotencyKey: tooLong }),
    place.rest.call('POST', '/v1/contacts', contact, { 'idempotency-key': tooLong }));
  assert.equal(refused.param, 'idempotencyKey');
});

test('R-422, R-416: a tool is charged as REST is, for success only and once', LIMIT, async () => {
  const place = await makePlace(installation, server);
  const email = { content: HTML, title: 'Charged' };
  const charge = async (call) => {
    const used = await creditsUsed(place);
    const answer = await call();
    return { answer, credits: (await creditsUsed(place)) - used };
  };
  const overTool = await charge(() => place.mcp.call('import_email', { ...email, idempotencyKey: 'tool' }));
  const overRest = await charge(() => place.rest.call('POST', '/v1/emails/import', email, { 'idempotency-key': 'rest' }));
  assert.ok(overTool.answer.ok && overRest.answer.ok);
  assert.deepEqual([overTool.credits, overRest.credits], [1, 1]);

  const replayed = await charge(() => place.mcp.call('import_email', { ...email, idempotencyKey: 'tool' }));
  assert.deepEqual(replayed.answer.body, overTool.answer.body);
  const refused = await charge(() => place.mcp.call('import_email', { content: HTML, groupId: 'grp_0000000000000' }));
  assert.equal(refused.answer.ok, false);
  const { emailId } = overTool.answer.body;
  const free = await charge(async () => {
    await must(place.mcp.call('save_contact', { email: 'free@example.com' }));
    await must(place.mcp.call('send_email', { emailId, subject: 'Hi', to: ['free@example.com'], test: true }));
    for (const [tool, args] of [['list_emails'], ['get_email', { emailId }], ['search_contacts'], ['get_email_analytics'], ['get_capabilities']])
      await must(place.mcp.call(tool, args));
    return { ok: true };
  });
  assert.deepEqual([replayed.credits, refused.credits, free.credits], [0, 0, 0]);
});

test('R-422: without credits both transports refuse, and nothing is made', LIMIT, async () => {
  const place = await makePlace(installation, server);
  const email = { content: HTML, title: 'Unpaid' };
  const TRIAL_CREDITS = 100; // schemas/policies.json
  const used = await creditsUsed(place);
  await sql(installation, "update organizations set plan = 'trial'");
  try {
    await sql(installation, `update credit_usage set used = ${TRIAL_CREDITS - 1}`);
    await must(place.mcp.call('import_email', email));
    const error = await sameRefusal('no credits', place.mcp.call('import_email', email), place.rest.call('POST', '/v1/emails/import', email));
    assert.equal(error.code, 'INSUFFICIENT_CREDITS');
    assert.equal(await creditsUsed(place), TRIAL_CREDITS);
    assert.equal((await must(place.mcp.call('list_emails'))).data.length, 1);
  } finally {
    await sql(installation, "update organizations set plan = 'self_hosted'");
    await sql(installation, `update credit_usage set used = ${used + 1}`);
  }
});

// ---- Help ----

test('R-468: the help tool helps by tool and by topic', LIMIT, async () => {
  const place = await makePlace(installation, server);
  const overview = await must(place.mcp.call('get_capabilities'));
  assert.equal(overview.subject, 'overview');
  assert.ok(overview.topics.length > 3);
  for (const topic of overview.topics.filter((name) => name !== 'account')) {
    const help = await must(place.mcp.call('get_capabilities', { topic }));
    assert.equal(help.subject, topic);
    assert.ok(help.help.length > 100 && help.help !== overview.help, `${topic}: ${help.help}`);
  }
  for (const { name } of await place.mcp.list()) {
    const help = await must(place.mcp.call('get_capabilities', { tool: name }));
    assert.equal(help.subject, name);
    assert.ok(help.tools.some((tool) => tool.name === name && tool.available));
  }
  const account = await must(place.mcp.call('get_capabilities', { topic: 'account' }));
  assert.equal(account.brand.brandId, place.brandId);
  assert.ok(account.domains.length >= 1);
  for (const wrong of [{ topic: 'weather' }, { tool: 'make_coffee' }]) {
    const { ok, body } = await place.mcp.call('get_capabilities', wrong);
    assert.ok(!ok && body.error.param === Object.keys(wrong)[0], JSON.stringify(body));
  }
});
