// An assistant finds its way with what the server says: its brands, the tools that work, and what to use in place of the others.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { transportsOfKey, makePlace, must, stdioTransport } from '../../lib/brand_fixture.mjs';
import { prepareSend, saveContacts } from '../../lib/campaign.mjs';
import { installationFor } from '../../lib/installation.mjs';

const LIMIT = { timeout: 600_000 };

const installation = installationFor({ after });
let server;

before(async () => {
  server = await installation.serve();
});

test('R-421: an organization connection enters the brand that it has created', LIMIT, async () => {
  const { mcp } = transportsOfKey(server, await installation.key());
  const brand = await must(mcp.call('create_brand', { name: 'Entered' }));
  assert.match(brand.enter, /pass its brandId/);

  const refused = await mcp.call('save_contact', { email: 'ada@example.com' });
  assert.equal(refused.body.error.code, 'BRAND_ID_REQUIRED');
  await must(mcp.call('save_contact', { email: 'ada@example.com', brandId: brand.brandId }));
  const { data } = await must(mcp.call('search_contacts', { brandId: brand.brandId }));
  assert.deepEqual(data.map(({ email }) => email), ['ada@example.com']);
  assert.equal((await mcp.call('search_contacts', {})).body.error.code, 'BRAND_ID_REQUIRED', 'no brand is remembered');
  const listed = await must(mcp.call('get_capabilities', { topic: 'brands' }));
  assert.ok(listed.data.some(({ brandId }) => brandId === brand.brandId));
  assert.equal((await must(mcp.call('get_capabilities', { topic: 'account', brandId: brand.brandId }))).brand.brandId, brand.brandId);

  const unknown = await mcp.call('search_contacts', { brandId: 'brd_nonsense' });
  assert.equal(unknown.body.error.code, 'BRAND_NOT_FOUND');
  const argumentsOf = (tools, name) => Object.keys(tools.find((tool) => tool.name === name).inputSchema.properties);
  const tools = await mcp.list();
  assert.ok(argumentsOf(tools, 'save_contact').includes('brandId'));
  assert.ok(!argumentsOf(tools, 'create_brand').includes('brandId'), 'it works in no brand');
});

test('R-421: a connection of a brand does not leave it', LIMIT, async () => {
  const place = await makePlace(installation, server);
  const other = await makePlace(installation, server);
  await must(other.mcp.call('save_contact', { email: 'other@example.com' }));
  const organizationKey = await installation.key();
  const bound = [
    place.mcp,
    transportsOfKey(server, organizationKey, { 'x-brand-id': place.brandId }).mcp,
    await stdioTransport(installation, '--brand', place.brandId),
  ];
  for (const mcp of bound) {
    const { ok, body } = await mcp.call('search_contacts', { brandId: other.brandId });
    assert.deepEqual([ok, body.error?.code], [false, 'BRAND_SCOPE_MISMATCH']);
    await must(mcp.call('search_contacts', { brandId: place.brandId }));
    const tools = await mcp.list();
    assert.ok(tools.every(({ inputSchema }) => !('brandId' in inputSchema.properties)));
  }
});

test('a tool that does not work is not listed, and says what to use', LIMIT, async () => {
  const { mcp } = await makePlace(installation, server);
  const listed = new Set((await mcp.list()).map(({ name }) => name));
  const { toolsets } = await must(mcp.call('get_capabilities', { detail: 'full' }));
  assert.deepEqual([...listed].sort(), toolsets.flatMap(({ tools }) => tools).sort());
  for (const name of toolsets.flatMap(({ notAvailable }) => notAvailable)) {
    assert.ok(!listed.has(name));
    const { tools: [help] } = await must(mcp.call('get_capabilities', { tool: name }));
    assert.equal(help.available, false);
    const named = help.instead.match(/[a-z]+(_[a-z]+)+/g).filter((word) => listed.has(word));
    assert.ok(named.length > 0, `${name}: ${help.instead}`);
    const { ok, body } = await mcp.call(name);
    assert.equal(ok, false);
    if (name !== 'export_email') assert.ok(body.error.code === 'NOT_IMPLEMENTED' && body.error.message.includes(help.instead));
  }
});

/** A stdio client of 2025-11-25 that shows forms and answers them as `answer` says. */
async function formClient(place, answer) {
  const client = installation.stdio('--brand', place.brandId);
  await client.initialize({ elicitation: { form: {} } });
  return async (order) => {
    const result = client.request('tools/call', { name: 'send_email', arguments: order });
    const question = await client.asked('elicitation/create');
    await client.write(`${JSON.stringify({ jsonrpc: '2.0', id: question.id, result: answer })}\n`);
    return { question, result: (await result).result.structuredContent };
  };
}

test('R-101: a client of 2025-11-25 asks the user during the call', LIMIT, async () => {
  const place = await makePlace(installation, server);
  await saveContacts(place.mcp.call, 'reader', 4);
  const order = await prepareSend(place.mcp.call);

  const declining = await formClient(place, { action: 'decline' });
  const declined = await declining(order);
  assert.match(declined.question.params.message, /4/);
  assert.equal(declined.question.params.requestedSchema.type, 'object');
  assert.equal(declined.result.status, 'not_sent');
  assert.deepEqual((await must(place.rest.call('GET', '/v1/sends'))).data, []);

  const accepting = await formClient(place, { action: 'accept', content: { send: true } });
  const { result } = await accepting(order);
  assert.ok(result.sendId);
  assert.equal((await must(place.rest.call('GET', '/v1/sends'))).data.length, 1);
});
