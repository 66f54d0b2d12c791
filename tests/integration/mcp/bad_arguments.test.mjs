// Bad arguments of every tool that is built, made from its declared schema: wrong types, values as text, other names, ids of
// another kind, of another brand, or cut short. Each is refused with the field and the next step, or read as what it means; the
// rows of the database show that nothing else was done.

import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { canonical } from '../../cases/runner/canonical.mjs';
import { loadCatalogue, operationsOf } from '../../cases/runner/catalogue.mjs';
import { prepareSend } from '../../lib/campaign.mjs';
import { stdioTransport } from '../../lib/brand_fixture.mjs';
import { sql } from '../../lib/database.mjs';
import { installationFor } from '../../lib/installation.mjs';

const LIMIT = { timeout: 600_000 };
const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const SCHEDULED = new Date(Date.now() + 30 * 86_400_000).toISOString();
/** An error is a few sentences, not a page. */
const ERROR_MAX_BYTES = 900;

const installation = installationFor({ after });
const catalogue = loadCatalogue(ROOT);
let tools; // as listed
let here; // the transport of the brand under test
let owner; // sees the tools of the organization, too
let own; // the names of the tools that `here` sees
let ids; // by argument: an id of this brand, and by the same name one of another brand in `foreign`
let foreign;

async function done(call, name, args) {
  const { ok, body } = await call(name, args);
  assert.ok(ok, `${name}: ${JSON.stringify(body)}`);
  return body;
}

const PAYLOAD_SCHEMA = { fields: [{ key: 'email', type: 'string', required: true }] };

const GRAPH = { nodes: [{ id: 'start', type: 'trigger', config: { mode: 'event' } }], connections: [] };

/** One of everything that an argument can name. */
async function makeRows({ call }, brandId) {
  await done(call, 'save_contact', { email: 'ada@example.com', firstName: 'Ada', customFields: { plan: 'pro' } });
  const { emailId, emailVersionId } = await done(call, 'import_email', { content: '<p>Hello {{ firstName }}</p>', title: 'One', subjectLine: 'Hello' });
  const { groupId } = await done(call, 'save_email_group', { name: 'Folder' });
  const { audienceId } = await done(call, 'create_audience', { name: 'All', filters: { field: 'email', operator: 'contains', value: '@' } });
  const { domainId } = await prepareSend(call);
  const { triggerEventId } = await done(call, 'save_trigger', { title: 'One', payloadSchema: PAYLOAD_SCHEMA });
  const { automationId } = await done(call, 'save_automation', GRAPH);
  const asked = { emailId, domainId, subject: 'Later', to: ['ada@example.com'], scheduledAt: SCHEDULED };
  const first = await done(call, 'send_email', asked);
  const { sendId } = first.sendId ? first : await done(call, 'send_email', { ...asked, confirmationToken: first.confirmationToken });
  return { emailId, emailVersionId, groupId, audienceId, domainId, sendId, brandId, triggerEventId, automationId };
}

before(async () => {
  const { data: [{ brandId }] } = await installation.admin('brand', 'list');
  const other = await installation.admin('brand', 'create', 'Other');
  here = await stdioTransport(installation, '--brand', brandId);
  ids = await makeRows(here, brandId);
  foreign = await makeRows(await stdioTransport(installation, '--brand', other.brandId), other.brandId);
  owner = await stdioTransport(installation);
  tools = await owner.list();
  own = new Set((await here.list()).map(({ name }) => name));
}, LIMIT);

const call = (name, args) => (own.has(name) ? here : owner).call(name, args);

const operationsBuilt = (tool) => operationsOf(catalogue.tools.find(({ name }) => name === tool.name)).map((id) => catalogue.operations.get(id)).filter(({ built }) => built);
const declared = (tool, argument) => operationsBuilt(tool).map(({ path, query, body }) => ({ ...path, ...query, ...body })[argument]).find(Boolean);

