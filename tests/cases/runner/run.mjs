// Runs tests/cases/<operation>/*.json through every door that serves their operations, each case in a brand of its own, and
// compares: with what the case expects, with the declared shape of every answer, and door with door, byte by byte of the
// canonical body. Then the gates: every built operation and tool was called, and every declared error was produced.
//
//   run.mjs BINARY EMBEDDED_DRIVER DATA_DIR [CASE …]
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { loadCatalogue, operationsOf, toolFor } from './catalogue.mjs';
import { canonical, difference, pointer } from './canonical.mjs';
import { checkedReplies, checkerOf } from '../../openapi/replies.mjs';
import { CommandLineDoor, EmbeddedDoor, McpHttpDoor, RestDoor, StdioDoor } from './doors.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const [binary, driver, data, ...only] = process.argv.slice(2);
// The cases know no DNS: nobody listens there.
process.env.POSTHORN_DNS_SERVERS = '127.0.0.1:1';
// Whom the cases send to is few; assistants are asked to confirm where it is more, or where nobody knows how many it will be.
process.env.POSTHORN_CONFIRM_ABOVE = '20';
const casesFolder = join(root, 'tests/cases');
const catalogue = loadCatalogue(root);
const judge = checkerOf(binary);
const LISTEN = `127.0.0.1:${20000 + (process.pid % 12000)}`; // below the ports that connections are given
/** How much longer than on a free machine a step may take. */
const PATIENCE = 6;

// ---- The installation under test ----

// The operator's commands make thousands of places, so a build that starts faster may stand in for them.
const operator = process.env.POSTHORN_OPERATOR ?? binary;
const admin = (...words) => JSON.parse(execFileSync(operator, ['admin', ...words, '--data', data]).toString());

let organizations = 0;

// A brand with a key; `wanted.ownOrganization` puts it into an organization of its own, whose plan a case may change. Instead of
// a key a person may be signed in, as `wanted.session` admin or member; `wanted.brands` are the brands of a member.
function makePlace(wanted) {
  const organization = wanted?.ownOrganization ? `Cases ${++organizations}` : undefined;
  const into = organization ? ['--org', admin('org', 'create', organization).orgId] : [];
  const { brandId } = admin('brand', 'create', 'Cases', ...into);
  const { domainId } = admin('domain', 'list', '--brand', brandId).data[0];
  const place = { brandId, domainId, organization, orgId: into[1] };
  if (wanted?.session) {
    const brands = wanted.brands === 'own' ? ['--brand', brandId] : [];
    const { cookie } = admin('session', 'create', '--role', wanted.session, '--name', 'Cases', ...into, ...brands);
    const named = wanted.organization ? {} : { 'x-brand-id': brandId };
    return { ...place, credential: { cookie: `__session=${cookie}`, ...named } };
  }
  const options = ['key', 'create', '--scopes', wanted?.scopes ?? 'all', '--rate-multiplier', String(wanted?.rateMultiplier ?? 100000)];
  if (!wanted?.organization) options.push('--brand', brandId);
  const { key } = admin(...options);
  return { ...place, key, credential: { 'x-api-key': key } };
}

// A step that is no call: `admin` is a command of the operator, `sql` brings a state that only time or load would bring.
let databaseUrl;

function setTheStage(step, saved) {
  if (step.admin) return admin(...fill(step.admin, saved));
  databaseUrl ??= JSON.parse(execFileSync(binary, ['doctor', '--data', data]).toString()).database.url;
  execFileSync('psql', [databaseUrl, '-qX', '-v', 'ON_ERROR_STOP=1', '-c', 'set search_path to posthorn', '-c', fill(step.sql, saved)]);
  return {};
}

async function startServer() {
  const server = spawn(binary, ['serve', '--data', data, '--listen', LISTEN, '--log-level', 'error'], { stdio: ['ignore', 'ignore', 'inherit'] });
  for (let tries = 0; tries < 600; tries++) {
    const answer = await fetch(`http://${LISTEN}/v1/health`).catch(() => null);
    if (answer?.ok) return server;
    if (server.exitCode !== null) break;
    await new Promise((settle) => setTimeout(settle, 100));
  }
  throw new Error('the server did not start');
}

const local = (place) => ['--data', data, '--brand', place.brandId];
const DOORS = {
  mcp: (place) => new McpHttpDoor(catalogue, `http://${LISTEN}`, place.key),
  rest: (place) => new RestDoor(catalogue, `http://${LISTEN}`, place.credential, judge),
  stdio: (place) => new StdioDoor(catalogue, binary, local(place)),
  cli: (place) => new CommandLineDoor(catalogue, binary, local(place)),
  embedded: (place) => new EmbeddedDoor(catalogue, driver, [data, binary, place.brandId]),
};

// A case about a key of its own is for the doors that take keys; one about a session for the one that takes cookies.
function doorsOf(testCase) {
  const asked = testCase.doors ?? (testCase.key?.session ? ['rest'] : testCase.key ? ['mcp', 'rest'] : Object.keys(DOORS));
  return asked.filter((name) => testCase.steps.every(({ operation }) => {
    if (!operation) return true;
    if (name === 'mcp' || name === 'stdio') return toolFor(catalogue, operation) !== null;
    return name !== 'rest' || catalogue.operations.get(operation)?.route;
  }));
}

// ---- Declared shapes ----

const ajv = addFormats(new Ajv2020({ strict: false, allErrors: false }));
for (const [name, schema] of catalogue.resources) ajv.addSchema(schema, name);

function shapeProblem(operation, answer) {
  const asked = answer.ok && operation.confirmation && answer.body.status === 'confirmation_required';
  const result = asked ? operation.confirmation : answer.ok ? operation.result : 'errorEnvelope';
  const validate = typeof result === 'string' ? ajv.getSchema(`${result}.json`) : ajv.compile(result);
  if (!validate) return `no schema ${result}`;
  return validate(answer.body) ? null : `the answer breaks its declared shape: ${ajv.errorsText(validate.errors)}`;
}

