// posthorn admin --batch, with the binary that POSTHORN_BIN names.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Operator } from './operator.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const binary = process.env.POSTHORN_BIN ?? join(root, 'build/release/posthorn');
const folder = mkdtempSync(join(tmpdir(), 'posthorn-batch-'));
chmodSync(folder, 0o755); // PostgreSQL does not run as root
const data = join(folder, 'data');

after(() => {
  execFileSync(binary, ['stop', '--data', data]);
  rmSync(folder, { recursive: true, force: true });
});

test('commands are answered in order, a line each, and a failed one ends nothing', async () => {
  const operator = new Operator(binary, data);
  const answers = await Promise.all([
    ['brand', 'create', 'First'], ['org', 'list', 'all'], 'no JSON', '[1]', '{}', JSON.stringify(Array(65).fill('x')), '[]',
    ['key', 'create', '--data', '/elsewhere'], ['key', 'create', '--database=x'], ['key', 'create', '--nothing'], ['org', 'plan', 'org_0', 'trial'],
    ['hit-rule', 'add', 'agent', 'x', 'bot'], ['hit-rule', 'add', 'network', '10.1.2.3/8', 'bot'], ['hit-rule', 'add', 'agent', 'Guard'],
    ['key', 'create', '--name', 'Two words', '--scopes', 'emails'], ['brand', 'list'],
  ].map((line) => operator.answer(line)));
  assert.equal(await operator.close(), 1);

  const expected = [undefined, /unexpected argument/, /not valid JSON/, /is a text/, /JSON list/, /at most 64 words/, /not an admin command/,
    /--data belongs to the process/, /--database belongs to the process/, /not an option/, /./, /3 to 60/, /bits behind/, /Name the actor/,
    undefined, undefined];
  for (const [index, message] of expected.entries()) {
    if (message) assert.match(answers[index].error.message, message);
    else assert.equal(answers[index].error, undefined);
  }
  assert.equal(answers[14].name, 'Two words');
  assert.ok(answers[15].data.some(({ brandId, name }) => brandId === answers[0].brandId && name === 'First'));
});

test('a command says in a batch what it says alone', async () => {
  const operator = new Operator(binary, data);
  const together = await operator.run('brand', 'list');
  assert.equal(await operator.close(), 0);
  assert.deepEqual(together, JSON.parse(execFileSync(binary, ['admin', 'brand', 'list', '--data', data])));
});

test('the end of a connection fails no later command', async () => {
  const operator = new Operator(binary, data);
  await operator.run('brand', 'list');
  const { database } = JSON.parse(execFileSync(binary, ['doctor', '--data', data]));
  const cut = "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = 'posthorn admin'";
  assert.equal(execFileSync('psql', [database.url, '-qXAt', '-c', cut]).toString().trim(), '1');
  await operator.answer(['brand', 'list']);
  assert.ok((await operator.run('brand', 'list')).data.length > 0);
  await operator.close();
});

test('a command beside --batch is refused', () => {
  const { status, stderr } = spawnSync(binary, ['admin', '--batch', 'brand', 'list', '--data', data], { encoding: 'utf8' });
  assert.equal(status, 2);
  assert.match(stderr, /standard input/);
});