/** Required arguments, of which only the one under test is then spoilt. Where none is required, what makes the call mean something. */
const CAMPAIGN = ['domainId', 'audienceId', 'scheduledAt'];
const USUAL = {
  save_contact: (spoilt) => (spoilt === 'contacts' ? {} : { email: 'bad@example.com' }),
  create_email: (spoilt) => (spoilt === 'document' ? {} : { prompt: 'Bad' }),
  import_email: () => ({ content: '<p>Hi</p>' }),
  save_automation: (spoilt) => (['paused', 'stopInFlight'].includes(spoilt) ? { automationId: ids.automationId } : GRAPH),
  import_contacts_csv: () => ({ csv: 'email\nbad@example.com\n' }),
  create_contact_field: () => ({ fieldName: 'colour', fieldType: 'string' }),
  create_audience: () => ({ name: 'Bad', filters: { logic: 'and', filters: [{ field: 'plan', operator: 'equals', value: 'pro' }] } }),
  create_audience_from_events: () => ({ name: 'Bad', eventTypes: ['sent'], from: '2026-01-01T00:00:00Z' }),
  delete_contacts: () => ({ emails: ['nobody@example.com'] }),
  delete_contact_field: () => ({ fieldName: 'plan' }),
  save_email_group: () => ({ name: 'Bad' }),
  clone_email: () => ({ emailId: ids.emailId }),
  // A test may use any domain of the organization, a campaign only those of the brand.
  send_email: (spoilt) => ({ emailId: ids.emailId, subject: 'Bad', to: ['ada@example.com'], ...(CAMPAIGN.includes(spoilt) ? { domainId: ids.domainId } : { test: true }) }),
  control_email_send: () => ({ sendId: ids.sendId, action: 'cancel' }),
  restore_email_version: () => ({ emailId: ids.emailId, version: 1 }),
  update_email_metadata: () => ({ emailId: ids.emailId, title: 'Bad' }),
  export_email: () => ({ emailId: ids.emailId, provider: 'nobody' }),
  create_brand: () => ({ name: 'Bad' }),
  save_trigger: () => ({ title: 'Bad', payloadSchema: PAYLOAD_SCHEMA }),
  control_audience_run: () => ({ audienceRunId: 'aru_0000000000000', action: 'pause' }),
  infer_payload_contract: () => ({ example: { email: 'ada@example.com' } }),
};

function usual(tool, spoilt) {
  if (USUAL[tool.name]) return USUAL[tool.name](spoilt);
  return Object.fromEntries((tool.inputSchema.required ?? []).map((name) => [name, ids[name] ?? 'value']));
}

/** What a bad call may change, counted: rows of every table, and the columns that tools change. */
async function rowsNow() {
  const tables = await sql(installation, `select tablename from pg_tables where schemaname = 'posthorn'
    and tablename in ('contacts', 'emails', 'email_versions', 'email_groups', 'audiences', 'automations', 'sends', 'send_recipients', 'contact_fields', 'brands', 'imports', 'triggers')`);
  assert.ok(tables.length >= 6, tables.join());
  const each = tables.map((table) => `select '${table}' || md5(coalesce(string_agg(x::text, ',' order by x::text), '')) from ${table} x`);
  return (await sql(installation, each.join(' union all '))).sort().join('\n');
}

function assertRefusal(tool, args, body, param) {
  const shown = `${tool.name} ${JSON.stringify(args).slice(0, 200)}: ${JSON.stringify(body)}`;
  const { code, message, suggestion } = body.error;
  assert.ok(!['INTERNAL_ERROR', 'SERVICE_UNAVAILABLE', 'NOT_IMPLEMENTED'].includes(code), shown);
  assert.ok(message.length > 0 && suggestion.length > 0, shown);
  assert.ok(JSON.stringify(body).length <= ERROR_MAX_BYTES, `${JSON.stringify(body).length} bytes, ${shown}`);
  assert.doesNotMatch(`${message} ${suggestion}`, /\/v1\/|X-[A-Z]|include=/, shown);
  if (param !== undefined) assert.ok(body.error.param === param || body.error.param?.startsWith(`${param}.`), shown);
  return shown;
}

/** Every tool whose schema has an argument that `wanted` selects: {tool, name, schema, isDestructive}. */
function argumentsWhere(wanted) {
  return tools.flatMap((tool) => Object.entries(tool.inputSchema.properties)
    .map(([name, schema]) => ({ tool, name, schema, isDestructive: tool.annotations.destructiveHint }))
    .filter(wanted));
}

