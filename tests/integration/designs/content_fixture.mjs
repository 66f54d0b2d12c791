// The fixture of the tests of bad content: an installation with its clients, and the check that refused content leaves nothing.
// A test file that imports it has an installation of its own, from its first test to its last.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { sql } from '../../lib/database.mjs';
import { ImageServer } from '../../lib/image_server.mjs';
import { BINARY, Installation } from '../../lib/installation.mjs';

export const LIMIT = { timeout: 600_000 };
const PUBLIC_URL = 'https://mail.example/posthorn';
const MEMORY_KIB = 160 * 1024;
// A sanitizer keeps freed memory aside on purpose.
const COUNTS_MEMORY = !readFileSync(BINARY).includes('__asan_init');
const CONTENT_TABLES = ['contacts', 'contact_fields', 'suppressions', 'audiences', 'email_groups', 'emails', 'email_versions', 'assets',
  'sends', 'events', 'contact_validations', 'validations', 'validation_targets'];
const COUNTS = `select json_build_object(${CONTENT_TABLES.map((table) => `'${table}', (select count(*) from ${table})`).join(', ')},
  'credits', (select coalesce(sum(used), 0) from credit_usage))`;

export const images = new ImageServer();
export const installation = new Installation({ PUBLIC_URL, FETCH_ALLOW_LOOPBACK: 1 });
const root = join(installation.folder, 'files');
export let local; // the tools, over stdio
export let rest;

before(async () => {
  mkdirSync(root);
  await images.start();
  const server = await installation.serve();
  rest = server.client(await installation.key('--brand', await installation.brandId()));
  local = installation.stdio('--import-root', root);
  await local.initialize();
});

after(async () => {
  const peaks = [local.pid, installation.runnerPid].map((pid) => Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))[1]));
  rest.close();
  await images.stop();
  assert.deepEqual(await installation.dispose(), []);
  if (COUNTS_MEMORY) assert.ok(Math.max(...peaks) < MEMORY_KIB, `peaks of ${peaks.join(' and ')} KiB`);
});

// ---- What is stored ----

export function storedFiles() {
  const folder = join(installation.data, 'assets');
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).map(({ name }) => name).sort();
}

async function stored() {
  const [counts] = await sql(installation, COUNTS);
  return { ...JSON.parse(counts), files: storedFiles() };
}

/** `body` must leave the tables and the folder as they are. */
export async function leavesNothing(what, body) {
  const before = await stored();
  await body();
  assert.deepEqual(await stored(), before, `${what}: nothing of it is stored`);
}

/** The tool must refuse, naming the argument and saying what `words` match; nothing is stored. */
export function refuses(what, tool, args, code, words, param = 'content') {
  return leavesNothing(what, async () => {
    const { ok, body } = await local.toolToEnd(tool, args);
    assert.ok(!ok, `${what}: ${JSON.stringify(body).slice(0, 500)}`);
    assert.equal(body.error.code, code, `${what}: ${JSON.stringify(body.error)}`);
    assert.match(body.error.message, words, what);
    assert.equal(body.error.param, param, what);
  });
}

export async function accepts(tool, args) {
  const { ok, body } = await local.toolToEnd(tool, args);
  assert.ok(ok, JSON.stringify(body));
  return body;
}

/** A design, and its HTML as it was saved. */
export async function imported(format, content) {
  const headers = { 'idempotency-key': randomUUID() };
  const post = () => rest.post('/v1/emails/import', { format, content }, headers);
  let { status, body } = await post();
  while (status === 503) ({ status, body } = await post()); // the work goes on, and the same key finds its end
  assert.equal(status, 201, JSON.stringify(body));
  const design = await rest.get(`/v1/emails/${body.emailId}?include=html`);
  assert.equal(design.status, 200);
  return { ...body, html: design.body.html };
}

/** Writes a file that may be imported, and gives the arguments that name it. */
export const file = (name, bytes) => {
  writeFileSync(join(root, name), bytes);
  return { path: name };
};

/** The import of a design must be refused. */
export const design = (format, what, content, words) => refuses(what, 'import_email', { format, content }, 'EMAIL_IMPORT_FAILED', words);
