// Imports that are cancelled, or asked for again, while they run. A lock on the table of contacts holds them in the middle.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { writeContacts } from '../../lib/contact_files.mjs';
import { holdOnceWritten, sql } from '../../lib/database.mjs';
import { BINARY, installationFor } from '../../lib/installation.mjs';
import { until } from '../../lib/processes.mjs';

const LIMIT = { timeout: 600_000 };
const STOPS_MS = 60_000; // the chunk in hand is finished first

function filesFor(installation) {
  const root = join(installation.folder, 'files');
  mkdirSync(root);
  return root;
}

async function assistant(installation, root) {
  const client = installation.stdio('--import-root', root);
  await client.initialize();
  return client;
}

/** Lets a held import go on once it has been told to stop, and waits until it has. */
async function untilCanceled(installation, contacts) {
  await until('it is told to stop', async () => (await sql(installation, 'select bool_or(cancel_asked) from jobs'))[0] === 't');
  await contacts.release();
  await until('it has stopped', async () => (await sql(installation, 'select status from imports'))[0] === 'canceled', STOPS_MS);
}

test('a cancelled import stops, and tells by its key what was done (R-371)', LIMIT, async (t) => {
  const installation = installationFor(t);
  const root = filesFor(installation);
  const rows = 100_000;
  writeContacts(join(root, 'contacts.csv'), rows);
  const client = await assistant(installation, root);
  const contacts = await holdOnceWritten(installation, 'contacts');
  const call = { name: 'import_contacts_csv', arguments: { path: 'contacts.csv', idempotencyKey: 'once' } };
  const given = client.request('tools/call', { ...call, _meta: { progressToken: 'p' } }, 'import').catch(() => {});
  await contacts.held;
  client.write('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"import"}}\n');
  await untilCanceled(installation, contacts);
  const { ok, body } = await client.tool(call.name, call.arguments);
  assert.ok(ok, JSON.stringify(body));
  assert.equal(body.status, 'canceled');
  const { inserted, updated, unchanged, failed } = body.summary;
  const done = inserted + updated + unchanged + failed;
  assert.ok(done > 0 && done < rows, `${done} rows were done`);
  assert.equal(Number((await sql(installation, 'select count(*) from contacts'))[0]), inserted);
  client.kill();
  await given;
});

test('who asks again for a file that is being imported waits for the same import (R-371)', LIMIT, async (t) => {
  const installation = installationFor(t);
  const root = filesFor(installation);
  writeContacts(join(root, 'contacts.csv'), 100_000);
  const client = await assistant(installation, root);
  const contacts = await holdOnceWritten(installation, 'contacts');
  const first = client.tool('import_contacts_csv', { path: 'contacts.csv' });
  await contacts.held;
  const second = client.tool('import_contacts_csv', { path: 'contacts.csv' });
  assert.ok((await client.request('ping')).result, 'the second call has been read');
  await contacts.release();
  assert.ok((await second).ok);
  assert.deepEqual(await second, await first);
});

test('an interrupt of the command line stops the import (R-371)', LIMIT, async (t) => {
  const installation = installationFor(t);
  const root = filesFor(installation);
  const rows = 100_000;
  writeContacts(join(root, 'contacts.csv'), rows);
  const contacts = await holdOnceWritten(installation, 'contacts');
  const child = spawn(BINARY, ['call', 'import_contacts_csv', '{"path":"contacts.csv"}', '--import-root', root], { env: installation.environment });
  const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)));
  await contacts.held;
  child.kill('SIGINT');
  await untilCanceled(installation, contacts);
  assert.equal(await ended, 1);
  assert.ok(Number((await sql(installation, 'select count(*) from contacts'))[0]) < rows);
});