// ---- Running ----

const produced = new Set();
const called = new Set();

function fill(value, saved) {
  if (typeof value === 'string') {
    const whole = value.match(/^\$\{(\w+)\}$/);
    if (whole) return saved[whole[1]];
    return value.replace(/\$\{(\w+)\}/g, (_, name) => saved[name]);
  }
  if (Array.isArray(value)) return value.map((item) => fill(item, saved));
  if (value !== null && typeof value === 'object') {
    if (typeof value.$repeat === 'string') return value.$repeat.repeat(value.times);
    if (Array.isArray(value.$repeat)) return Array.from({ length: value.times }, () => value.$repeat).flat();
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, fill(item, saved)]));
  }
  return value;
}

function checkAnswer(door, operation, expect, answer) {
  if (expect.error) {
    const found = difference({ error: expect.error }, answer.body);
    if (answer.ok || found) return `expected ${JSON.stringify(expect.error)}, got ${JSON.stringify(answer.body).slice(0, 400)}`;
  } else if (!answer.ok) {
    return `refused: ${JSON.stringify(answer.body)}`;
  }
  if (expect.status && answer.status && answer.status !== expect.status) return `status ${answer.status} instead of ${expect.status}`;
  return (expect.body && difference(expect.body, answer.body)) || shapeProblem(operation, answer);
}

const pause = (ms) => new Promise((settle) => setTimeout(settle, ms));

// All doors must answer alike: where an assistant is asked whether it means it, it does, unless the case is about the question.
async function callConfirmed(door, operation, step, saved, expect) {
  const args = fill(step.args ?? {}, saved);
  const key = fill(step.idempotencyKey, saved);
  const answer = await door.call(operation, args, key);
  const isAsked = answer.ok && operation.confirmation && answer.body.status === 'confirmation_required';
  if (!isAsked || expect.body?.status === 'confirmation_required') return answer;
  return door.call(operation, { ...args, confirmationToken: answer.body.confirmationToken }, key);
}

// A step may be repeated until it says what is expected, for work that goes on behind an answer.
async function answerStep(door, operation, step, saved, expect) {
  const deadline = Date.now() + (step.within ?? 0) * 1000 * PATIENCE;
  for (;;) {
    const answer = await callConfirmed(door, operation, step, saved, expect);
    const problem = checkAnswer(door, operation, expect, answer);
    if (!problem || Date.now() >= deadline) return { answer, problem };
    await pause(50);
  }
}

async function runThroughDoor(testCase, door, place) {
  const { brandId, domainId, organization, orgId } = place;
  const saved = { brandId, domainId, organization, orgId, inAnHour: new Date(Date.now() + 3600000).toISOString() };
  const seen = new Map();
  const bodies = [];
  await door.open();
  try {
    for (const [index, step] of testCase.steps.entries()) {
      if (!step.operation) {
        const body = setTheStage(step, saved);
        for (const [name, path] of Object.entries(step.save ?? {})) saved[name] = pointer(body, path);
        bodies.push(null);
        continue;
      }
      const operation = catalogue.operations.get(step.operation);
      const expect = fill(step.expect ?? {}, saved);
      const { answer, problem } = await answerStep(door, operation, step, saved, expect);
      called.add(operation.id);
      if (door.usesTools) called.add(toolFor(catalogue, operation.id).tool.name);
      if (!answer.ok) produced.add(`${operation.id} ${answer.body.error?.code}`);
      if (problem) throw new Error(`step ${index + 1} (${step.operation}): ${problem}`);
      for (const [name, path] of Object.entries(step.save ?? {})) saved[name] = pointer(answer.body, path);
      const reach = toolFor(catalogue, operation.id);
      // A body that is not compared names its ids too, so that those behind it get the same names through every door.
      const body = canonical(answer.body, seen);
      bodies.push(door.usesTools && (reach.tool.adapter || reach.tool.default || reach.tool.fixed) ? null : body);
    }
  } finally {
    await door.close();
  }
  return bodies;
}

function compareDoors(results) {
  const [first, ...others] = results;
  for (const other of others) {
    for (let i = 0; i < first.bodies.length; i++) {
      const [left, right] = [first.bodies[i], other.bodies[i]];
      if (left !== null && right !== null && left !== right) return `step ${i + 1}: ${first.name} and ${other.name} differ:\n    ${left}\n    ${right}`;
    }
  }
  return null;
}

async function runCase(testCase) {
  const results = [];
  for (const name of doorsOf(testCase)) {
    const place = makePlace(testCase.key);
    try {
      results.push({ name, bodies: await runThroughDoor(testCase, DOORS[name](place), place) });
    } catch (problem) {
      return `${name}: ${problem.message}`;
    }
  }
  return results.length === 0 ? 'no door serves this case' : compareDoors(results);
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

const server = await startServer();
let passed = 0;
let failed = 0;
const report = (problem, what) => {
  if (problem) console.log(`FAILED ${what}\n    ${problem}`);
  problem ? failed++ : passed++;
};
try {
  for (const testCase of findCases()) {
    if (only.length > 0 && !only.some((name) => testCase.file.includes(name))) continue;
    report(await runCase(testCase), `${testCase.file}: ${testCase.name}`);
  }
  if (only.length === 0) report(checkedReplies() === 0 && 'no answer of REST was held against OpenAPI', relative(root, casesFolder));
  if (only.length === 0) for (const problem of gates()) report(problem, relative(root, casesFolder));
} finally {
  server.kill('SIGTERM');
  await new Promise((settle) => server.on('exit', settle));
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
