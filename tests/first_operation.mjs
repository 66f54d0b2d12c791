// Follows docs/first-operation.md to the letter, in a copy of the source tree at build/first-operation: creates, appends and
// changes the files as its blocks say, runs its commands, and then looks for the new operation over every transport and in all that
// is generated. Takes the time of one build.
//
//   first_operation.mjs
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const COPY = join(ROOT, 'build/first-operation');
const PAGE = 'docs/first-operation.md';
const COMMAND_LIMIT_MS = 300_000;

// What the page says is added.
const OPERATION = 'contacts.countBySource';
const TOOL = 'count_contact_sources';
const PATH = '/v1/contacts/sources';

// ---- The copy ----

/** What npm installed is not part of the tree, but what it installs is pinned: the copy shares it. */
const INSTALLED = ['build/node', 'src/render/sidecar/node_modules', 'src/mail/lists/node_modules', 'tests/cases/runner/node_modules',
  'tests/openapi/node_modules'];

function copyTree() {
  rmSync(COPY, { recursive: true, force: true });
  const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT, maxBuffer: 1 << 26 });
  for (const file of list.toString().split('\0').filter((name) => name !== '' && existsSync(join(ROOT, name))))
    cpSync(join(ROOT, file), join(COPY, file), { verbatimSymlinks: true });
  for (const folder of INSTALLED.filter((name) => existsSync(join(ROOT, name)))) {
    mkdirSync(dirname(join(COPY, folder)), { recursive: true });
    symlinkSync(join(ROOT, folder), join(COPY, folder));
  }
}

// ---- The blocks of the page ----

/** The blocks that are to be followed, in order: {language, file?, action, text}. Every other block is only shown. */
function readBlocks(page) {
  const fences = page.matchAll(/^```(\w+) (?:file=(\S+) (create|append|change)|(run))\n(.*?)^```$/gms);
  return [...fences].map(([, language, file, action, run, text]) => ({ language, file, action: action ?? run, text }));
}

function appendTo(path, { language, text }) {
  const before = readFileSync(path, 'utf8');
  if (language !== 'json') return before + text;
  const items = before.trimEnd();
  assert.ok(items.endsWith(']'), `${path} is no JSON list`);
  return `${items.slice(0, -1).trimEnd()},\n${text}]\n`;
}

/** A diff whose hunks are found by their lines alone. */
function changed(path, { text }) {
  const hunks = text.split(/^@@.*\n/m).filter((hunk) => hunk !== '');
  return hunks.reduce((content, hunk) => {
    const side = (mark) => hunk.split('\n').filter((line) => line[0] === ' ' || line[0] === mark).map((line) => `${line.slice(1)}\n`).join('');
    assert.equal(content.split(side('-')).length, 2, `${path} must hold these lines once:\n${side('-')}`);
    return content.replace(side('-'), () => side('+'));
  }, readFileSync(path, 'utf8'));
}

function run(command) {
  // The tests of the suite say which binary they want; the page's commands name theirs.
  const environment = { ...process.env };
  for (const name of Object.keys(environment).filter((key) => key.startsWith('POSTHORN_'))) delete environment[name];
  const hasCcache = environment.PATH.split(':').some((folder) => existsSync(join(folder, 'ccache')));
  if (hasCcache) environment.CMAKE_C_COMPILER_LAUNCHER = 'ccache';
  const output = execFileSync('bash', ['-euo', 'pipefail', '-c', command],
    { cwd: COPY, env: environment, encoding: 'utf8', maxBuffer: 1 << 26, timeout: COMMAND_LIMIT_MS, stdio: ['ignore', 'pipe', 'inherit'] });
  process.stdout.write(output);
  return output;
}

/** Does what a block says; gives what a command printed. */
function follow(block) {
  if (block.action === 'run') return run(block.text);
  const path = join(COPY, block.file);
  console.log(`# ${block.action} ${block.file}`);
  assert.equal(existsSync(path), block.action !== 'create', `${block.action} ${block.file}`);
  mkdirSync(dirname(path), { recursive: true });
  if (block.action === 'append') writeFileSync(path, appendTo(path, block));
  else writeFileSync(path, block.action === 'change' ? changed(path, block) : block.text);
  return '';
}

/** A command that failed may have left the runner of its data folder behind. */
function stopRunners() {
  const build = join(COPY, 'build/first');
  const folders = existsSync(build) ? readdirSync(build).filter((name) => existsSync(join(build, name, 'runner.pid'))) : [];
  for (const name of folders) execFileSync(join(build, 'posthorn'), ['stop', '--data', join(build, name)]);
}

// ---- What must have come of it ----

const read = (file) => readFileSync(join(COPY, file), 'utf8');
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

async function checkTransports(installation, server) {
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

// ---- The test ----

copyTree();
const blocks = readBlocks(read(PAGE));
for (const action of ['create', 'append', 'change', 'run']) assert.ok(blocks.some((block) => block.action === action), `the page has no ${action}`);
let printed;
try {
  printed = blocks.map(follow);
} finally {
  stopRunners();
}
assert.ok(printed.some((text) => /^1 passed, 0 failed$/m.test(text)), 'the case of the page passed');
assert.ok(printed.some((text) => text.includes('{"data":[{"source":"fair","contacts":1,"subscribed":1}]}')), 'the call by hand answers as the page says');
checkGenerated();
await checkCaseServed();

process.env.POSTHORN_BIN = join(COPY, 'build/first/posthorn');
const { Installation } = await import('./lib/installation.mjs');
const installation = new Installation();
let orphans;
try {
  await checkTransports(installation, await installation.serve());
} finally {
  orphans = await installation.dispose();
}
assert.deepEqual(orphans, []);
console.log(`${blocks.length} blocks of ${PAGE} followed: passed`);
