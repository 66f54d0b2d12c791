// Imports of CSV files: by path, with progress, the file of failed rows, memory, the progress bar of the command line.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, symlinkSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { storedContacts, writeContacts } from '../../lib/contact_files.mjs';
import { sql } from '../../lib/database.mjs';
import { BINARY, installationFor } from '../../lib/installation.mjs';

const LIMIT = { timeout: 600_000 };
const MEMORY_LIMIT_KIB = 64 * 1024;

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

const readResource = async (client, uri) => (await client.request('resources/read', { uri })).result?.contents[0];

test('a file is imported with progress; only files beneath the root are (R-371)', LIMIT, async (t) => {
  const installation = installationFor(t);
  const root = filesFor(installation);
  const { bad, expected } = writeContacts(join(root, 'contacts.csv'), 200_000);
  writeFileSync(join(installation.folder, 'secret.csv'), 'email\nsecret@example.com\n');
  symlinkSync(join(installation.folder, 'secret.csv'), join(root, 'link.csv'));
  const client = await assistant(installation, root);
  const { body: { importId, summary, status } } = await client.toolToEnd('import_contacts_csv', { path: join(root, 'contacts.csv') }, { progressToken: 'p' });
  assert.equal(status, 'completed');
  assert.equal(summary.failed, bad);
  assert.deepEqual(await storedContacts(installation), expected);

  const told = client.others.filter(({ method }) => method === 'notifications/progress').map(({ params }) => params);
  assert.ok(told.length > 0, 'progress is told');
  for (const [i, { progress, total, message: note }] of told.entries()) {
    assert.ok(progress <= total && (i === 0 || progress > told[i - 1].progress));
    assert.match(note, /^\d+ rows read, \d+ a second$/);
  }

  const state = JSON.parse((await readResource(client, `posthorn://imports/${importId}`)).text);
  assert.deepEqual(state.summary, summary);
  const errors = await readResource(client, `posthorn://imports/${importId}/errors`);
  assert.equal(errors.mimeType, 'text/csv');
  assert.equal(errors.text.split('\r\n').length, 1 + bad + 1);

  for (const path of ['link.csv', '../secret.csv', join(installation.folder, 'secret.csv'), 'missing.csv']) {
    const { ok, body } = await client.tool('import_contacts_csv', { path });
    assert.ok(!ok && body.error.code === 'INVALID_REQUEST' && body.error.param === 'path', path);
  }
  assert.deepEqual(await sql(installation, "select 1 from contacts where email_key = 'secret@example.com'"), []);
});

test('over HTTP the rows that failed are behind a link; paths are refused (R-371)', LIMIT, async (t) => {
  const installation = installationFor(t);
  const server = await installation.serve();
  const client = server.client(await installation.key('--brand', await installation.brandId()));
  const csv = 'email,note\nann@example.com,x\nbad,=1+1\n';
  const { status, body } = await client.post('/v1/contacts/import-csv', { csv });
  assert.equal(status, 200);
  assert.match(body.errorFileUrl, /^\/downloads\/[\w-]+$/);
  const stranger = server.client();
  const file = await stranger.get(body.errorFileUrl);
  assert.equal(file.status, 200);
  assert.equal(file.headers['content-type'], 'text/csv; charset=utf-8');
  assert.match(file.headers['content-disposition'], /^attachment/);
  assert.equal(file.body, "email,note,importLine,importError\r\nbad,'=1+1,3,The address has no '@'.\r\n");
  assert.equal((await stranger.request('HEAD', body.errorFileUrl)).status, 200);
  const forged = body.errorFileUrl.slice(0, -3) + (body.errorFileUrl.endsWith('AAA') ? 'BBB' : 'AAA');
  assert.equal((await stranger.get(forged)).status, 404);
  assert.equal((await stranger.get('/downloads/..%2f..%2fetc')).status, 404);
  assert.equal((await stranger.post(body.errorFileUrl, {})).status, 405);
  assert.equal((await client.get('/v1/contacts/import-csv')).status, 405);

  const refused = await client.post('/v1/contacts/import-csv', { path: '/etc/passwd' });
  assert.equal(refused.status, 400);
  assert.equal(refused.body.error.param, 'path');
  assert.match(refused.body.error.message, /local callers/);
  client.close();
  stranger.close();
});

