// The declarations against the tables of the contract, written down here a
// second time on purpose: routes, tools, rate limits, costs, scopes and codes.
//
//     node contract.mjs [SOURCE_ROOT]
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { operationsOf } from '../../cases/runner/catalogue.mjs';

const root = process.argv[2] ?? '.';
const read = (name) => JSON.parse(readFileSync(join(root, name), 'utf8'));
const files = (folder) =>
  readdirSync(join(root, folder)).flatMap((name) =>
    statSync(join(root, folder, name)).isDirectory() ? files(join(folder, name)) : name.endsWith('.json') ? [join(folder, name)] : []);

const operations = files('schemas/operations').flatMap(read);
const tools = files('tools').filter((name) => name.split('/').length === 3).map(read);
const policies = read('schemas/policies.json');
const errors = Object.fromEntries(read('schemas/errors.json').map((error) => [error.code, error]));

let failures = 0;
let checks = 0;
function same(what, actual, expected) {
  checks++;
  if (JSON.stringify(actual) !== JSON.stringify(expected)) {
    failures++;
    console.error(`not ok  ${what}\n  is       ${JSON.stringify(actual)}\n  should be ${JSON.stringify(expected)}`);
  }
}
const words = (text) => text.trim().split(/\s+/);
const lines = (text) => text.trim().split('\n').map((line) => line.trim());

const T = '/v1/automations/triggers';
const R = '/v1/automations/audience-runs';
const routes = lines(`
  GET /v1/health
  GET /v1/help
  GET /v1/usage
  GET /v1/brands
  POST /v1/brands
  GET /v1/brands/{brandId}
  GET /v1/brand
  PATCH /v1/brand
  GET /v1/brand/images
  GET /v1/api-keys
  POST /v1/api-keys
  DELETE /v1/api-keys/{keyId}
  GET /v1/templates
  GET /v1/templates/{templateId}
  GET /v1/flows
  GET /v1/flows/{slug}
  GET /v1/integrations
  GET /v1/emails
  POST /v1/emails
  GET /v1/emails/{emailId}
  PATCH /v1/emails/{emailId}
  DELETE /v1/emails/{emailId}
  POST /v1/emails/{emailId}/restore
  POST /v1/emails/{emailId}/clone
  POST /v1/emails/{emailId}/export
  POST /v1/emails/import
  POST /v1/emails/figma
  POST /v1/emails/audit
  POST /v1/emails/{emailId}/accessibility-audit
  GET /v1/emails/audits/{auditId}
  POST /v1/emails/{emailId}/client-previews
  GET /v1/emails/client-previews/{previewId}
  POST /v1/emails/{emailId}/inbox-placement-tests
  GET /v1/emails/{emailId}/inbox-placement-tests
  GET /v1/emails/{emailId}/inbox-placement-tests/{testId}
  GET /v1/email-groups
  POST /v1/email-groups
  PATCH /v1/email-groups/{groupId}
  DELETE /v1/email-groups/{groupId}
  POST /v1/sends
  GET /v1/sends
  GET /v1/sends/{sendId}
  POST /v1/sends/{sendId}/cancel
  POST /v1/sends/{sendId}/pause
  POST /v1/sends/{sendId}/resume
  GET /v1/analytics/overview
  GET /v1/analytics/automations
  GET /v1/analytics/events
  GET /v1/automations
  POST /v1/automations
  GET /v1/automations/{automationId}
  PATCH /v1/automations/{automationId}
  DELETE /v1/automations/{automationId}
  POST /v1/automations/{automationId}/test
  POST /v1/automations/{automationId}/run
  GET ${T}
  POST ${T}
  GET ${T}/{triggerEventId}
  PATCH ${T}/{triggerEventId}
  DELETE ${T}/{triggerEventId}
  POST ${T}/{triggerEventId}/fire
  GET ${T}/{triggerEventId}/readiness
  GET ${T}/{triggerEventId}/contract
  PUT ${T}/{triggerEventId}/contract
  POST ${T}/{triggerEventId}/contract/validate
  POST /v1/payload-contracts/infer
  GET /v1/automations/runs
  GET /v1/automations/runs/{automationRunId}
  POST /v1/automations/runs/{automationRunId}/cancel
  GET ${R}
  GET ${R}/{audienceRunId}
  POST ${R}/{audienceRunId}/pause
  POST ${R}/{audienceRunId}/resume
  POST ${R}/{audienceRunId}/cancel
  GET /v1/automations/trigger-instances
  GET /v1/automations/trigger-instances/{triggerInstanceId}
  POST /v1/contacts
  POST /v1/contacts/search
  PATCH /v1/contacts/{email}
  DELETE /v1/contacts/{email}
  POST /v1/contacts/batch-delete
  POST /v1/contacts/import-csv
  POST /v1/contacts/validate
  GET /v1/fields
  POST /v1/fields
  DELETE /v1/fields/{fieldName}
  GET /v1/audiences
  POST /v1/audiences
  GET /v1/audiences/{audienceId}
  PATCH /v1/audiences/{audienceId}
  DELETE /v1/audiences/{audienceId}
  POST /v1/audiences/{audienceId}/duplicate
  POST /v1/audiences/from-events
  GET /v1/domains
  POST /v1/domains
  GET /v1/domains/{domainId}
  PATCH /v1/domains/{domainId}
  DELETE /v1/domains/{domainId}
  POST /v1/domains/{domainId}/verify
  POST /v1/content/html-to-png
  POST /v1/content/gif
  POST /v1/content/transform
  POST /v1/content/add-image
  POST /v1/content/generate
  GET /v1/insights
  GET /v1/insights/{insightId}`);