const WRONG = {
  string: [{ a: 1 }, ['x'], true],
  integer: [{ a: 1 }, [1], true, 'many', 1.5],
  number: [{ a: 1 }, [1], true, 'many'],
  boolean: [{ a: 1 }, [true], 5, 'perhaps'],
  array: [5, true, ''],
  object: [5, true, 'words', ['words']],
};
/** Declared forms besides the listed type: a list of conditions, comma-separated words, true for a text of a value. */
const isDeclaredForm = (schema, value) =>
  schema?.anyToo || (schema?.listToo && Array.isArray(value)) || (schema?.booleanToo && typeof value === 'boolean') || (schema?.format === 'tokens' && Array.isArray(value));

test('a value of the wrong type is refused, and nothing is done (R-417)', LIMIT, async () => {
  const rows = await rowsNow();
  for (const { tool, name, schema } of argumentsWhere(() => true)) {
    for (const value of WRONG[schema.type].filter((wrong) => !isDeclaredForm(declared(tool, name), wrong))) {
      const args = { ...usual(tool, name), [name]: value };
      const { ok, body } = await call(tool.name, args);
      assert.ok(!ok, `${tool.name} took ${JSON.stringify(args)}`);
      assertRefusal(tool, args, body, name);
    }
  }
  assert.equal(await rowsNow(), rows);
});

/** A plain value of the schema that the tool accepts beside its usual arguments, and that as text. */
function asText(schema) {
  if (schema.type === 'integer' || schema.type === 'number') return ['5', 5];
  if (schema.type === 'boolean') return ['false', false];
  if (schema.type === 'array' && schema.items?.type === 'string') return ['["x@example.com"]', ['x@example.com']];
  return null;
}

test('values as text mean the value where nothing is destroyed, and are refused with the right form elsewhere (R-417)', LIMIT, async () => {
  let healed = 0;
  let refused = 0;
  for (const { tool, name, schema, isDestructive } of argumentsWhere(({ schema }) => asText(schema) !== null)) {
    const [text, value] = asText(schema);
    const args = { ...usual(tool, name), [name]: text };
    if (isDestructive) {
      if (declared(tool, name)?.single) continue; // one address may be given bare
      const rows = await rowsNow();
      const { ok, body } = await call(tool.name, args);
      assert.ok(!ok, `${tool.name} took ${JSON.stringify(args)}`);
      const shown = assertRefusal(tool, args, body, name);
      assert.equal(body.error.suggestion, `Send ${name} as ${JSON.stringify(value)}.`, shown);
      assert.equal(await rowsNow(), rows, shown);
      refused++;
    } else {
      // The same answer as to the value itself, whether that is accepted or not.
      const [one, other] = [await call(tool.name, args), await call(tool.name, { ...args, [name]: value })];
      assert.equal(one.ok, other.ok, `${tool.name} ${name}: ${JSON.stringify(one.body)} ${JSON.stringify(other.body)}`);
      if (!one.ok) assert.equal(one.body.error.message, other.body.error.message);
      healed += one.ok;
    }
  }
  assert.ok(healed >= 10 && refused >= 2, `${healed} healed, ${refused} refused`);
});

const snakeCase = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

test('another spelling of an argument is taken where nothing is destroyed, and named elsewhere (R-417)', LIMIT, async () => {
  for (const { tool, name, isDestructive } of argumentsWhere(({ name }) => snakeCase(name) !== name && name !== 'brandId')) {
    const { [name]: given, ...rest } = usual(tool, name);
    const value = given ?? ids[name] ?? 'value';
    const args = { ...rest, [snakeCase(name)]: value };
    if (isDestructive) {
      const rows = await rowsNow();
      const { ok, body } = await call(tool.name, args);
      assert.ok(!ok, `${tool.name} took ${JSON.stringify(args)}`);
      const shown = assertRefusal(tool, args, body, snakeCase(name));
      assert.equal(body.error.suggestion, `Use ${name}.`, shown);
      assert.equal(await rowsNow(), rows, shown);
    } else if (tool.annotations.readOnlyHint) {
      const seen = [new Map(), new Map()];
      const [one, other] = [await call(tool.name, args), await call(tool.name, { ...rest, [name]: value })];
      assert.equal(canonical(one.body, seen[0]), canonical(other.body, seen[1]), `${tool.name} ${name}`);
    }
  }
});

