// What every SDK client asks of the server once it is connected. The client itself checks each reply against its schemas,
// and structuredContent against the tool's outputSchema; what is asserted here is what only we promise.

import assert from 'node:assert/strict';

const INSTRUCTIONS_LIMIT_BYTES = 2048;
const TOOL_NAME = /^[a-z][a-z0-9_]{0,39}$/;
const INVALID_PARAMS = -32602;
const ADA_FILTER = { logic: 'and', filters: [{ field: 'email', operator: 'equals', value: 'ada@example.com' }] };

/** Drives `client` (connected) through everything; `era` is legacy or modern. */
export async function tour(report, label, client, era) {
  const check = (what, body) => report.check(`${label}: ${what}`, body);

  await check('says who it is and what it offers', () => identity(client));
  await toolChecks(check, client);
  await resourceChecks(check, client, era);
  await promptChecks(check, client);
  if (era === 'legacy') await check('ping is answered', () => client.ping());
}

async function identity(client) {
  const info = client.getServerVersion();
  assert.ok(info?.name && info?.version, `serverInfo is ${JSON.stringify(info)}`);

  const capabilities = client.getServerCapabilities();
  for (const name of ['tools', 'resources', 'prompts', 'completions']) {
    assert.ok(capabilities?.[name], `no ${name} capability`);
  }

  const instructions = client.getInstructions();
  assert.ok(instructions, 'no instructions');
  assert.ok(Buffer.byteLength(instructions) <= INSTRUCTIONS_LIMIT_BYTES, 'instructions are longer than hosts keep');
}

async function toolChecks(check, client) {
  await check('every tool has a title and explicit hints', async () => {
    const { tools } = await client.listTools();
    assert.ok(tools.length >= 3, `only ${tools.length} tools`);
    for (const tool of tools) toolIsWellFormed(tool);
  });

  await check('get_capabilities answers', async () => {
    succeeded(await client.callTool({ name: 'get_capabilities', arguments: {} }));
  });

  await check('save_contact saves', async () => {
    const call = { name: 'save_contact', arguments: { email: 'ada@example.com', firstName: 'Ada' } };
    succeeded(await client.callTool(call));
  });

  await check('search_contacts finds what was saved', async () => {
    const found = await client.callTool({ name: 'search_contacts', arguments: { filters: ADA_FILTER } });
    assert.match(succeeded(found), /ada@example\.com/);
    assert.match(JSON.stringify(found.structuredContent), /ada@example\.com/);
  });

  await check('a number and an object sent as text are understood', async () => {
    const args = { filters: JSON.stringify(ADA_FILTER), limit: '5' };
    assert.match(succeeded(await client.callTool({ name: 'search_contacts', arguments: args })), /ada@example\.com/);
  });

  await check('a bad argument is an error result that names it', async () => {
    const result = await client.callTool({ name: 'search_contacts', arguments: { limit: 'many' } });
    assert.equal(result.isError, true);
    assert.equal(result.structuredContent, undefined);
    const { error } = JSON.parse(result.content[0].text);
    assert.equal(error.code, 'INVALID_REQUEST');
    assert.equal(error.param, 'limit');
  });

  await check('an unknown tool is a protocol error', () =>
    rejectsWith(INVALID_PARAMS, client.callTool({ name: 'no_such_tool', arguments: {} })));
}

async function resourceChecks(check, client, era) {
  await check('the first listed resource can be read', async () => {
    const { resources } = await client.listResources();
    assert.ok(resources.length > 0, 'no resources');
    const { contents } = await client.readResource({ uri: resources[0].uri });
    assert.ok(contents.length > 0, 'no contents');
    assert.ok(contents[0].text || contents[0].blob, 'contents without text or blob');
  });

  await check('resource templates are listed', async () => {
    const { resourceTemplates } = await client.listResourceTemplates();
    for (const template of resourceTemplates) assert.match(template.uriTemplate, /\{\w+\}/);
  });

  // Before 2026-07-28 the code for this was another, so only the modern era is held to it.
  if (era === 'modern') {
    await check('an unknown resource is a protocol error', () =>
      rejectsWith(INVALID_PARAMS, client.readResource({ uri: 'posthorn://no/such/resource' })));
  }
}

async function promptChecks(check, client) {
  const prompts = await check('prompts are listed with descriptions', async () => {
    const listed = (await client.listPrompts()).prompts;
    assert.ok(listed.length > 0, 'no prompts');
    for (const prompt of listed) assert.ok(prompt.description, `${prompt.name} has no description`);
    return listed;
  });
  if (!prompts) return;

  await check('a prompt can be had', async () => {
    const prompt = prompts[0];
    const args = Object.fromEntries((prompt.arguments ?? []).map((argument) => [argument.name, 'spring news']));
    const { messages } = await client.getPrompt({ name: prompt.name, arguments: args });
    assert.ok(messages.length > 0, 'no messages');
  });

  await check('an argument of a prompt is completed', async () => {
    const prompt = prompts.find((candidate) => candidate.arguments?.length > 0);
    assert.ok(prompt, 'no prompt has an argument');
    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: prompt.name },
      argument: { name: prompt.arguments[0].name, value: '' },
    });
    assert.ok(Array.isArray(completion.values), 'no values');
  });
}

function toolIsWellFormed(tool) {
  assert.match(tool.name, TOOL_NAME);
  assert.ok(tool.description, `${tool.name} has no description`);
  assert.ok(tool.title || tool.annotations?.title, `${tool.name} has no title`);
  assert.equal(typeof tool.annotations?.readOnlyHint, 'boolean', `${tool.name} has no readOnlyHint`);
  assert.equal(typeof tool.annotations?.destructiveHint, 'boolean', `${tool.name} has no destructiveHint`);
}

/** The text of a result that is not an error. */
function succeeded(result) {
  const text = result.content.map((block) => block.text ?? '').join('\n');
  assert.notEqual(result.isError, true, text);
  assert.ok(text, 'a result without text');
  return text;
}

async function rejectsWith(code, promise) {
  const error = await promise.then(
    (value) => assert.fail(`answered ${JSON.stringify(value).slice(0, 200)}`),
    (reason) => reason,
  );
  assert.equal(error.code, code, error.message);
}
