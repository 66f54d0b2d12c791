// An assistant's day, with official clients (sdk 1.x over stdio, 2.x over HTTP): it imports a large file of contacts by its
// path, builds audiences of a text, a number range and a membership with activity, imports a newsletter as HTML, as MJML and
// as JSX, previews each, sends to the founders, and sends a test. Every number is compared with the file, every preview with
// its whole text. Times and memory peaks are printed, not checked, but for the memory of the import.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packagesOf } from '../lib/packages.mjs';
import { BINARY, Installation } from '../lib/installation.mjs';
import { until } from '../lib/processes.mjs';
import { contactOf, count, countBad, isBad, REPEATED_ROW, writeContacts } from './contacts.mjs';

const load = packagesOf('clients');
const { Client } = load('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = load('@modelcontextprotocol/sdk/client/stdio.js');
const modern = load('@modelcontextprotocol/client');

const here = dirname(fileURLToPath(import.meta.url));
const rows = Number(process.env.SCENARIO_CONTACTS ?? 20_000);
assert.ok(rows >= 10_000 && rows % 5000 === 0, 'SCENARIO_CONTACTS is a multiple of 5,000, from 10,000');
const IMPORT_LIMIT_MS = 900_000;
const IMPORT_MEMORY_KIB = 64 * 1024;
const SCORE_RANGE = [250, 499];
// A sanitizer keeps freed memory aside on purpose.
const COUNTS_MEMORY = !readFileSync(BINARY).includes('__asan_init');

const installation = new Installation();
const opened = [];
let passed = 0;

/** One step of the scenario; the next ones need it, so its failure ends the scenario. */
async function step(name, body) {
  const startMs = performance.now();
  const value = await body();
  passed++;
  console.log(`ok   ${name}  ${((performance.now() - startMs) / 1000).toFixed(2)} s`);
  return value;
}

// ---- Clients ----

/** call(tool, args) of a connected client: the structured content, which the client has checked against the tool's schema. */
function callsOf(client) {
  return async (name, args = {}, options = []) => {
    const result = await client.callTool({ name, arguments: args }, ...options);
    return { ok: !result.isError, body: result.structuredContent ?? JSON.parse(result.content[0].text) };
  };
}

async function overStdio(root) {
  const transport = new StdioClientTransport({
    command: BINARY, args: ['mcp', '--import-root', root], env: installation.environment, stderr: 'ignore',
  });
  const client = new Client({ name: 'scenario', version: '1.0.0' });
  await client.connect(transport);
  await client.listTools();
  opened.push(client);
  const call = callsOf(client);
  return { call: (name, args) => call(name, args, [undefined, { timeout: IMPORT_LIMIT_MS }]) };
}

async function overHttp() {
  const server = await installation.serve();
  const key = await installation.key('--brand', await installation.brandId());
  const transport = new modern.StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${server.port}/mcp`),
    { requestInit: { headers: { Authorization: `Bearer ${key}` } } });
  const client = new modern.Client({ name: 'scenario', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(transport);
  opened.push(client);
  return { call: callsOf(client) };
}

async function must(answer) {
  const { ok, body } = await answer;
  assert.ok(ok, JSON.stringify(body));
  return body;
}

// ---- Memory ----

const peakKib = (pid) => Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0);

function kindOf(command) {
  if (/\/postgres |^postgres:/.test(command)) return 'postgres';
  if (command.includes('main.mjs')) return 'html';
  return command.split(' ')[1] ?? command;
}

function printPeaks() {
  const peaks = new Map();
  for (const { pid, command } of installation.processes()) {
    const kind = kindOf(command);
    peaks.set(kind, Math.max(peaks.get(kind) ?? 0, peakKib(pid)));
  }
  const words = [...peaks].map(([kind, kib]) => `${kind} ${(kib / 1024).toFixed(1)} MiB`);
  console.log(`     memory peaks of one process: ${words.join(', ')}`);
}

// ---- Contacts ----

/** An import may take longer than a call waits: the same key finds it again. */
async function importFile(transport, path) {
  for (;;) {
    const { ok, body } = await transport.call('import_contacts_csv', { path, idempotencyKey: 'scenario-import' });
    if (ok) return body;
    assert.equal(body.error.code, 'SERVICE_UNAVAILABLE', JSON.stringify(body));
  }
}

async function importContacts(transport, root) {
  const path = join(root, 'members.csv');
  await step(`${rows} rows are written`, () => writeContacts(path, rows));
  const megabytes = statSync(path).size / 1e6;
  const startMs = performance.now();
  const { status, summary, errors, fieldsCreated, warnings } = await step(`${megabytes.toFixed(1)} MB are imported by path`, () => importFile(transport, path));
  const seconds = (performance.now() - startMs) / 1000;
  console.log(`     ${Math.round(rows / seconds)} rows a second`);
  const contacts = count(rows);
  const bad = countBad(rows);
  assert.equal(status, 'completed');
  assert.equal(summary.failed, bad);
  assert.equal(summary.inserted, contacts);
  assert.equal(summary.inserted + summary.updated + summary.unchanged + summary.skipped + summary.failed, rows);
  assert.deepEqual(fieldsCreated.toSorted(), ['plan', 'score', 'signedUp', 'town']);
  assert.ok(warnings.some(({ code, original, normalized }) => code === 'FIELD_NAME_NORMALIZED' && original === 'signed_up' && normalized === 'signedUp'));
  assert.deepEqual(errors.map(({ line }) => line), badLines().slice(0, errors.length));
  if (COUNTS_MEMORY) assert.ok(peakKib(installation.runnerPid) < IMPORT_MEMORY_KIB, 'the import keeps to its memory');
  await step('as many contacts are there', async () => {
    assert.equal((await must(transport.call('search_contacts', { count: true }))).count, contacts);
  });
  await step('contacts say what their last rows say', () => checkSample(transport));
  await step('the same call again is the same import', async () => {
    assert.deepEqual((await importFile(transport, path)).summary, summary);
  });
}

/** Every kind of name, a founder who has left, and an address that comes twice. */
async function checkSample(transport) {
  const sample = [0, 1, 2, 3, 4, 5, 6, 7, 3000, REPEATED_ROW].map(contactOf);
  const filters = [{ field: 'email', operator: 'in', value: sample.map(({ email }) => email) }];
  const { data } = await must(transport.call('search_contacts', { filters, limit: 100 }));
  const seen = data.map(({ email, firstName, subscribed, customFields }) => ({ email, firstName, subscribed, ...customFields }));
  const wanted = sample.map(({ town, ...rest }) => (town === '' ? rest : { ...rest, town }));
  const byEmail = (a, b) => (a.email < b.email ? -1 : 1);
  assert.deepEqual(seen.sort(byEmail), wanted.sort(byEmail));
}

/** Lines of the file, the header being the first. */
function badLines() {
  const lines = [];
  for (let row = 0; row < rows; row++) if (isBad(row)) lines.push(row + 2);
  return lines;
}

// ---- Audiences ----

const inRange = ({ score }) => score >= SCORE_RANGE[0] && score <= SCORE_RANGE[1];
const isFounder = ({ plan }) => plan === 'founder';

/** The audience is created with its count, and a search counts the same. */
function audience(transport, name, filters, expected) {
  return step(`audience ${name}: ${expected} members`, async () => {
    assert.ok(expected > 0, 'an audience of none proves nothing');
    const { audienceId, count: counted } = await must(transport.call('create_audience', { name, filters: { logic: 'and', filters } }));
    assert.equal(counted, expected);
    assert.equal((await must(transport.call('search_contacts', { audienceId, count: true }))).count, expected);
    return audienceId;
  });
}

// ---- Designs ----

const NOBODY = { firstName: null };
const FOUNDER = contactOf(1000);
const READER = contactOf(3);

const paragraphs = (...texts) => texts.join('\n\n');
const LEAVE = 'Unsubscribe <https://example.com/unsubscribe-preview>';
const monthOf = (date) => new Date(`${date}T00:00:00Z`).toLocaleDateString('en-US', { month: 'long', year: 'numeric', timeZone: 'UTC' });

/** Each newsletter, and what its preview must say to a contact; the text of the long one by its personal line and its end. */
const LETTERS = {
  html: {
    source: readFileSync(join(here, '../../examples/newsletter/newsletter.html'), 'utf8'),
    title: 'The October letter: bulbs now, tulips in April',
    isLong: true, // its HTML fits no host's context; it is read as a resource
    previewText: () => 'Six weeks of good planting weather left. What goes into the ground now, and what can wait.',
    checkText: (text, { firstName }) => {
      const parts = text.split('\n\n');
      assert.equal(parts[5], `Hello ${firstName ?? 'there'},`);
      assert.ok(parts.includes('Three mixes, twelve weeks of flowers'));
      assert.ok(parts.at(-1).endsWith(LEAVE));
    },
  },
  mjml: {
    source: readFileSync(join(here, 'letter.mjml'), 'utf8'),
    title: "The members' letter",
    previewText: ({ plan }) => `What your ${plan ?? 'free'} plan brings in December.`,
    checkText: (text, { firstName, score, plan, town }) => assert.equal(text, paragraphs(
      `Good evening, ${firstName ?? 'reader'}`,
      `Your score this month is ${score ?? ''}.`,
      plan === 'founder' ? `Founders meet in ${town || 'Delft'} on the 12th.` : 'Founders meet on the 12th; you may watch.',
      'Reading room', 'Open until ten on Thursdays.', 'Workshop', 'Bring a book that has lost its back.',
      'See the programme <https://example.com/meeting?from=letter>', `You asked for this letter. ${LEAVE}`)),
  },
  jsx: {
    source: readFileSync(join(here, 'letter.tsx'), 'utf8'),
    title: 'Conference letter 7',
    previewText: () => 'Three talks, one evening',
    checkText: (text, { firstName, signedUp }) => assert.equal(text, paragraphs(
      `Hello ${firstName?.toUpperCase() ?? 'READER'}`,
      `Since ${signedUp ? monthOf(signedUp) : ''} you have been with us.`,
      '18:00', 'Doors & soup', '19:00', 'Lists that last', '20:30', 'What a hard bounce says',
      'Keep a seat <https://example.com/tickets>', '-'.repeat(40), `No more of this? ${LEAVE}`)),
  },
};

async function importLetter(transport, format, through) {
  const letter = LETTERS[format];
  return step(`the ${format} newsletter is imported over ${through}`, async () => {
    const imported = await must(transport.call('import_email', { format, content: letter.source, subjectLine: "A letter for {{ firstName | default: 'you' }}" }));
    assert.equal(imported.title, letter.title);
    assert.equal(imported.status, 'ready');
    const { discovered, rehosted, retained, stripped, dropped } = imported.assetReport;
    assert.equal(rehosted + retained + stripped + dropped, discovered);
    return imported.emailId;
  });
}

/** What `args` of get_email shows must be what the newsletter says to `contact`. */
function preview(transport, format, emailId, args, contact, who) {
  const letter = LETTERS[format];
  return step(`the ${format} newsletter is previewed for ${who}`, async () => {
    const include = letter.isLong ? undefined : 'html';
    const shown = await must(transport.call('get_email', { emailId, include, ...args }));
    assert.equal(shown.subject, `A letter for ${contact.firstName ?? 'you'}`);
    assert.equal(shown.previewText, letter.previewText(contact));
    letter.checkText(shown.text, contact);
    if (letter.isLong) return;
    assert.doesNotMatch(shown.html, /\{\{|\{%/, 'no tag is left');
    assert.ok(shown.html.includes('https://example.com/unsubscribe'));
  });
}

// ---- Sending ----

async function sendToFounders(transport, emailId, domainId, audienceId, expected) {
  const order = { emailId, domainId, audienceId, subject: "A letter for {{ firstName | default: 'you' }}", idempotencyKey: 'scenario-send' };
  const { preview, confirmationToken } = await must(transport.call('send_email', order));
  assert.equal(preview.recipientCount, expected, 'the preview says to how many it goes');
  const { sendId } = await must(transport.call('send_email', { ...order, confirmationToken }));
  const send = await until('the campaign is over', async () => {
    const state = await must(transport.call('get_email_analytics', { view: 'send', sendId }));
    return state.status === 'completed' ? state : null;
  }, 120_000);
  assert.equal(send.stats.delivered, expected);
}

async function sendTest(transport, emailId) {
  const { status, recipient } = await must(transport.call('send_email', { emailId, test: true, to: ['me@example.com'], subject: 'One to look at' }));
  assert.equal(recipient, 'me@example.com');
  assert.match(status, /^(accepted|delivered|sent|completed)$/);
  const mine = installation.outbox().map((name) => installation.readMessage(name)).filter((message) => /^To: .*me@example\.com/m.test(message));
  assert.equal(mine.length, 1);
  assert.match(mine[0], /^Subject: .*One to look at/m);
}

// ---- The scenario ----

async function tell() {
  const root = join(installation.folder, 'files');
  mkdirSync(root);
  const local = await step('a client connects over stdio', () => overStdio(root));
  await importContacts(local, root);
  printPeaks();

  const founders = count(rows, isFounder);
  const founderAudience = await audience(local, 'founders', [{ field: 'plan', operator: 'equals', value: 'founder' }], founders);
  const rangeAudience = await audience(local, 'middle scores', [{ field: 'score', operator: 'between', value: SCORE_RANGE }], count(rows, inRange));

  const remote = await step('a client connects over HTTP', overHttp);
  const letters = { html: [remote, 'HTTP'], mjml: [local, 'stdio'], jsx: [local, 'stdio'] };
  const designs = {};
  for (const [format, [transport, through]] of Object.entries(letters)) {
    designs[format] = await importLetter(transport, format, through);
    await preview(local, format, designs[format], { contact: FOUNDER.email }, FOUNDER, 'a founder');
    await preview(remote, format, designs[format], { contact: READER.email.toUpperCase() }, READER, 'a reader');
    const { firstName, plan, score, signedUp, town } = READER;
    await preview(remote, format, designs[format], { sample: { firstName, plan, score, signedUp, town } }, READER, 'sample values');
    await preview(local, format, designs[format], { sample: { company: 'unknown' } }, NOBODY, 'nobody in particular');
  }

  const { domains } = await must(remote.call('get_capabilities', { topic: 'account' }));
  const subscribed = (contact) => isFounder(contact) && contact.subscribed;
  const reached = count(rows, subscribed);
  assert.ok(reached < founders, 'some founders have left');
  await step(`${reached} of ${founders} founders get the letter`, () => sendToFounders(remote, designs.mjml, domains[0].domainId, founderAudience, reached));
  await audience(local, 'reached, with middle scores',
    [{ field: 'audience', operator: 'in', value: rangeAudience }, { field: 'activity.delivered', operator: 'gte', value: 1, withinDays: 7 }],
    count(rows, (contact) => subscribed(contact) && inRange(contact)));
  await step('a test is sent', () => sendTest(remote, designs.jsx));
  printPeaks();
}

let failure = null;
try {
  await tell();
} catch (error) {
  failure = error;
  console.log(`FAILED ${error.stack}`);
}
for (const client of opened) await client.close().catch(() => {});
const left = await installation.dispose();
if (left.length > 0) console.log(`FAILED left behind: ${JSON.stringify(left)}`);
const failed = (failure ? 1 : 0) + (left.length > 0 ? 1 : 0);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