same('106 routes', routes.length, 106);
same('the routes', [...new Set(operations.map((op) => op.route).filter(Boolean))].sort(), [...routes].sort());

// What the tables of endpoints name for each route: query, then body. Path parameters stand in the path. What the contract does
// not show is not here; a declaration may have more, never less.
const PAGE = 'limit cursor';
const parameters = lines(`
  GET /v1/brands | ${PAGE} |
  GET /v1/brand/images | q type aspectRatio sort kind ${PAGE} |
  GET /v1/api-keys | ${PAGE} |
  POST /v1/api-keys | | brandId
  GET /v1/templates | query ${PAGE} |
  GET /v1/flows | ${PAGE} |
  GET /v1/flows/{slug} | include |
  GET /v1/integrations | ${PAGE} |
  GET /v1/emails | groupId status sortBy ${PAGE} |
  GET /v1/emails/{emailId} | include emailVersionId runId |
  POST /v1/emails | | prompt category contentUrls referenceEmailId group groupId groupName subjectLine
  PATCH /v1/emails/{emailId} | | prompt title subjectLine groupId
  POST /v1/emails/{emailId}/clone | | groupId groupName
  POST /v1/emails/import | | source
  POST /v1/emails/audit | | emailId emailVersionId sendingPurpose
  POST /v1/emails/{emailId}/client-previews | | clients previewId
  GET /v1/emails/{emailId}/inbox-placement-tests | ${PAGE} |
  GET /v1/email-groups | ${PAGE} |
  POST /v1/sends | | emailId domainId audienceId to subject previewText from replyTo scheduledAt gradualSend test
  GET /v1/sends | emailId kind status automationId automationRunId audienceRunId triggerInstanceId ${PAGE} |
  GET /v1/sends/{sendId} | include |
  GET /v1/analytics/automations | from to |
  GET /v1/analytics/events | recipient eventType automationId automationRunId sendId from to ${PAGE} |
  GET /v1/automations | include ${PAGE} |
  GET /v1/automations/{automationId} | include |
  POST /v1/automations | | nodes connections dryRun
  PATCH /v1/automations/{automationId} | | nodes connections published paused stopInFlight dryRun
  POST /v1/automations/{automationId}/test | | testRecipient scenario payload
  POST /v1/automations/{automationId}/run | | dryRun scheduledAt gradualSend
  GET ${T} | ${PAGE} |
  POST ${T} | | title payloadSchema
  GET ${T}/{triggerEventId} | include |
  PATCH ${T}/{triggerEventId} | | title payloadSchema
  POST ${T}/{triggerEventId}/fire | | payload idempotencyKey
  GET ${T}/{triggerEventId}/contract | format |
  PUT ${T}/{triggerEventId}/contract | | fields enforcement
  POST ${T}/{triggerEventId}/contract/validate | | payload enforcement
  GET /v1/automations/runs | from to status automationId triggerInstanceId ${PAGE} |
  GET /v1/automations/runs/{automationRunId} | include |
  GET ${R} | status ${PAGE} |
  GET /v1/automations/trigger-instances | ${PAGE} |
  POST /v1/contacts | | contacts email firstName lastName userId source subscribed subscriptionGroups customFields consent validate
  POST /v1/contacts/search | | search sort filters audienceId count ${PAGE}
  POST /v1/contacts/batch-delete | | emails
  POST /v1/contacts/import-csv | | validate
  POST /v1/contacts/validate | | emails
  GET /v1/fields | ${PAGE} |
  POST /v1/fields | | fieldName
  GET /v1/audiences | include ${PAGE} |
  GET /v1/audiences/{audienceId} | include |
  POST /v1/audiences | | name filters
  PATCH /v1/audiences/{audienceId} | | name filters
  GET /v1/domains | sendableOnly ${PAGE} |
  POST /v1/content/transform | | operation
  GET /v1/insights | state severity include ${PAGE} |`);