test('an argument that belongs to another tool is refused with the names of this one (R-417)', LIMIT, async () => {
  const rows = await rowsNow();
  const everyName = [...new Set(tools.flatMap(({ inputSchema }) => Object.keys(inputSchema.properties)))];
  for (const tool of tools) {
    const names = Object.keys(tool.inputSchema.properties);
    const aliases = catalogue.tools.find(({ name }) => name === tool.name).aliases ?? {};
    for (const stranger of everyName.filter((name) => !names.includes(name) && aliases[name] === undefined)) {
      const args = { ...usual(tool), [stranger]: ids[stranger] ?? 'value' };
      const { ok, body } = await call(tool.name, args);
      assert.ok(!ok, `${tool.name} took ${JSON.stringify(args)}`);
      const shown = assertRefusal(tool, args, body, stranger);
      const named = body.error.suggestion.match(/\b[a-z]+(?:[A-Z][a-z]+)+\b/g) ?? [];
      const known = [...names, stranger];
      assert.deepEqual(named.filter((name) => !known.includes(name)), [], shown);
    }
  }
  assert.equal(await rowsNow(), rows);
});

test('an id of another kind, of another brand or cut short finds nothing and does nothing (R-417)', LIMIT, async () => {
  const isId = ({ tool, name }) => declared(tool, name)?.format?.startsWith('id:') && ids[name] !== undefined;
  const chosen = argumentsWhere(isId);
  assert.ok(chosen.length >= 10, `${chosen.length} ids`);
  for (const { tool, name } of chosen) {
    const otherKind = Object.entries(ids).find(([kind, id]) => kind !== name && id !== undefined && id.slice(0, 3) !== ids[name].slice(0, 3))[1];
    for (const bad of [otherKind, foreign[name], ids[name].slice(0, -1)]) {
      const rows = await rowsNow();
      const args = { ...usual(tool, name), [name]: bad };
      const { ok, body } = await call(tool.name, args);
      const shown = `${tool.name} ${JSON.stringify(args)}: ${JSON.stringify(body)}`;
      if (ok) assert.deepEqual(body.data, [], `a filter that finds nothing: ${shown}`);
      else assertRefusal(tool, args, body);
      assert.equal(await rowsNow(), rows, shown);
    }
  }
});

// ---- Other forms, by hand ----

const REFUSED = [
  ['save_contact', { email: 'a@example.com', plan: 'pro' }, 'Put a field of your own into customFields: {"customFields": {"plan": …}}.'],
  ['save_contact', { contacts: [{ email: 'a@example.com', plan: 'pro' }] }, 'Put a field of your own into customFields: {"customFields": {"plan": …}}.'],
  ['save_contact', { email: 'a@example.com', address: 'Ferry Road 1' }, 'Put a field of your own into customFields: {"customFields": {"address": …}}.'],
  ['save_contact', { email: 'a@example.com', frstName: 'A' }, 'Use firstName, or put a field of your own into customFields.'],
  ['save_contact', { email: 'a@example.com', consent: { capturedOn: '2026-01-01T00:00:00Z' } }, 'Use capturedAt, or one of: source, policyVersion, evidence.'],
  ['search_contacts', { filters: { field: 'plna', operator: 'equals', value: 'pro' } }, /^Use plan, or one of: email, firstName, /],
  ['search_contacts', { filters: { field: 'plan', operator: '==', value: 'pro' } }, 'Use equals.'],
  ['search_contacts', { filters: { field: 'plan', operator: 'notEquals', value: 'pro' } }, 'Use not_equals.'],
  ['search_contacts', { filters: { logic: 'and', filters: [{ feild: 'plan', operator: 'equals', value: 'pro' }] } }, 'Use field, or one of: operator, value.'],
  ['search_contacts', { filters: { field: 'opened', operator: 'gte', value: 1 } }, /^Use activity\.opened, or one of: email, /],
  ['search_contacts', { filters: { field: 'activity.open', operator: 'gte', value: 1 } }, 'Use activity.opened.'],
  ['get_capabilities', { topic: 'contact' }, 'Use contacts.'],
  ['get_email_analytics', { view: 'event' }, 'Use view events.'],
  ['get_email_analytics', { view: 'overview', sendId: 'snd_1' }, 'Use view send or events for sendId, or leave it out.'],
  ['delete_contacts', { emails: 'ada@example.com' }, 'Send emails as ["ada@example.com"].'],
  ['delete_contacts', { emails: 'ada@example.com, bob@example.com;cy@example.com  di@example.com' }, 'Send emails as ["ada@example.com","bob@example.com","cy@example.com","di@example.com"].'],
  ['delete_contacts', { contacts: ['ada@example.com'] }, 'Use emails.'],
  ['delete_email', { emailId: 'Spring news' }, /list_emails lists them\.$/],
  ['delete_email_group', { groupId: 'Spring' }, /list_email_groups lists them\.$/],
  ['delete_audience', { audienceId: 'Pro' }, /get_capabilities .*lists them\.$/],
  ['clone_email', { emailId: 'tpl_welcome_fernhil' }, 'Use an emailId of the gallery; search_templates finds them.'],
  ['clone_email', { emailId: 'Spring news' }, /list_emails lists them\. .*search_templates finds them\.$/],
  ['delete_email', { id: 'eml_1' }, 'Use emailId.'],
  ['send_email', { emailId: 'eml_1', subject: 'x', to: ['ada@example.com'], test: 'true' }, 'Send test as true.'],
  ['send_email', { emailId: 'eml_1', subject: 'x', recipients: ['ada@example.com'] }, 'Use to.'],
];

