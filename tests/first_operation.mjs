// What must have come of docs/first-operation.md, which tests/pages.mjs follows: the new operation is there over every transport and
// in all that is generated.
import assert from 'node:assert/strict';
import { COPY, read, run } from './pages/follow_page.mjs';

export const PAGE = 'docs/first-operation.md';

// What the page says is added.
const OPERATION = 'contacts.countBySource';
const TOOL = 'count_contact_sources';
const PATH = '/v1/contacts/sources';

// ---- What must have come of it ----

const CONTACTS = [{ email: 'ada@example.com', source: 'fair' }, { email: 'bob@example.com', source: 'fair', subscribed: false }];
const ANSWER = { data: [{ source: 'fair', contacts: 2, subscribed: 1 }] };

/** The documents and tables that the suite compares are those of the new tree. */
function checkGenerated() {
  assert.match(read('docs/reference/operations.md'), new RegExp(`### ${OPERATION}\n\n\`GET ${PATH}\``));
  assert.match(read('docs/reference/tools.md'), new RegExp(`## ${TOOL}\n`));
  assert.equal(JSON.parse(read(`tests/snapshots/${TOOL}.json`)).name, TOOL);
  run(`. tests/node22.sh
    "$NODE" tests/unit/codegen/docs.mjs build/first/posthorn-catalogue .
    "$NODE" tests/unit/codegen/contract.mjs .
    "$NODE" tests/includes.mjs
    "$NODE" tests/requirements.mjs
    "$NODE" tests/snapshots.mjs build/first/posthorn`);
}

/** A case runs over the transports that serve its operations: it must be all of them. */
async function checkCaseServed() {
  const { loadCatalogue, toolFor } = await import('./cases/runner/catalogue.mjs');
  const catalogue = loadCatalogue(COPY);
  assert.equal(catalogue.operations.get(OPERATION).route, `GET ${PATH}`);
  assert.equal(toolFor(catalogue, OPERATION).tool.name, TOOL);
}

/** Looks for the operation in a running installation of the copy. */
export async function checkTransports(installation, server) {
  const { McpHttpClient } = await import('./lib/mcp_http_client.mjs');
  const { restTransport, stdioTransport, toolTransport } = await import('./lib/brand_fixture.mjs');
  const brandId = await installation.brandId();
  const http = server.client(await installation.key('--brand', brandId));
  const rest = restTransport(http);
  assert.equal((await rest.call('POST', '/v1/contacts', { contacts: CONTACTS })).status, 200);

  const overRest = await rest.call('GET', `${PATH}?limit=5`);
  assert.equal(overRest.status, 200);
  assert.deepEqual(overRest.body, ANSWER);
  assert.equal((await server.client().get(PATH)).status, 401, 'the route asks for a credential');

  for (const transport of [await stdioTransport(installation), toolTransport(new McpHttpClient(http))]) {
    const tool = (await transport.list()).find(({ name }) => name === TOOL);
    assert.ok(tool, 'tools/list shows the tool');
    assert.equal(tool.annotations.readOnlyHint, true);
    assert.equal(tool.inputSchema.properties.limit.maximum, 100);
    assert.deepEqual((await transport.call(TOOL)).body, ANSWER);
  }
  for (const name of [OPERATION, TOOL]) assert.deepEqual(await installation.call(name, { limit: 5 }), ANSWER);

  const { body: openapi } = await rest.call('GET', '/openapi.json');
  assert.ok(openapi.paths[PATH].get, 'OpenAPI describes the route');
  const { body: help } = await rest.call('GET', '/v1/help');
  assert.ok(JSON.stringify(help.endpoints).includes(PATH), 'GET /v1/help lists the route');
}

/** Looks at the output of the page's commands and at the generated files. */
export async function checkPage({ blocks, printed }) {
  for (const action of ['create', 'append', 'change', 'run']) assert.ok(blocks.some((block) => block.action === action), `the page has no ${action}`);
  assert.ok(printed.some((text) => /^1 passed, 0 failed$/m.test(text)), 'the case of the page passed');
  assert.ok(printed.some((text) => text.includes('{"data":[{"source":"fair","contacts":1,"subscribed":1}]}')), 'the call by hand answers as the page says');
  checkGenerated();
  await checkCaseServed();
}
