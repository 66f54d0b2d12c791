// Runs tests/cases/<operation>/*.json through every transport that serves their operations, each case in a brand of its own, and
// compares: with what the case expects, with the declared shape of every answer, and transport with transport, byte by byte of the
// canonical body. Then the gates: every built operation and tool was called, and every declared error was produced.
//
//   run.mjs BINARY EMBEDDED_DRIVER DATA_DIR [CASE …]
//
// CASES_COMMAND_BIN is the binary of the command line and of the operator's process (default: BINARY). One without sanitizers
// starts several times faster; the servers, MCP over stdio and the embedded driver are BINARY's build, whatever it says.
import { appendFileSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { loadCatalogue, operationsOf, toolFor } from './catalogue.mjs';
import { canonical, difference, pointer } from './canonical.mjs';
import { checkedReplies, checkerOf } from '../../openapi/replies.mjs';
import { CommandLineTransport, EmbeddedTransport, McpHttpTransport, RestTransport, StdioTransport } from './transports.mjs';
import { fill } from './fill.mjs';
import { Places } from './places.mjs';
import { startServer } from './server.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const [binary, driver, data, ...only] = process.argv.slice(2);
// The cases know no DNS: nobody listens there.
process.env.POSTHORN_DNS_SERVERS = '127.0.0.1:1';
// Whom the cases send to is few; assistants are asked to confirm where it is more, or where nobody knows how many it will be.
process.env.POSTHORN_CONFIRM_ABOVE = '20';
const casesFolder = join(root, 'tests/cases');
const catalogue = loadCatalogue(root);
const judge = checkerOf(binary);
/** How much longer than on a free machine a step may take. */
const PATIENCE = 6;

// ---- The installation under test ----

const commands = process.env.CASES_COMMAND_BIN ?? binary;
const server = await startServer(binary, data);
const places = new Places(commands, data);

const local = (place) => ['--data', data, '--brand', place.brandId];
const TRANSPORTS = {
  mcp: (place) => new McpHttpTransport(catalogue, server.url, place.key),
  rest: (place) => new RestTransport(catalogue, server.url, place.credential, judge),
  stdio: (place) => new StdioTransport(catalogue, binary, local(place)),
  cli: (place) => new CommandLineTransport(catalogue, commands, local(place)),
  embedded: (place) => new EmbeddedTransport(catalogue, driver, [data, binary, place.brandId]),
};

// A case about a key of its own is for the transports that take keys; one about a session for the one that takes cookies.
function transportsOf(testCase) {
  const asked = testCase.transports ?? (testCase.key?.session ? ['rest'] : testCase.key ? ['mcp', 'rest'] : Object.keys(TRANSPORTS));
  return asked.filter((name) => testCase.steps.every(({ operation }) => {
    if (!operation) return true;
    if (name === 'mcp' || name === 'stdio') return toolFor(catalogue, operation) !== null;
    const { route, outside } = catalogue.operations.get(operation) ?? {};
    return name !== 'rest' || route || outside;
  }));
}

// ---- Declared shapes ----

const ajv = addFormats(new Ajv2020({ strict: false, allErrors: false }));
for (const [name, schema] of catalogue.resources) ajv.addSchema(schema, name);

// The shapes that the generator makes, such as that of the configs of nodes, are beside the binary.
const generated = JSON.parse(readFileSync(join(dirname(binary), 'generated/catalogue/openapi.json'), 'utf8')).components.schemas;
for (const name of Object.keys(generated).filter((name) => /Config$/.test(name) && !catalogue.resources.has(`${name}.json`))) {
  ajv.addSchema(generated[name], `${name}.json`);
}

// A success has the shape of the result, or of the operation's other success.
function shapesOf(transport, operation, answer) {
  if (!answer.ok) return ['errorEnvelope'];
  if (operation.confirmation && answer.body.status === 'confirmation_required') return [operation.confirmation];
  return [(transport.usesTools && operation.assistantResult) || operation.result, operation.also?.result].filter(Boolean);
}

function shapeProblem(transport, operation, answer) {
  const problems = [];
  for (const shape of shapesOf(transport, operation, answer)) {
    const validate = typeof shape === 'string' ? ajv.getSchema(`${shape}.json`) : ajv.compile(shape);
    if (!validate) return `no schema ${shape}`;
    if (validate(answer.body)) return null;
    problems.push(ajv.errorsText(validate.errors));
  }
  return `the answer breaks its declared shape: ${problems.join(' or ')}`;
}

// ---- Running ----

const produced = new Set();
const called = new Set();

function checkAnswer(transport, operation, expect, answer) {
  if (expect.error) {
    const found = difference({ error: expect.error }, answer.body);
    if (answer.ok || found) return `expected ${JSON.stringify(expect.error)}, got ${JSON.stringify(answer.body).slice(0, 2000)}`;
  } else if (!answer.ok) {
    return `refused: ${JSON.stringify(answer.body)}`;
  }
  if (expect.status && answer.status && answer.status !== expect.status) return `status ${answer.status} instead of ${expect.status}`;
  return (expect.body && difference(expect.body, answer.body)) || shapeProblem(transport, operation, answer);
}

const pause = (ms) => new Promise((settle) => setTimeout(settle, ms));

// All transports must answer alike: where an assistant is asked whether it means it, it does, unless the case is about the question.
async function callConfirmed(transport, operation, step, saved, expect) {
  const args = fill(step.args ?? {}, saved);
  const key = fill(step.idempotencyKey, saved);
  const answer = await transport.call(operation, args, key);
  const isAsked = answer.ok && operation.confirmation && answer.body.status === 'confirmation_required';
  if (!isAsked || expect.body?.status === 'confirmation_required') return answer;
  return transport.call(operation, { ...args, confirmationToken: answer.body.confirmationToken }, key);
}

// A step may be repeated until it says what is expected, for work that goes on behind an answer.
async function answerStep(transport, operation, step, saved, expect) {
  const deadline = Date.now() + (step.within ?? 0) * 1000 * PATIENCE;
  for (;;) {
    const answer = await callConfirmed(transport, operation, step, saved, expect);
    const problem = checkAnswer(transport, operation, expect, answer);
    if (!problem || Date.now() >= deadline) return { answer, problem };
    await pause(50);
  }
}

async function runThroughTransport(testCase, transport, place) {
  const { brandId, brandKey, domainId, organization, orgId } = place;
  const saved = { brandId, brandKey, domainId, organization, orgId, inAnHour: new Date(Date.now() + 3600000).toISOString() };
  const seen = new Map();
  const bodies = [];
  await transport.open();
  try {
    for (const [index, step] of testCase.steps.entries()) {
      if (!step.operation) {
        const body = await places.prepare(step, saved);
        for (const [name, path] of Object.entries(step.save ?? {})) saved[name] = pointer(body, path);
        bodies.push(null);
        continue;
      }
      const operation = catalogue.operations.get(step.operation);
      const expect = fill((transport.usesTools && step.assistantExpect) || step.expect || {}, saved);
      const { answer, problem } = await answerStep(transport, operation, step, saved, expect);
      called.add(operation.id);
      if (transport.usesTools) called.add(toolFor(catalogue, operation.id).tool.name);
      if (!answer.ok) produced.add(`${operation.id} ${answer.body.error?.code}`);
      if (problem) throw new Error(`step ${index + 1} (${step.operation}): ${problem}`);
      for (const [name, path] of Object.entries(step.save ?? {})) saved[name] = pointer(answer.body, path);
      const reach = toolFor(catalogue, operation.id);
      // A body that is not compared names its ids too, so that those behind it get the same names through every transport.
      const body = canonical(answer.body, seen);
      const differs = transport.usesTools && (operation.assistantResult || reach.tool.default || reach.tool.fixed);
      bodies.push(differs || step.varies !== undefined ? null : body);
    }
  } finally {
    await transport.close();
  }
  return bodies;
}

function compareTransports(results) {
  const [first, ...others] = results;
  for (const other of others) {
    for (let i = 0; i < first.bodies.length; i++) {
      const [left, right] = [first.bodies[i], other.bodies[i]];
      if (left !== null && right !== null && left !== right) return `step ${i + 1}: ${first.name} and ${other.name} differ:\n    ${left}\n    ${right}`;
    }
  }
  return null;
}

/** Each transport has a brand of its own, so all of them work at once, except where `sequential` says why they cannot. */
async function runTransports(names, runOne, isSequential) {
  if (!isSequential) return Promise.allSettled(names.map(runOne));
  const runs = [];
  for (const name of names) runs.push(...(await Promise.allSettled([runOne(name)])));
  return runs;
}

async function runCase(testCase) {
  const names = transportsOf(testCase);
  const needsBrandKey = JSON.stringify(testCase.steps).includes('${brandKey}');
  const runOne = async (name) => {
    const place = await places.make(testCase.key, needsBrandKey);
    return { name, bodies: await runThroughTransport(testCase, TRANSPORTS[name](place), place) };
  };
  const runs = await runTransports(names, runOne, testCase.sequential !== undefined);
  const failed = runs.findIndex(({ status }) => status === 'rejected');
  if (failed >= 0) return `${names[failed]}: ${runs[failed].reason.message}`;
  return runs.length === 0 ? 'no transport serves this case' : compareTransports(runs.map(({ value }) => value));
}

// ---- Gates ----

function gates() {
  const missing = [];
  for (const operation of catalogue.operations.values()) {
    if (!operation.built) continue;
    if (!called.has(operation.id)) missing.push(`operation ${operation.id} was never called`);
    for (const code of operation.errors ?? []) {
      if (!produced.has(`${operation.id} ${code}`)) missing.push(`error ${code} of ${operation.id} was never produced`);
    }
  }
  for (const tool of catalogue.tools) {
    const built = operationsOf(tool).some((id) => catalogue.operations.get(id)?.built);
    if (built && !called.has(tool.name)) missing.push(`tool ${tool.name} was never called`);
  }
  return missing;
}

function findCases() {
  const files = readdirSync(casesFolder, { recursive: true }).filter((file) => file.endsWith('.json') && !file.startsWith('runner'));
  return files.sort().map((file) => ({ file, ...JSON.parse(readFileSync(join(casesFolder, file), 'utf8')) }));
}

/** Into TEST_TIMES, from which the runner of the suite takes the slowest tests. */
function noteTime(line) {
  if (process.env.TEST_TIMES) appendFileSync(process.env.TEST_TIMES, `${JSON.stringify(line)}\n`);
}

let passed = 0;
let failed = 0;
const report = (problem, what) => {
  if (problem) console.log(`FAILED ${what}\n    ${problem}`);
  problem ? failed++ : passed++;
};
try {
  for (const testCase of findCases()) {
    if (only.length > 0 && !only.some((name) => testCase.file.includes(name))) continue;
    const startedAt = performance.now();
    const problem = await runCase(testCase);
    report(problem, `${testCase.file}: ${testCase.name}`);
    noteTime({ name: testCase.file, seconds: (performance.now() - startedAt) / 1000, ok: !problem });
  }
  if (only.length === 0) report(checkedReplies() === 0 && 'no answer of REST was held against OpenAPI', relative(root, casesFolder));
  if (only.length === 0) for (const problem of gates()) report(problem, relative(root, casesFolder));
} finally {
  await places.close();
  await server.stop();
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
