// What is large in what is stored, or in how many callers come at once, and belongs to no single operation. Each state runs in an
// installation of its own and gives results as operations do.

import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { BINARY } from '../lib/installation.mjs';
import { isAlive, until } from '../lib/processes.mjs';
import { Sink } from '../lib/smtp_sink.mjs';
import { Bounded } from './bounded.mjs';
import { Place } from './calls.mjs';
import { Lost } from './lost.mjs';
import { verdict } from './series.mjs';
import { Values } from './values.mjs';

const execute = promisify(execFile);
const FULL = { rows: 1, fields: 1, names: 1, values: 1 };
const RECOVERY_LIMIT_MS = 120_000;

const must = (answer, what) => {
  if (!answer.ok) throw new Error(`${what}: ${JSON.stringify(answer.body).slice(0, 300)}`);
  return answer.body;
};

/** Measures the sizes one after the other: `make(size)` prepares, and gives the call and the bytes that it stands for. */
async function pointsOf(bounded, sizes, make, { hasJobs }) {
  const points = [];
  try {
    for (const size of sizes) {
      const { call, bytes = size } = await make(size);
      const { answer, serve, runner } = await bounded.measure(call, hasJobs);
      points.push({ size, bytes, answer, serve, runner, problem: answer.problem });
    }
  } catch (error) {
    if (!(error instanceof Lost) && !/socket hang up|ECONN/.test(error.message)) throw error;
    return { points, problems: [error.message], exponents: {} };
  }
  return { points, ...verdict(points, hasJobs) };
}

const operationsOf = (catalogue) => (id) => catalogue.operations.get(id);

// ---- Recipients as wide as contacts can be ----

const SAVED_AT_ONCE = 6;
const PATH_SHARE = 0.5; // a merge field is at most 256 bytes long

async function saveWide(place, operation, values, from, to) {
  const fields = values.fieldNames(0, 100).map((name, index) => [name, values.text(2000, index)]);
  for (let at = from; at < to; at += SAVED_AT_ONCE) {
    const rows = Array.from({ length: Math.min(SAVED_AT_ONCE, to - at) }, (_, i) => ({ email: `wide${at + i}@example.com`, customFields: Object.fromEntries(fields) }));
    must(await place.call(operation('contacts.saveBatch'), { contacts: rows }), 'contacts.saveBatch');
  }
  return fields.map(([name]) => name);
}

/**
 * A campaign to `size` contacts of 100 fields of 2,000 characters, by a design that names `named` of the fields. `senderOf(place)`
 * gives the domain and the sender of a brand.
 */
async function wideRecipients(bounded, catalogue, { sizes, named, distribution, senderOf = ofSandbox }) {
  const operation = operationsOf(catalogue);
  const place = await Place.fresh(bounded);
  const sender = await senderOf(place);
  const values = new Values({ scale: { ...FULL, names: PATH_SHARE }, distribution, idOf: () => undefined, enums: new Map() });
  let saved = 0;
  const result = await pointsOf(bounded, sizes, async (size) => {
    const names = await saveWide(place, operation, values, saved, size);
    saved = size;
    const slots = names.slice(0, named).map((name) => `<p>{{ customFields['${name}'] }}</p>`);
    const { emailId } = must(await place.call(operation('emails.import'), { content: `<html><head><title>Wide</title></head><body>${slots.join('')}</body></html>` }), 'emails.import');
    const send = async () => {
      const answer = await place.call(operation('sends.create'), { emailId, audienceId: 'all', subject: 'Wide', ...sender });
      must(answer, 'sends.create');
      return answer;
    };
    return { call: send };
  }, { hasJobs: true });
  place.close();
  return { input: `${distribution}, design of ${named} fields`, ...result };
}

const ofSandbox = async (place) => ({ domainId: await place.resources.id('domain') });

async function ofRelay({ bounded, brandId }) {
  await bounded.installation.admin('domain', 'create', 'wide.example', '--brand', brandId);
  const { domainId } = await bounded.installation.admin('domain', 'verify', 'wide.example', '--trust', '--brand', brandId);
  return { domainId, from: { email: 'news@wide.example' } };
}

async function* allWide(start, form, catalogue) {
  const sizes = form.isShort ? [6, 48] : [22, 45, 90, 180];
  const shapes = form.isShort ? [['multi-byte', 100]] : [['multi-byte', 100], ['multi-byte', 50], ['alike', 100], ['different', 10]];
  for (const [distribution, named] of shapes) yield wideRecipients(await start(), catalogue, { sizes, named, distribution });
  if (form.isShort) return;
  const sink = await Sink.start();
  const bounded = await Bounded.start(catalogue, { RELAY: sink.url() });
  try {
    const result = await wideRecipients(bounded, catalogue, { sizes, named: 50, distribution: 'multi-byte', senderOf: ofRelay });
    yield { ...result, input: `${result.input}, by a relay` };
  } finally {
    await bounded.dispose();
    await sink.stop();
  }
}

// ---- Chains of audiences ----

const LIST = 200;
const LEVELS = 3;

const membership = (ids) => ({
  logic: 'or',
  filters: Array.from({ length: Math.ceil(ids.length / LIST) }, (_, i) => ({ field: 'audience', operator: 'in', value: ids.slice(i * LIST, (i + 1) * LIST) })),
});

async function chainOver(place, operation, cohorts) {
  let ids = cohorts;
  for (let level = 1; level <= LEVELS; level++) {
    const answer = await place.call(operation('audiences.create'), { name: `Level ${level}`, filters: membership(ids) });
    if (!answer.ok) return { refused: answer };
    ids = [answer.body.audienceId];
  }
  return { audienceId: ids[0] };
}

