// What texts name exists for their reader: the tools, arguments, values and topics in descriptions, instructions, prompts, helps
// and suggestions. A suggestion names no tool that the connection does not have, and no route.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadCatalogue } from '../../cases/runner/catalogue.mjs';
import { toolTransport } from '../../lib/brand_fixture.mjs';
import { installationFor } from '../../lib/installation.mjs';

const LIMIT = { timeout: 600_000 };
const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const NO_ROUTES = /\/v1\/|\b(?:GET|POST|PUT|PATCH|DELETE) \/|X-[A-Z][a-z]|include=/;
const catalogue = loadCatalogue(ROOT);
const installation = installationFor({ after });

/** Every text, name and value of a declaration: enums, operators in texts, names of members. */
function wordsOf(value, words = new Set()) {
  if (typeof value === 'string') for (const word of value.match(/[A-Za-z_]+/g) ?? []) words.add(word);
  else if (value !== null && typeof value === 'object') {
    for (const [name, member] of Object.entries(value)) {
      if (!Array.isArray(value)) words.add(name);
      if (name !== 'description' && name !== 'summary') wordsOf(member, words);
    }
  }
  return words;
}
const DECLARED = wordsOf([[...catalogue.operations.values()].filter(({ built }) => built), [...catalogue.resources.values()]]);
/** The operators of conditions and the filters of merge tags, which no schema declares. */
const namesIn = (path, pattern) => [...readFileSync(join(ROOT, path), 'utf8').matchAll(pattern)].map(([, name]) => name);
const OPERATORS = namesIn('src/engine/filters/filter_value.c', /^ *\{ "([a-z_]+)", VERB/gm);
const LIQUID_FILTERS = namesIn('src/template/filter.c', /TEMPLATE_FILTER_\w+\] = \{ "([a-z_]+)"/g);
const PROMPTS = namesIn('tools/mcp.json', /^      "name": "([a-z_]+)", *$/gm);
/** A custom field as a caller may write it. */
const CLIENTS = JSON.parse(readFileSync(join(ROOT, 'schemas/clients.json'), 'utf8')).map(({ id }) => id);
const EXAMPLES = [...PROMPTS, ...CLIENTS, 'plan_name'];
const WORDS = new Set([...DECLARED, ...OPERATORS, ...LIQUID_FILTERS, ...EXAMPLES]);
const TOOL_NAMES = new Set(catalogue.tools.map(({ name }) => name));

const ARGUMENTS = new Set([...catalogue.operations.values()].flatMap(({ path, query, body }) => Object.keys({ ...path, ...query, ...body })));

async function connect(...options) {
  const client = installation.stdio(...options);
  const { instructions } = await client.initialize();
  const transport = toolTransport(client);
  const tools = await transport.list();
  return { client, instructions, ...transport, tools, names: new Set(tools.map(({ name }) => name)) };
}

/** The names in a text that its reader does not have. */
function missingNames({ names, tools }, text) {
  const choices = new Set(tools.flatMap(({ inputSchema }) => Object.values(inputSchema.properties).flatMap((schema) => schema.enum ?? [])));
  const isMissing = (word) => (TOOL_NAMES.has(word) ? !names.has(word) : !WORDS.has(word) && !choices.has(word));
  const missing = [...text.matchAll(/\b[a-z]+(?:_[a-z]+)+\b/g)].map(([word]) => word).filter(isMissing);
  for (const [, word] of text.matchAll(/\bget_capabilities with topic ([a-z]+)\b/g)) {
    const topics = catalogue.operations.get('capabilities.get').query.topic.enum;
    if (!topics.includes(word)) missing.push(`topic ${word}`);
  }
  for (const [, tool, argument, value] of text.matchAll(/\b([a-z]+_[a-z_]+) with ([a-z][A-Za-z]+) ([a-z]+)\b/g)) {
    const schema = tools.find(({ name }) => name === tool)?.inputSchema.properties[argument];
    const values = schema?.enum ?? schema?.items?.enum ?? catalogue.operations.get('emails.get').query[argument]?.enum;
    const isArgument = ARGUMENTS.has(argument) || /[A-Z]/.test(argument); // send_email with the same arguments
    if ((!schema && isArgument) || (values && !values.includes(value))) missing.push(`${tool} with ${argument} ${value}`);
  }
  return missing;
}

const assertNames = (view, where, text) => assert.deepEqual(missingNames(view, text), [], `${where}: ${text}`);

for (const [what, options] of [['an organization', []], ['a brand', ['--brand', null]]]) {
  test(`every name in the texts that ${what} gets exists for it (R-417, R-468)`, LIMIT, async () => {
    const brand = (await installation.brandId());
    const view = await connect(...options.map((word) => word ?? brand));
    assertNames(view, 'instructions', view.instructions);
    for (const tool of view.tools) {
      assertNames(view, tool.name, tool.description);
      for (const [name, { description }] of Object.entries(tool.inputSchema.properties)) assertNames(view, `${tool.name} ${name}`, description ?? '');
      assertNames(view, `help of ${tool.name}`, (await view.call('get_capabilities', { tool: tool.name })).body.help);
    }
    const { body } = await view.call('get_capabilities');
    assertNames(view, 'overview', body.help);
    for (const topic of body.topics.filter((name) => name !== 'account')) {
      const help = (await view.call('get_capabilities', { topic })).body.help;
      assertNames(view, `topic ${topic}`, help);
      if (topic === 'errors') assert.doesNotMatch(help, NO_ROUTES, 'the suggestions of the topic errors');
    }
  });
}

// The page is made by the function that fills the registry, and generated_docs.sh compares it with the declarations.
test('the suggestions for assistants name tools and arguments that exist, and no route (R-417)', LIMIT, async () => {
  const view = await connect();
  const page = readFileSync(join(ROOT, 'docs/reference/errors.md'), 'utf8');
  const suggestions = [...page.matchAll(/^- To an assistant: (.*)$/gm)].map(([, text]) => text);
  assert.ok(suggestions.length > 30, `${suggestions.length} suggestions`);
  assert.ok(suggestions.some((text) => text.includes('list_emails')));
  for (const text of suggestions) {
    assertNames(view, 'suggestion', text);
    assert.doesNotMatch(text, NO_ROUTES);
  }
  for (const entry of page.split('\n## ').slice(1).filter((text) => !text.includes('- To an assistant:'))) {
    assert.doesNotMatch(entry, NO_ROUTES, 'a suggestion that all readers get');
  }
});

test('a suggestion names a tool only to a connection that has it, and a command on the command line (R-417)', LIMIT, async () => {
  const missing = { emailId: 'eml_0000000000000' };
  const suggestionTo = async (view) => (await view.call('get_email', missing)).body.error.suggestion;
  assert.equal(await suggestionTo(await connect()), 'Use an emailId of this brand; list_emails lists them.');
  assert.equal(await suggestionTo(await connect('--tools', 'get_email')), 'Use an emailId of this brand.');
  const { stderr } = await installation.run('emails', 'get', missing.emailId, '--output', 'json');
  assert.equal(JSON.parse(stderr).error.suggestion, 'Use an emailId of this brand; `posthorn emails list` lists them.');
  const called = await installation.run('call', 'get_email', JSON.stringify(missing));
  assert.equal(JSON.parse(called.stderr).error.suggestion, 'Use an emailId of this brand; list_emails lists them.');
});

test('a tool or topic that does not exist is answered with the nearest (R-417)', LIMIT, async () => {
  const view = await connect();
  const { error } = await view.client.request('tools/call', { name: 'search_contact', arguments: {} });
  assert.equal(error.message, 'There is no tool named search_contact; use search_contacts.');
  const about = await view.call('get_capabilities', { tool: 'send_emial' });
  assert.equal(about.body.error.suggestion, 'Use send_email.');
});

test('every resource of the list is read, and helps name no other one', LIMIT, async () => {
  const { client, read, call } = await connect('--brand', await installation.brandId());
  const { resources } = (await client.request('resources/list')).result;
  for (const { uri, mimeType } of resources) {
    const [content] = (await read(uri)).contents;
    assert.deepEqual([content.uri, content.mimeType], [uri, mimeType]);
    assert.equal(typeof JSON.parse(content.text), 'object');
  }
  const schema = JSON.parse((await read('posthorn://schemas/document')).contents[0].text);
  assert.ok(Object.keys(schema.properties).includes('blocks'));
  const { help } = (await call('get_capabilities', { topic: 'document' })).body;
  const named = [...help.matchAll(/posthorn:\/\/[a-z/]+/g)].map(([uri]) => uri);
  assert.deepEqual(named, ['posthorn://schemas/document']);
  assert.ok(resources.some(({ uri }) => uri === named[0]));
});