test('common mistakes are answered with the correction in one sentence (R-417)', LIMIT, async (t) => {
  const rows = await rowsNow();
  for (const [name, args, suggestion] of REFUSED) {
    const { ok, body } = await call(name, args);
    assert.ok(!ok, `${name} took ${JSON.stringify(args)}`);
    const shown = assertRefusal({ name }, args, body);
    t.diagnostic(`${name} ${JSON.stringify(args)}: ${body.error.message} ${body.error.suggestion}`);
    if (suggestion instanceof RegExp) assert.match(body.error.suggestion, suggestion, shown);
    else assert.equal(body.error.suggestion, suggestion, shown);
  }
  assert.equal(await rowsNow(), rows);
});

const SAME = [
  ['search_contacts', { filters: { field: 'plan', operator: 'equals', value: 'pro' } }, { filters: { logic: 'and', filters: [{ field: 'plan', operator: 'equals', value: 'pro' }] } }],
  ['search_contacts', { filters: { field: 'fields.plan', operator: 'equals', value: 'pro' } }, { filters: [{ field: 'plan', operator: 'equals', value: 'pro' }] }],
  ['search_contacts', { conditions: '[{"field":"plan","operator":"equals","value":"pro"}]', count: 'true' }, { filters: [{ field: 'plan', operator: 'equals', value: 'pro' }], count: true }],
  ['search_templates', { search: 'welcome' }, { query: 'welcome' }],
  ['save_contact', { rows: [{ email: 'ada@example.com' }] }, { contacts: [{ email: 'ada@example.com' }] }],
  ['save_contact', { contacts: { Email: 'ada@example.com' } }, { contacts: [{ email: 'ada@example.com' }] }],
];

test('other forms mean the same (R-417)', LIMIT, async () => {
  for (const [name, form, plain] of SAME) {
    const [one, other] = [await done(call, name, form), await done(call, name, plain)];
    assert.equal(canonical(one, new Map()), canonical(other, new Map()), name);
  }
  const { emailId } = await done(call, 'import_email', { html: '<p>By html</p>', subject: 'From html' });
  const read = await done(call, 'get_email', { emailId, include: ['html'] });
  assert.match(read.html, /By html/);
});

test('the view follows from the ids (R-444)', LIMIT, async () => {
  const { sendId, emailId } = ids;
  assert.equal((await done(call, 'get_email_analytics', { sendId })).sendId, sendId);
  assert.equal((await done(call, 'get_email_analytics', { send_id: sendId, include: ['events'] })).sendId, sendId);
  const sends = await done(call, 'get_email_analytics', { emailId });
  assert.deepEqual(sends.data.map((send) => send.sendId), [sendId]);
  assert.ok(Array.isArray((await done(call, 'get_email_analytics', { recipient: 'ada@example.com' })).data));
  assert.ok(Array.isArray((await done(call, 'get_email_analytics', { sendId, eventType: 'clicked' })).data));
});