/** What reads an audience that names audiences, over `size` cohorts. */
async function* chains(start, form, catalogue) {
  const operation = operationsOf(catalogue);
  const sizes = form.isShort ? [70, 560] : [70, 140, 280, 560]; // at most 600 audiences are read
  const reads = {
    'search by audience': (audienceId) => ['contacts.search', { audienceId, count: true }],
    'search by filter': (audienceId, cohorts) => ['contacts.search', { filters: membership(cohorts) }],
    'read with count': (audienceId) => ['audiences.get', { audienceId, include: 'count' }],
    'list with counts': () => ['audiences.list', { include: 'count,build', limit: 100 }],
  };
  const bounded = await start();
  const place = await Place.fresh(bounded);
  const cohorts = [];
  const grow = async (size) => {
    const from = new Date(Date.now() - 864e5).toISOString();
    while (cohorts.length < size) {
      const body = must(await place.call(operation('audiences.createFromEvents'), { name: `Cohort ${cohorts.length}`, eventTypes: ['sent'], from }), 'audiences.createFromEvents');
      cohorts.push(body.audienceId);
    }
    await bounded.settled();
    return cohorts.slice(0, size);
  };
  // All cohorts are there before the first read is measured, so the memory of making them is not that of a read.
  await grow(sizes.at(-1));
  for (const [input, read] of Object.entries(reads)) {
    const result = await pointsOf(bounded, sizes, async (size) => {
      const some = await grow(size);
      const { audienceId, refused } = await chainOver(place, operation, some);
      if (refused) return { call: async () => refused };
      const [id, args] = read(audienceId, some);
      return { call: () => place.call(operation(id), args), bytes: size };
    }, { hasJobs: false });
    yield { input, ...result };
    if (!isAlive(bounded.serve.pid)) return;
  }
  place.close();
}

// ---- The journal ----

const journalsOf = (folder, owner) => (existsSync(folder) ? readdirSync(folder).filter((name) => name.startsWith(owner) && name.endsWith('.journal')) : []);

/** What a killed sender left: `size` messages with their replies, of a send that has ended meanwhile. */
async function* journal(start, form) {
  // Beyond these sizes a journal is full.
  const sizes = form.isShort ? [20_000, 160_000] : [40_000, 80_000, 160_000, 320_000];
  const bounded = await start();
  const { data } = bounded.installation;
  const folder = join(data, 'journal');
  const result = await pointsOf(bounded, sizes, async (size) => ({
    call: async () => {
      await execute(join(dirname(BINARY), 'journal_driver'), [data, `sizes ${size}`, '1', '1', String(size)]);
      await until('the journal is recovered', () => {
        if (!isAlive(bounded.runner.pid)) throw new Lost('runner ended');
        return journalsOf(folder, 'sizes').length === 0;
      }, RECOVERY_LIMIT_MS);
      return { ok: true };
    },
  }), { hasJobs: true });
  yield { input: 'messages of a killed sender', ...result };
}

// ---- Many bodies at once ----

const MESSAGE_BYTES = 8 * 1024 * 1024;
const META = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientInfo': { name: 'sizes', version: '1' }, 'io.modelcontextprotocol/clientCapabilities': {} };
const MCP_HEADERS = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'save_contact' };
const rowsOf = (bytes) => `[${Array.from({ length: Math.floor(bytes / 26) - 40 }, () => '{"email":"a@example.com"}').join()}]`;

/** The routes of the largest bodies: {path: {text, headers}}. */
function largestBodies(catalogue) {
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'save_contact', arguments: { contacts: 0 }, _meta: META } };
  const found = { '/mcp': { text: JSON.stringify(message).replace('"contacts":0', `"contacts":${rowsOf(MESSAGE_BYTES)}`), headers: MCP_HEADERS } };
  for (const { route, maxBodyBytes, body, built } of catalogue.operations.values()) {
    if (!built || !route?.startsWith('POST ') || maxBodyBytes === undefined || body?.contacts === undefined) continue;
    found[route.slice('POST '.length)] = { text: `{"contacts":${rowsOf(maxBodyBytes)}}`, headers: {} };
  }
  return found;
}

/** Bodies as large as a route takes, `size` at once: of strangers, who are refused, and of a key, whom the server may put off. */
async function* bodies(start, form, catalogue) {
  const callers = {
    'a wrong key': { credential: { authorization: 'Bearer nonsense' }, statuses: [401] },
    'no key': { credential: { authorization: null }, statuses: [401] },
    'a key': { credential: {}, statuses: [200, 400, 413, 503] },
  };
  for (const [path, { text, headers }] of Object.entries(largestBodies(catalogue))) {
    for (const [who, { credential, statuses }] of Object.entries(callers)) {
      const bounded = await start();
      await bounded.restart();
      const brand = { 'x-brand-id': await bounded.installation.brandId() };
      const result = await pointsOf(bounded, form.isShort ? [12] : [3, 6, 12, 24], async (size) => ({
        bytes: size * text.length,
        call: async () => {
          const client = bounded.client({ ...brand, ...headers, ...credential }, size);
          const answers = await Promise.all(Array.from({ length: size }, () => client.post(path, text).catch((error) => ({ status: error.message }))));
          client.close();
          const other = answers.find(({ status }) => !statuses.includes(status));
          return { ok: true, status: answers[0].status, problem: other && `answered ${other.status} ${JSON.stringify(other.body ?? '').slice(0, 100)}` };
        },
      }), { hasJobs: false });
      yield { input: `${path} by ${who}`, ...result };
    }
  }
}

/** {name, run(start, form, catalogue)}: `run` gives results as they come; `start` the installation, anew when a process is lost. */
export const STATES = [
  { name: 'wide recipients', run: allWide },
  { name: 'chains of audiences', run: chains },
  { name: 'the largest journal', run: journal },
  { name: 'many bodies', run: bodies },
];