test('a hundred addresses of an import are checked at once, more in the background (R-366, D-144)', LIMIT, async (t) => {
  const installation = installationFor(t, { DNS_SERVERS: '127.0.0.1:9' });
  const few = await installation.call('import_contacts_csv', { csv: 'email\nann@plain.test\nbob@plain.test\n', validate: true });
  assert.equal(few.summary.inserted, 2);
  assert.equal(few.validationJobId, undefined);
  assert.deepEqual(few.warnings.map(({ code, original }) => [code, original]), [['ADDRESS_UNCHECKED', 'ann@plain.test'], ['ADDRESS_UNCHECKED', 'bob@plain.test']]);
  assert.deepEqual(await sql(installation, 'select pool from jobs'), ['network'], 'the round that waits for the DNS is not among the others');

  const many = Array.from({ length: 101 }, (_, i) => `p${i}@plain.test\n`).join('');
  const { validationJobId, summary } = await installation.call('import_contacts_csv', { csv: `email\n${many}`, validate: true });
  assert.equal(summary.inserted, 101);
  assert.match(validationJobId, /^job_/);
  const [targets] = await sql(installation, "select count(*) from jobs where kind = 'validate_contacts'");
  assert.equal(targets, '1');
});

test('the longest names of 490 columns in characters of four bytes keep their values (R-371)', LIMIT, async (t) => {
  const installation = installationFor(t);
  // 64 characters each, the longest name: mathematical letters, whose order makes the names different.
  const nameOf = (i) => String.fromCodePoint(...Array.from({ length: 64 }, (_, at) => 0x1d400 + (at < 2 ? [i % 26, Math.floor(i / 26)][at] : 0)));
  const names = Array.from({ length: 490 }, (_, i) => nameOf(i));
  const csvOf = (value) => `email,${names.join(',')}\nann@example.com,${names.map((_, i) => `${value} ${i}`).join(',')}\n`;
  for (const [value, changed] of [['new', 'inserted'], ['old', 'updated']]) {
    const { status, summary, errors } = await installation.call('import_contacts_csv', { csv: csvOf(value) });
    assert.equal(status, 'completed');
    assert.deepEqual(errors, []);
    assert.equal(summary[changed], 1, changed);
    const [stored] = await sql(installation, "select custom_fields::text from contacts where email_key = 'ann@example.com'");
    assert.deepEqual(JSON.parse(stored), Object.fromEntries(names.map((name, i) => [name, `${value} ${i}`])));
  }
});

// Sanitizers keep much more than the program does.
const isSanitized = readFileSync(BINARY).includes('__asan_init');

test('the memory of an import does not depend on its file', { ...LIMIT, skip: isSanitized && 'a sanitized build' }, async (t) => {
  const installation = installationFor(t);
  const root = filesFor(installation);
  const file = openSync(join(root, 'wide.csv'), 'w');
  const columns = Array.from({ length: 100 }, (_, i) => `field ${i}`);
  const filler = 'x'.repeat(90);
  writeSync(file, `email,${columns.join(',')}\n`);
  for (let i = 0; i < 15_000; i++) writeSync(file, `${i % 2 ? '' : 'bad '}reader${i}@example.com,${columns.map(() => filler).join(',')}\n`);
  closeSync(file);
  const client = await assistant(installation, root);
  const { ok, body } = await client.toolToEnd('import_contacts_csv', { path: 'wide.csv' });
  assert.ok(ok, JSON.stringify(body));
  assert.deepEqual([body.summary.inserted, body.summary.failed], [7500, 7500]);
  const peakKib = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${installation.runnerPid}/status`, 'utf8'))[1]);
  t.diagnostic(`peak ${peakKib} KiB`);
  assert.ok(peakKib < MEMORY_LIMIT_KIB, `${peakKib} KiB`);
});

test('the command line shows a bar on a terminal, and nothing elsewhere', LIMIT, async (t) => {
  const installation = installationFor(t);
  const root = filesFor(installation);
  writeContacts(join(root, 'contacts.csv'), 200_000);
  const words = ['call', 'import_contacts_csv', '{"path":"contacts.csv"}', '--import-root', root];
  const quiet = await installation.run(...words);
  assert.equal(quiet.code, 0);
  assert.equal(quiet.stderr, '');
  const command = [BINARY, ...words].map((word) => `'${word}'`).join(' ');
  const shown = await new Promise((resolve) => {
    execFile('script', ['-qec', command, '/dev/null'], { env: installation.environment }, (problem, stdout) => resolve(stdout));
  });
  assert.match(shown, /\r\x1b\[K\[#*\.*\] +\d+% \d+ rows read, \d+ a second/);
  assert.match(shown, /\r\x1b\[K\{"importId"/, 'it is taken away before the answer');
});