const placesOf = (route, place) => new Set(operations.filter((op) => op.route === route).flatMap((op) => Object.keys(op[place] ?? {})));
for (const line of parameters) {
  const [route, query, body] = line.split('|').map((part) => part.trim());
  same(`${route} is a route`, routes.includes(route), true);
  for (const [place, names] of [['query', query], ['body', body]]) {
    const declared = placesOf(route, place);
    same(`${place} of ${route}`, words(names).filter((name) => name && !declared.has(name)), []);
  }
}
for (const route of routes) {
  const named = [...route.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
  for (const op of operations.filter((candidate) => candidate.route === route)) same(`path of ${op.id}`, Object.keys(op.path ?? {}), named);
}
// Ids that once read one row of a list, and are parameters of its path now.
for (const [route, retired] of Object.entries({
  'GET /v1/emails': 'emailId', 'GET /v1/audiences': 'audienceId', 'GET /v1/automations': 'automationId', 'GET /v1/domains': 'domainId',
  'GET /v1/automations/runs': 'automationRunId', [`GET ${T}`]: 'triggerEventId', 'GET /v1/sends': 'sendId',
  'GET /v1/automations/trigger-instances': 'triggerInstanceId',
})) same(`${retired} is retired on ${route}`, placesOf(route, 'query').has(retired), false);

const toolNames = words(`
  create_email edit_email get_email list_emails delete_email clone_email import_email export_email restore_email_version
  update_email_metadata list_email_groups save_email_group delete_email_group audit_email get_email_audit test_email_rendering
  get_email_rendering create_inbox_placement_test get_inbox_placement_results send_email control_email_send get_email_analytics
  search_templates get_template list_flows save_automation get_automation list_automations delete_automation test_automation
  run_automation save_trigger list_triggers delete_trigger fire_trigger_event check_trigger get_trigger_contract
  set_trigger_contract infer_payload_contract list_trigger_events list_automation_runs cancel_automation_run control_audience_run
  create_audience create_audience_from_events delete_audience create_contact_field delete_contact_field delete_contacts
  import_contacts_csv save_contact search_contacts list_insights get_insight create_brand get_capabilities`);
same('56 tools', toolNames.length, 56);
same('the tools', tools.map((tool) => tool.name).sort(), [...toolNames].sort());

const destructive = words(`delete_email delete_email_group send_email control_email_send delete_automation run_automation delete_trigger
  fire_trigger_event cancel_automation_run control_audience_run delete_audience delete_contact_field delete_contacts`);
const readOnly = words(`get_email list_emails list_email_groups get_email_audit get_email_rendering get_inbox_placement_results
  get_email_analytics search_templates get_template list_flows get_automation list_automations list_triggers check_trigger
  get_trigger_contract infer_payload_contract list_trigger_events list_automation_runs search_contacts list_insights get_insight
  get_capabilities`);
for (const tool of tools) {
  if (destructive.includes(tool.name)) same(`${tool.name} is destructive`, tool.hints.destructive, true);
  same(`${tool.name} only reads`, tool.hints.readOnly, readOnly.includes(tool.name));
}
same('only create_brand is hidden from brands', tools.filter((tool) => tool.organization).map((tool) => tool.name), ['create_brand']);

// README.md gives the numbers of built and declared tools and routes.
const built = operations.filter((op) => op.built);
const builtIds = new Set(built.map((op) => op.id));
const builtRoutes = new Set(built.filter((op) => op.route).map((op) => op.route));
const builtTools = tools.filter((tool) => operationsOf(tool).some((id) => builtIds.has(id)));
const [, ...numbers] = /(\d+) of the (\d+) tools and (\d+) of the (\d+) routes work/.exec(readFileSync(join(root, 'README.md'), 'utf8')) ?? [];
same('the numbers in README.md', numbers.map(Number), [builtTools.length, tools.length, builtRoutes.size, routes.length]);

// Rule, policy, calls a minute, and every route it counts.
const rates = lines(`
  R-126 triggers.read 100 GET ${T}; GET ${T}/{triggerEventId}; GET ${T}/{triggerEventId}/readiness; GET ${T}/{triggerEventId}/contract
  R-126 triggers.write 60 POST ${T}; PATCH ${T}/{triggerEventId}; DELETE ${T}/{triggerEventId}; PUT ${T}/{triggerEventId}/contract
  R-127 automations.read 100 GET /v1/automations; GET /v1/automations/{automationId}
  R-127 automations.write 60 POST /v1/automations; PATCH /v1/automations/{automationId}; DELETE /v1/automations/{automationId}
  R-128 automation.runs.read 100 GET /v1/automations/runs; GET /v1/automations/runs/{automationRunId}
  R-128 automation.runs.write 60 POST /v1/automations/{automationId}/test
  R-129 emails.read 100 GET /v1/emails; GET /v1/emails/{emailId}
  R-130 emails.generate 20 POST /v1/emails; POST /v1/emails/import
  R-131 emails.edit 20 PATCH /v1/emails/{emailId}; DELETE /v1/emails/{emailId}; POST /v1/emails/{emailId}/restore
  R-132 sends.read 100 GET /v1/sends; GET /v1/sends/{sendId}
  R-132 sends.write 10 POST /v1/sends
  R-133 contacts.read 100 POST /v1/contacts/search
  R-134 contacts.write_single 100 PATCH /v1/contacts/{email}; DELETE /v1/contacts/{email}
  R-134 contacts.write_batch 10 POST /v1/contacts/batch-delete
  R-135 audiences.read 100 GET /v1/audiences; GET /v1/audiences/{audienceId}
  R-135 audiences.write 60 POST /v1/audiences; PATCH /v1/audiences/{audienceId}; DELETE /v1/audiences/{audienceId}
  R-136 domains.read 100 GET /v1/domains; GET /v1/domains/{domainId}
  R-136 domains.write 20 POST /v1/domains; PATCH /v1/domains/{domainId}; DELETE /v1/domains/{domainId}
  R-137 analytics.read 100 GET /v1/analytics/overview; GET /v1/analytics/events; GET /v1/insights; GET /v1/insights/{insightId}
  R-138 brand.read 100 GET /v1/brand
  R-138 brand.write 60 PATCH /v1/brand
  R-139 usage.read 100 GET /v1/usage
  R-139 fields.read 100 GET /v1/fields
  R-139 fields.write 100 POST /v1/fields; DELETE /v1/fields/{fieldName}
  R-139 templates.read 100 GET /v1/templates; GET /v1/templates/{templateId}
  R-140 content.generate 20 POST /v1/content/generate
  R-140 content.transform 20 POST /v1/content/transform`);
for (const line of rates) {
  const [, rule, policy, limit, counted] = line.match(/^(\S+) (\S+) (\d+) (.*)$/);
  same(`${rule}: limit of ${policy}`, policies.rates[policy], { limit: Number(limit), windowS: 60 });
  for (const route of counted.split('; '))
    for (const op of operations.filter((candidate) => candidate.route === route)) same(`${rule}: policy of ${op.id}`, op.policy, policy);
}
const one = (id) => operations.find((op) => op.id === id);
same('policy of a single contact', one('contacts.save').policy, 'contacts.write_single');
same('policy of a validated single contact', one('contacts.saveValidated').policy, 'contacts.write_single');
same('policy of a batch', one('contacts.saveBatch').policy, 'contacts.write_batch');
same('policy of a validated batch', one('contacts.saveBatchValidated').policy, 'contacts.write_batch');

// Route, cost in credits, kind.
for (const [route, cost, kind] of [
  ['POST /v1/content/html-to-png', 1, 'fixed'], ['POST /v1/content/gif', 10, 'fixed'], ['POST /v1/contacts/validate', 2, 'perItem'],
  ['POST /v1/emails/{emailId}/accessibility-audit', 5, 'fixed'], ['POST /v1/emails/{emailId}/client-previews', 10, 'fixed'],
  ['POST /v1/emails/{emailId}/inbox-placement-tests', 10, 'fixed'], ['POST /v1/emails', 1, 'metered'],
  ['POST /v1/emails/import', 1, 'metered'],
]) {
  const price = policies.prices[operations.find((op) => op.route === route).price];
  same(`cost of ${route}`, [price.credits, price.kind], [cost, kind]);
}
same('cost of optimize', policies.prices[one('content.optimize').price].credits, 1);
same('cost of resize', policies.prices[one('content.resize').price].credits, 2);
same('a figma import is free', one('emails.importFigma').price, undefined);
const readsThatCost = operations.filter((op) => op.route?.startsWith('GET ') && op.price);
same('reads are free but for the search by meaning', readsThatCost.map((op) => op.id), ['brand.searchImages']);

same('scopes', Object.keys(policies.scopes).sort(), words('all audiences automations brands contacts domains emails sends'));
same('emails includes sends, not brands', policies.scopes.emails.implies, ['sends']);
same('scope of creating a brand', [one('brands.create').scope, one('brands.create').organizationKey], ['brands', true]);
same('scope of events', one('analytics.events').scope, 'emails');
same('scope of insights', [one('insights.list').scope, one('insights.get').scope], ['emails', 'emails']);
same('usage takes any credential', [one('usage.read').scope, one('usage.read').reach], [undefined, 'organization']);
same('without a credential', operations.filter((op) => op.reach === 'public' && op.route).map((op) => op.id).sort(), ['health.read', 'help.read']);
same('only for sessions', operations.filter((op) => op.reach === 'session' && op.route).map((op) => op.route).sort(),
  ['DELETE /v1/api-keys/{keyId}', 'GET /v1/api-keys', 'POST /v1/api-keys']);
same('keys are never replayed', one('apiKeys.create').idempotencyKey, undefined);

// A filter of a caller, or a saved one, costs as much as its patterns and the texts of all contacts. What evaluates one for many contacts
// runs in the slow pool; with * only calls with such an argument do.
const slow = words(`audiences.create audiences.duplicate audiences.get audiences.list audiences.update audienceRuns.resume automations.create*dryRun
  automations.run automations.test automations.update*published*dryRun capabilities.audiences contacts.search sends.create*audienceId`);
for (const [id, ...slowWith] of slow.map((name) => name.split('*')))
  same(`${id} evaluates filters in the slow pool`, [one(id).pool, one(id).slowWith ?? []], slowWith.length ? [undefined, slowWith] : ['slow', []]);

same('the figures of all automations are slow', one('analytics.automations').pool, 'slow');

const codes = lines(`
  400 INVALID_REQUEST BRAND_ID_REQUIRED PAYLOAD_SCHEMA_EMAIL_REQUIRED INVALID_PAYLOAD AUTOMATION_GRAPH_INVALID
  401 AUTHENTICATION_REQUIRED INVALID_API_KEY API_KEY_REVOKED
  402 INSUFFICIENT_CREDITS
  403 INSUFFICIENT_PERMISSIONS BRAND_SCOPE_MISMATCH ORG_SCOPE_REQUIRED INSUFFICIENT_ROLE
  404 NOT_FOUND BRAND_NOT_FOUND TRIGGER_EVENT_NOT_FOUND TRIGGER_INSTANCE_NOT_FOUND AUTOMATION_NOT_FOUND AUTOMATION_VERSION_NOT_FOUND
  404 AUTOMATION_RUN_NOT_FOUND AUDIENCE_RUN_NOT_FOUND EMAIL_NOT_FOUND EMAIL_VERSION_NOT_FOUND SEND_NOT_FOUND DOMAIN_NOT_FOUND
  404 AUDIENCE_NOT_FOUND CONTACT_NOT_FOUND FLOW_NOT_FOUND
  405 METHOD_NOT_ALLOWED
  409 IDEMPOTENCY_CONFLICT TRIGGER_HAS_DEPENDENT_AUTOMATIONS PUBLISH_VALIDATION_FAILED EMAIL_IN_PROGRESS EMAIL_ALREADY_SENT
  409 SEND_NOT_CANCELLABLE
  422 BRAND_NOT_READY TRIGGER_IMMUTABLE NO_PUBLISHED_AUTOMATION AUTOMATION_NOT_PUBLISHED EMAIL_NOT_READY DOMAIN_NOT_READY
  429 RATE_LIMITED
  500 INTERNAL_ERROR
  501 NOT_IMPLEMENTED
  503 SERVICE_UNAVAILABLE`);
for (const line of codes) {
  const [status, ...names] = words(line);
  for (const name of names) same(`status of ${name}`, errors[name]?.status, Number(status));
}
same('RESPONSE_TOO_LARGE never appears over REST', errors.RESPONSE_TOO_LARGE.status, 0);
const types = { 401: 'authentication_error', 403: 'authorization_error', 404: 'not_found', 409: 'conflict', 429: 'rate_limit',
  500: 'internal_error', 501: 'not_implemented', 503: 'internal_error' };
for (const error of Object.values(errors)) same(`type of ${error.code}`, error.type, types[error.status] ?? 'invalid_request');

// Created, accepted, done.
for (const [id, status] of Object.entries({
  'brands.create': 201, 'contacts.save': 201, 'contacts.saveBatch': 200, 'contacts.search': 200, 'emails.create': 201, 'emails.import': 201,
  'emails.clone': 201, 'emailGroups.create': 201, 'sends.create': 202, 'sends.test': 200, 'sends.cancel': 200, 'automations.create': 201,
  'automations.run': 202, 'triggers.create': 201, 'triggers.fire': 202, 'fields.create': 201, 'audiences.create': 201, 'domains.create': 201,
  'apiKeys.create': 201,
})) same(`status of ${id}`, one(id).status, status);

console.log(`${checks} checks, ${failures} failed`);
process.exit(failures > 0 ? 1 : 0);
