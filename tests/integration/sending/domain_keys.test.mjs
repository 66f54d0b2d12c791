// Signing keys and master keys, managed by the operator on the command line.

import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { existsSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { installationFor } from '../../lib/installation.mjs';

const dkim = ({ records }) => records.filter(({ record }) => record === 'dkim');
const names = (domain) => dkim(domain).map(({ state, name }) => `${state} ${name}`);

test('connecting a domain prints the records to publish', async (t) => {
  const installation = installationFor(t);
  const domain = await installation.admin('domain', 'create', 'B\u00fccher.example');
  assert.equal(domain.name, 'xn--bcher-kva.example');
  assert.equal(domain.status, 'pending');
  assert.deepEqual(names(domain), ['used ph1r._domainkey.xn--bcher-kva.example', 'used ph1e._domainkey.xn--bcher-kva.example']);

  const [rsa, ed25519] = dkim(domain);
  const [, der] = /^v=DKIM1; k=rsa; p=(\S+)$/.exec(rsa.value);
  const key = createPublicKey({ key: Buffer.from(der, 'base64'), format: 'der', type: 'spki' });
  assert.equal(key.asymmetricKeyType, 'rsa');
  assert.equal(key.asymmetricKeyDetails.modulusLength, 2048);
  assert.match(ed25519.value, /^v=DKIM1; k=ed25519; p=[A-Za-z0-9+/]{43}=$/);
  for (const record of domain.records.filter(({ type }) => type === 'TXT')) {
    assert.ok(record.strings.every((text) => text.length <= 255), record.name);
    assert.equal(record.strings.join(''), record.value);
    const quoted = record.strings.map((text) => `"${text}"`).join(' ');
    assert.equal(record.zone, `${record.name}. 3600 IN TXT ( ${quoted} )`);
  }
  assert.equal(rsa.strings.length, 2);
  for (const name of ['xn--bcher-kva.example', '_dmarc.xn--bcher-kva.example', 'bounce.xn--bcher-kva.example']) {
    assert.ok(domain.records.some((record) => record.state === 'suggested' && record.name === name), name);
  }
  assert.deepEqual(await installation.admin('domain', 'records', 'b\u00fccher.example'), domain);
  assert.equal((await installation.admin('domain', 'verify', 'b\u00fccher.example', '--trust')).status, 'verified');
});

test('keys are rotated in two steps', async (t) => {
  const installation = installationFor(t);
  await installation.admin('domain', 'create', 'example.com');
  const old = ['ph1r', 'ph1e'].map((selector) => `${selector}._domainkey.example.com`);
  const fresh = ['ph2r', 'ph2e'].map((selector) => `${selector}._domainkey.example.com`);
  const waiting = await installation.admin('domain', 'rotate', 'example.com');
  assert.deepEqual(names(waiting), [...old.map((name) => `used ${name}`), ...fresh.map((name) => `waiting ${name}`)]);
  const exchanged = await installation.admin('domain', 'rotate', 'example.com', '--trust');
  assert.deepEqual(names(exchanged), fresh.map((name) => `used ${name}`));
  const { code, stderr } = await installation.run('admin', 'domain', 'rotate', 'example.com', '--trust');
  assert.equal(code, 1);
  assert.match(stderr, /INVALID_REQUEST/);
});

test('the master key is where it is wanted, and can be replaced', async (t) => {
  const installation = installationFor(t);
  const file = join(installation.folder, 'elsewhere.key');
  installation.environment.POSTHORN_KEY_FILE = file;
  const refused = await installation.run('admin', 'keys', 'add');
  assert.match(refused.stderr, /There is no key file yet/);
  await installation.admin('domain', 'create', 'example.com');
  assert.equal(existsSync(join(installation.data, 'master.key')), false);
  assert.equal(statSync(file).mode & 0o777, 0o600);

  assert.equal((await installation.admin('keys', 'add')).masterKey, 2);
  assert.equal((await installation.admin('keys', 'rewrap')).resealed, 2);
  assert.equal((await installation.admin('keys', 'rewrap')).resealed, 0);

  renameSync(file, `${file}.kept`);
  const lost = await installation.run('admin', 'domain', 'create', 'example.org');
  assert.equal(lost.code, 1);
  const [envelope, log] = lost.stderr.trim().split('\n').map((line) => JSON.parse(line));
  assert.equal(envelope.error.code, 'SERVICE_UNAVAILABLE');
  assert.match(log.cause, /sealed with master key 2/);
  renameSync(`${file}.kept`, file);
  await installation.admin('domain', 'create', 'example.org');

  const keys = readFileSync(file, 'utf8').split('\n').filter((line) => /^\d/.test(line)).map((line) => line.split(' ')[1]);
  assert.equal(keys.length, 2);
  for (const key of keys) assert.ok(!`${lost.stderr}${installation.runnerLog}`.includes(key), 'no key is logged');
});
