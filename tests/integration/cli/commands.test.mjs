// The command line over every operation: each operation has a command and a help text, and answers as REST does, on this machine and
// on a server. Exit codes and formats suit scripts. A fake server gives answers that a real one does not give on demand.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { BINARY, installationFor } from '../../lib/installation.mjs';
import { residentKib, until } from '../../lib/processes.mjs';
import { makePlace, must } from '../../lib/brand_fixture.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const LIMIT = { timeout: 600_000 };
const PEOPLE = 130;
const installation = installationFor({ after });
const declared = readdirSync(join(ROOT, 'schemas/operations'))
  .flatMap((file) => JSON.parse(readFileSync(join(ROOT, 'schemas/operations', file), 'utf8')))
  .filter(({ reach }) => reach !== 'session');
let place;
let remote;

before(async () => {
  const server = await installation.serve();
  place = await makePlace(installation, server);
  remote = { POSTHORN_URL: `http://127.0.0.1:${server.port}`, POSTHORN_KEY: place.key };
  const contacts = Array.from({ length: PEOPLE }, (_, i) => ({ email: `p${i}@example.com`, firstName: `P${i}` }));
  await must(place.rest.call('POST', '/v1/contacts', { contacts }));
});

/** Runs a command: {code, signal, stdout, stderr}. `look` is called with the child and all that it has printed, whenever it prints. */
function command(words, { input = '', env = {}, look } = {}) {
  const child = spawn(BINARY, words, { env: { ...installation.environment, POSTHORN_BRAND: place.brandId, ...env } });
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) {
    child[name].setEncoding('utf8').on('data', (text) => {
      said[name] += text;
      look?.(child, said);
    });
  }
  child.stdin.on('error', () => {}).end(input);
  return new Promise((resolve) => child.once('close', (code, signal) => resolve({ code, signal, ...said })));
}

/** The answer of a command that must go well. */
async function answer(words, options) {
  const { code, stdout, stderr } = await command(words, options);
  assert.equal(code, 0, `${words.join(' ')}: ${stderr}`);
  return JSON.parse(stdout);
}

/** A command on a terminal of its own. */
const onTerminal = (words, input = '') => {
  const line = [BINARY, ...words].map((word) => `'${word}'`).join(' ');
  return new Promise((resolve) => {
    const child = spawn('script', ['-qec', `stty cols 72; ${line}`, '/dev/null'], {
      env: { ...installation.environment, POSTHORN_BRAND: place.brandId, TERM: 'xterm' },
    });
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      said += text;
      if (/\[y\/N\] $/.test(said)) child.stdin.write(input);
    });
    child.once('close', (code) => resolve({ code, said: said.replaceAll('\r\n', '\n') }));
  });
};

const kebab = (name) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
const wordsOf = ({ id }) => id.split('.').map(kebab);
const operandsOf = ({ route }) => [...(route ?? '').matchAll(/\{(\w+)\}/g)].map(([, name]) => name);

/** `ask(number, request, body)` gives [status, body, headers] of the nth request, or nothing: then the connection is cut. */
async function fakeServer(t, ask) {
  let count = 0;
  const server = http.createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      const [status, answered, headers = {}] = ask(count++, request, body) ?? [];
      if (status === undefined) return request.socket.destroy();
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(answered));
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return { POSTHORN_URL: `http://127.0.0.1:${server.address().port}`, POSTHORN_KEY: 'ph_key' };
}

const page = (rows, cursor) => ({ data: rows, pagination: { limit: rows.length, cursor, hasMore: cursor !== null } });

test('every operation has a command with help, and every endpoint of the service is one of them', LIMIT, async () => {
  const { paths } = await must(place.rest.call('GET', '/openapi.json'));
  const served = Object.values(paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId));
  const ids = new Set(declared.map(({ id }) => id));
  for (const id of served.filter((operation) => operation && !operation.startsWith('apiKeys.'))) assert.ok(ids.has(id), id);
  const lists = new Map();
  const look = async (operation) => {
    const [domain, verb] = wordsOf(operation);
    if (!lists.has(domain)) lists.set(domain, (await command([domain, '--help'])).stdout);
    assert.match(lists.get(domain), new RegExp(`^  ${verb} `, 'm'), operation.id);
    const { code, stdout } = await command([domain, verb, '--help']);
    assert.equal(code, 0, operation.id);
    assert.ok(stdout.includes(operation.summary.split('\n')[0]), operation.id);
    if (operation.route !== null) assert.ok(stdout.includes(operation.route), operation.id);
    assert.equal(stdout.includes('NOT_IMPLEMENTED'), operation.built === false, operation.id);
    if (operation.built === false) return;
    for (const name of Object.keys({ ...operation.query, ...operation.body })) {
      assert.match(stdout, new RegExp(`--(query\\.|body\\.)?${kebab(name)} `), `${operation.id} ${name}`);
    }
  };
  for (let at = 0; at < declared.length; at += 8) await Promise.all(declared.slice(at, at + 8).map(look));
  const { stdout } = await command(['--help']);
  for (const domain of lists.keys()) assert.match(stdout, new RegExp(`\\b${domain}\\b`));
});

test('what is not built says so with a status of its own, here and there', LIMIT, async () => {
  for (const operation of declared.filter(({ built }) => built === false).slice(0, 3)) {
    for (const env of [{}, remote]) {
      const words = [...wordsOf(operation), ...operandsOf(operation), '--anything', 'x'];
      const { code, stdout, stderr } = await command(words, { env });
      assert.deepEqual({ code, stdout }, { code: 6, stdout: '' }, operation.id);
      assert.equal(JSON.parse(stderr).error.code, 'NOT_IMPLEMENTED', operation.id);
    }
  }
});

test('every read answers as REST does, here and there', LIMIT, async () => {
  const statusOf = (status) => (status < 300 ? 0 : status === 404 ? 3 : 1);
  let compared = 0;
  for (const operation of declared.filter(({ route, built, when }) => route?.startsWith('GET ') && built !== false && !when)) {
    const path = operation.route.slice('GET '.length).replace(/\{\w+\}/g, 'x');
    const rest = await place.rest.call('GET', path);
    for (const env of [{}, remote]) {
      const { code, stdout, stderr } = await command([...wordsOf(operation), ...operandsOf(operation).map(() => 'x')], { env });
      assert.equal(code, statusOf(rest.status), `${operation.id}: ${stderr}`);
      const body = JSON.parse(code === 0 ? stdout : stderr);
      if (code !== 0) assert.equal(body.error.code, rest.body.error.code, operation.id);
      else assert.deepEqual(Object.keys(body), Object.keys(rest.body), operation.id);
      if (env === remote) assert.deepEqual(body.data, rest.body.data, operation.id);
    }
    compared++;
  }
  assert.ok(compared > 15, `${compared} reads`);
});

test('a list of more than a page is followed to its end, as JSON, lines and a table', LIMIT, async () => {
  const query = ['contacts', 'search', '--sort', 'email', '--order', 'asc'];
  const first = await must(place.rest.call('POST', '/v1/contacts/search', { sort: 'email', order: 'asc' }));
  const second = await must(place.rest.call('POST', '/v1/contacts/search', { sort: 'email', order: 'asc', cursor: first.pagination.cursor }));
  const rows = [...first.data, ...second.data];
  assert.equal(rows.length, PEOPLE);
  for (const env of [{}, remote]) {
    assert.deepEqual(await answer(query, { env }).then(({ data }) => data), first.data);
    const all = await answer([...query, '--all', '--limit', '50'], { env });
    assert.deepEqual(all, { data: rows, pagination: { cursor: null, hasMore: false } });
    const { stdout: lines } = await command([...query, '--all', '-o', 'jsonl', '--fields', 'email'], { env });
    assert.deepEqual(lines.trimEnd().split('\n').map(JSON.parse), rows.map(({ email }) => ({ email })));
    const { stdout: table } = await command([...query, '--all', '--output=table', '--fields', 'email,firstName'], { env });
    assert.deepEqual(table.trimEnd().split('\n').map((line) => line.split(/ {2,}/)), [['email', 'firstName'], ...rows.map(({ email, firstName }) => [email, firstName])]);
  }
  // A list that is followed by the query of its address.
  for (let i = 0; i < 3; i++) await answer(['email-groups', 'create', '--name', `Folder ${i}`]);
  const groups = await must(place.rest.call('GET', '/v1/email-groups'));
  for (const env of [{}, remote]) assert.deepEqual((await answer(['email-groups', 'list', '--all', '--limit', '1'], { env })).data, groups.data);
});

test('one contact, from flags to its end, is what REST sees', LIMIT, async () => {
  for (const [name, env] of [['here', {}], ['there', remote]]) {
    const email = `${name}+o'x/y@example.com`;
    const flags = ['--first-name', 'Änn', '--custom-fields', '{"plan":"pro","seats":3}', '--consent.source', 'fair', '--subscribed'];
    const saved = await answer(['contacts', 'save', '--email', email, ...flags], { env });
    const found = await must(place.rest.call('POST', '/v1/contacts/search', { filters: { logic: 'and', filters: [{ field: 'email', operator: 'equals', value: email }] } }));
    assert.deepEqual(saved, found.data[0]);
    assert.deepEqual([saved.firstName, saved.customFields], ['Änn', { plan: 'pro', seats: 3 }]);
    const changed = await answer(['contacts', 'update', email, '--no-first-name', '--body', '-'], { env, input: '{"lastName":"Lee"}' });
    assert.deepEqual([changed.firstName, changed.lastName], [null, 'Lee']);
    assert.equal((await answer(['contacts', 'delete', email], { env })).deleted, true);
    const batch = join(installation.folder, 'batch.json');
    writeFileSync(batch, JSON.stringify({ contacts: [{ email: 'one@example.com' }, { email: 'two@example.com' }] }));
    assert.equal((await answer(['contacts', 'save-batch', '--body', `@${batch}`], { env })).summary.failed, 0);
    assert.equal((await answer(['contacts', 'delete-batch', '--emails', 'one@example.com,two@example.com'], { env })).deletedCount, 2);
    const html = join(installation.folder, 'design.html');
    writeFileSync(html, '<p>Hello</p>');
    const { emailId } = await answer(['emails', 'import', '--content', `@${html}`, '--title', name], { env });
    assert.equal((await answer(['emails', 'get', emailId], { env })).title, name);
    const trial = await answer(['sends', 'test', '--email-id', emailId, '--to', 'me@example.com', '--subject', 'Hi'], { env });
    assert.deepEqual(trial, { status: 'completed', recipient: 'me@example.com', captured: true, emptyValues: [] });
  }
});

test('numbers are shown as they were given', LIMIT, async (t) => {
  const env = await fakeServer(t, () => [200, page([{ rate: 0.1, share: 1 / 3 }], null)]);
  const list = ['email-groups', 'list', '--fields', 'rate,share'];
  assert.equal((await command([...list, '-o', 'jsonl'], { env })).stdout, `{"rate":0.1,"share":${1 / 3}}\n`);
  assert.equal((await command([...list, '-o', 'table'], { env })).stdout, `rate  share\n0.1   ${1 / 3}\n`);
});

test('errors have a status to branch on: the envelope for programs, sentences for people', LIMIT, async () => {
  for (const env of [{}, remote]) {
    const expected = { 1: ['contacts', 'search', '--limit', '500'], 3: ['emails', 'get', 'eml_none'] };
    for (const [status, words] of Object.entries(expected)) {
      const { code, stdout, stderr } = await command(words, { env });
      assert.deepEqual({ code, stdout }, { code: Number(status), stdout: '' });
      assert.ok(JSON.parse(stderr).error.code.length > 0);
      const people = await command([...words, '-o', 'table'], { env });
      assert.equal(people.code, Number(status));
      const { error } = JSON.parse(stderr);
      const said = [`posthorn ${words[0]} ${words[1]}: ${error.message}`, `  code: ${error.code}`, `  param: ${error.param}`, `  suggestion: ${error.suggestion}`];
      assert.deepEqual(people.stderr.trimEnd().split('\n'), said);
    }
    for (const words of [['contacts', 'serch'], ['contacts', 'search', '--limit', 'x'], ['contacts', 'save'], ['contacts', 'delete'],
      ['contacts', 'save', '--email', 'a@example.com', '--all'], ['contacts', 'search', '-o', 'xml'], ['contacts', 'search', '--wait'], ['api-keys', 'list']]) {
      const { code, stdout } = await command(words, { env });
      assert.deepEqual({ code, stdout }, { code: 2, stdout: '' }, words.join(' '));
    }
  }
  assert.equal((await command(['brand', 'read'], { env: { ...remote, POSTHORN_KEY: 'nonsense' } })).code, 4);
  const { code, stderr } = await command(['brand', 'read'], { env: { ...remote, POSTHORN_URL: 'http://127.0.0.1:1' } });
  assert.equal(code, 5);
  assert.equal(JSON.parse(stderr).error.code, 'SERVICE_UNAVAILABLE');
  const local = await command(['emails', 'personalize', '--email-id', 'eml_1'], { env: remote });
  assert.equal(local.code, 2);
  assert.match(local.stderr, /not available over REST, .*posthorn call get_email/);
  const [guide, help] = [readFileSync(join(ROOT, 'docs/reference/command-line.md'), 'utf8'), (await command(['contacts', '--help'])).stdout];
  const told = [...help.slice(help.indexOf('Exit status:')).matchAll(/^ +(\d+) {2}(.*)$/gm)];
  assert.ok(told.length > 6);
  for (const [, status, words] of told) assert.ok(guide.includes(`| ${status} | ${words} |`), words);
});

test('on a terminal: a table that fits, sentences, and a question before something is deleted', LIMIT, async () => {
  const { said } = await onTerminal(['contacts', 'search', '--sort', 'email', '--order', 'asc', '--limit', '2', '--fields', 'email,firstName,source']);
  assert.match(said, /^email +firstName +source\np0@example.com +P0 +API\np100@example.com +P100 +API\n\(more follow: --all, or --cursor '\S+'\)\n$/);
  for (const line of (await onTerminal(['contacts', 'search', '--limit', '3'])).said.split('\n').filter((text) => /^(id|con_)/.test(text)))
    assert.ok(line.length <= 72, line);
  const refused = await onTerminal(['emails', 'get', 'eml_none']);
  assert.equal(refused.code, 3);
  assert.match(refused.said, /^posthorn emails get: .*\n  code: EMAIL_NOT_FOUND\n/);
  await must(place.rest.call('POST', '/v1/contacts', { email: 'zz@example.com', firstName: 'Z\u009b31m\u202e' }));
  for (const words of [['contacts', 'search', '--search', 'zz@', '-o', 'json'], ['contacts', 'search', '--search', 'zz@', '-o', 'jsonl', '--fields', 'firstName'],
    ['contacts', 'search', '--search', 'zz@', '--all', '-o', 'json'], ['call', 'search_contacts', '{"search":"zz@"}'], ['contacts', 'search', '--search', 'zz@']]) {
    const { code, said: shown } = await onTerminal(words);
    assert.equal(code, 0, shown);
    assert.match(shown, /Z\\(u009b31m\\u202e|x9b31m\\u\{202e\})/, words.join(' '));
  }
  const group = await answer(['email-groups', 'create', '--name', 'To go']);
  const words = ['email-groups', 'delete', group.groupId];
  const kept = await onTerminal(words, 'n\n');
  assert.equal(kept.code, 1);
  assert.match(kept.said, /nothing was done/);
  assert.equal((await onTerminal(words, 'y\n')).code, 0);
  assert.match((await onTerminal([...words, '--yes'])).said, /^deleted +false$/m);
});

test('a POST whose connection is lost is repeated under its idempotency key; what has none is not', LIMIT, async (t) => {
  const seen = [];
  const env = await fakeServer(t, (number, request, body) => {
    seen.push({ method: request.method, url: request.url, key: request.headers['idempotency-key'], api: request.headers['x-api-key'], body });
    return number === 0 ? undefined : [200, { ok: true }];
  });
  assert.deepEqual(await answer(['contacts', 'save', '--email', 'a@example.com', '--url', env.POSTHORN_URL, '--key', 'ph_key']), { ok: true });
  assert.equal(seen.length, 2);
  assert.deepEqual(seen[0], seen[1]);
  assert.ok(seen[0].key.length >= 16);
  assert.deepEqual([seen[0].method, seen[0].url, seen[0].api, seen[0].body], ['POST', '/v1/contacts', 'ph_key', '{"email":"a@example.com"}']);
  await answer(['contacts', 'save', '--email', 'b@example.com', '--idempotency-key', 'mine'], { env });
  assert.equal(seen.at(-1).key, 'mine');
  await answer(['templates', 'get', '..'], { env });
  assert.equal(seen.at(-1).url, '/v1/templates/..');
  assert.equal((await command(['brand', 'read', '--key', 'a\r\nb: c'], { env })).code, 1);
  let key;
  const cut = await fakeServer(t, (number, { headers }) => ((key = headers['idempotency-key']), seen.push('cut'), undefined));
  const lost = async (env, ...words) => {
    const { code, stderr } = await command(words, { env });
    assert.equal(code, words[0] === 'call' ? 1 : 5);
    return JSON.parse(stderr).error.message;
  };
  assert.match(await lost(cut, 'contacts', 'update', 'a@example.com', '--first-name', 'A'), / It is unknown whether the call took effect\.$/);
  assert.equal(seen.filter((one) => one === 'cut').length, 1);
  const said = await lost(cut, 'contacts', 'save', '--email', 'a@example.com');
  assert.ok(said.endsWith(` It is unknown whether the call took effect; repeat it with --idempotency-key '${key}' to execute it only once.`), said);
  assert.match(await lost(cut, 'call', 'save_contact', '{}'), / It is unknown whether the call took effect\.$/);
  assert.doesNotMatch(await lost(cut, 'contacts', 'search'), /is unknown/);
  assert.doesNotMatch(await lost({ POSTHORN_URL: 'http://127.0.0.1:1' }, 'contacts', 'save', '--email', 'a@example.com'), /is unknown/);
});

test('a server that has had too many calls is waited for while a list is followed, and is a status otherwise', LIMIT, async (t) => {
  const times = [];
  const busy = [429, { error: { code: 'RATE_LIMITED', message: 'Slowly.', retryAfter: 1 } }, { 'retry-after': '1' }];
  const env = await fakeServer(t, (number) => {
    times.push(Date.now());
    return number === 1 ? busy : [200, page([{ id: number }], number < 3 ? `c${number}` : null)];
  });
  const all = await answer(['email-groups', 'list', '--all'], { env });
  assert.deepEqual(all.data.map(({ id }) => id), [0, 2, 3]);
  assert.ok(times[2] - times[1] >= 900, `${times[2] - times[1]} ms`);
  assert.equal((await command(['email-groups', 'list'], { env: await fakeServer(t, () => busy) })).code, 5);
});

test('an interrupt closes the JSON where it stopped; an error on the way does too; a reader may leave', LIMIT, async (t) => {
  const endless = await fakeServer(t, (number) => [200, page([{ id: `row ${number}`, text: 'x'.repeat(2000) }], `c${number}`)]);
  const words = ['email-groups', 'list', '--all'];
  let interrupted = false;
  const stopped = await command(words, {
    env: endless,
    look: (child, { stdout }) => {
      if (stdout.includes('row 20"') && !interrupted) interrupted = child.kill('SIGINT');
    },
  });
  assert.deepEqual([stopped.code, stopped.signal], [130, null]);
  const { data, pagination } = JSON.parse(stopped.stdout);
  assert.ok(data.length > 20);
  assert.deepEqual(pagination, { cursor: `c${data.length - 1}`, hasMore: true });

  const failing = await fakeServer(t, (number) => (number < 2 ? [200, page([{ id: number }], `c${number}`)] : [500, { error: { code: 'INTERNAL_ERROR', message: 'No.' } }]));
  const failed = await command(words, { env: failing });
  assert.equal(failed.code, 1);
  assert.deepEqual(JSON.parse(failed.stdout), { data: [{ id: 0 }, { id: 1 }], pagination: { cursor: 'c1', hasMore: true } });
  assert.equal(JSON.parse(failed.stderr).error.code, 'INTERNAL_ERROR');

  const left = await command(words, { env: endless, look: (child) => child.stdout.destroy() });
  assert.deepEqual([left.code, left.stderr], [0, '']);
});

test('what has no end is noticed: input that never stops, a list that leads back, an answer larger than memory', LIMIT, async (t) => {
  for (const words of [['contacts', 'save', '--body', '@/dev/zero'], ['contacts', 'import-csv', '--csv', '@/dev/zero'], ['call', 'save_contact', '@/dev/zero']]) {
    const { code, stderr } = await command(words);
    assert.equal(code, words[0] === 'call' ? 1 : 2, words.join(' '));
    assert.match(stderr, /is larger than \d+ bytes/);
  }
  for (const length of [1, 2, 5]) {
    const circle = await fakeServer(t, (number) => [200, page([{ id: number }], number < 3 ? `way ${number}` : `c${(number - 3) % length}`)]);
    const { code, stdout, stderr } = await command(['email-groups', 'list', '--all'], { env: circle });
    assert.equal(code, 1, stdout);
    assert.match(JSON.parse(stderr).error.message, /a repeated one/);
    const { data, pagination } = JSON.parse(stdout);
    assert.ok(data.length < 30, `${data.length} rows`);
    assert.equal(pagination.hasMore, true);
  }
  const MIB = 1024 * 1024;
  const large = await command(['brand', 'read'], { env: await fakeServer(t, () => [200, 'x'.repeat(65 * MIB)]) });
  assert.equal(large.code, 1);
  assert.match(JSON.parse(large.stderr).error.message, /answered with more than 64 MiB/);
});

test('a word too much is told, not passed over', LIMIT, async () => {
  const { keyId, key } = await answer(['admin', 'key', 'create', '--name', 'Kept']);
  assert.ok(key);
  for (const [code, ...words] of [[2, 'stop', 'now'], [2, 'serve', 'here'], [2, 'call', 'search_contacts', '{}', '{}'], [2, 'why', 'a@example.com', 'snd_1', 'x'],
    [1, 'admin', 'key', 'revoke', 'key_0', keyId], [1, 'admin', 'org', 'list', 'all'], [1, 'admin', 'key', 'create', 'Name']]) {
    const said = await command(words);
    assert.deepEqual([said.code, said.stdout], [code, ''], words.join(' '));
    assert.match(said.stderr, /is an unexpected/, words.join(' '));
  }
  const { data } = await answer(['admin', 'key', 'list']);
  assert.equal(data.find((one) => one.keyId === keyId).status, 'active');
});

test('a key stays with whom it is for: not in the list of processes, not to an address without a scheme', LIMIT, async (t) => {
  const seen = [];
  const env = await fakeServer(t, (number, request) => {
    const shown = seen.pid === undefined ? [] : readFileSync(`/proc/${seen.pid}/cmdline`, 'latin1').split('\0');
    seen.push({ key: request.headers['x-api-key'] ?? request.headers.authorization, shown });
    return [200, { ok: true }];
  });
  const KEY = 'ph_very_secret';
  for (const words of [['brand', 'read', '--key', KEY], ['brand', 'read', `--key=${KEY}`], ['tools', '--key', KEY], ['tools', '--key', KEY, '--database', 'postgres://u:p@h/d']]) {
    const child = spawn(BINARY, words, { env: { ...installation.environment, POSTHORN_URL: env.POSTHORN_URL } });
    seen.pid = child.pid;
    await new Promise((resolve) => child.once('close', resolve));
    delete seen.pid;
    const { key, shown } = seen.at(-1);
    assert.ok(key.endsWith(KEY), key);
    assert.equal(shown.filter((word) => /secret|postgres:/.test(word)).length, 0, shown.join(' '));
    assert.ok(shown.includes(words.at(-1).startsWith('--key=') ? `--key=${'*'.repeat(KEY.length)}` : '*'.repeat(KEY.length)), shown.join(' '));
  }
  assert.equal(seen.length, 4);
  for (const url of [env.POSTHORN_URL.slice('http://'.length), 'file:///etc/passwd', `${env.POSTHORN_URL}?x=`])
    for (const words of [['brand', 'read'], ['tools'], ['call', 'get_brand']])
      assert.equal((await command([...words, '--url', url, '--key', KEY])).code, 2, url);
  assert.equal((await command(['brand', 'read', '--url', `${env.POSTHORN_URL}/`, '--key', KEY])).code, 0);
  const asked = seen.length;
  for (const blank of ['', '  ']) {
    const { code, stderr } = await command(['contacts', 'save', '--email', 'a@example.com', '--idempotency-key', blank], { env });
    assert.deepEqual([code, JSON.parse(stderr).error.param], [1, 'idempotencyKey']);
  }
  assert.equal(seen.length, asked);
});

test('what could not be written is no success, whatever wrote it; a reader that has left is', LIMIT, async () => {
  const into = (words, end) => new Promise((resolve) => {
    const child = spawn('bash', ['-o', 'pipefail', '-c', `"$0" "$@" ${end}`, BINARY, ...words], { env: { ...installation.environment, POSTHORN_BRAND: place.brandId } });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text));
    child.once('close', (code) => resolve([code, stderr.replace(/^posthorn \S+:/, 'posthorn:')]));
  });
  for (const words of [['contacts', 'search'], ['contacts', 'search', '--all'], ['call', 'search_contacts'], ['tools'], ['--help'], ['admin', 'key', 'list']]) {
    assert.deepEqual(await into(words, '> /dev/full'), [1, 'posthorn: cannot write the output\n'], words.join(' '));
    assert.deepEqual(await into(words, '| true'), [0, ''], words.join(' '));
  }
});

test('--wait waits for the end of a send, and an interrupt ends the waiting', LIMIT, async () => {
  const { emailId } = await answer(['emails', 'import', '--content', '<p>Hello</p>', '--title', 'Waited for']);
  const { data: [{ domainId }] } = await answer(['domains', 'list']);
  const order = (id) => ['sends', 'create', '--email-id', id, '--domain-id', domainId, '--audience-id', 'all', '--subject', 'Hi'];
  const { sendId } = await answer(order(emailId));
  const ended = await answer(['sends', 'get', sendId, '--wait']);
  assert.equal(ended.status, 'completed', JSON.stringify(ended));

  const copy = await answer(['emails', 'clone', emailId]);
  const later = await answer([...order(copy.emailId), '--scheduled-at', new Date(Date.now() + 86_400_000).toISOString()], { env: remote });
  const waiting = spawn(BINARY, ['sends', 'get', later.sendId, '--wait'], { env: { ...installation.environment, POSTHORN_BRAND: place.brandId } });
  const end = new Promise((resolve) => waiting.once('exit', (code, signal) => resolve({ code, signal })));
  const SIGINT_BIT = 2n;
  await until('it takes interrupts as a wish', () => {
    const blocked = /^SigBlk:\s+(\w+)/m.exec(readFileSync(`/proc/${waiting.pid}/status`, 'latin1'));
    return (BigInt(`0x${blocked[1]}`) & SIGINT_BIT) !== 0n;
  }, 60_000);
  waiting.kill('SIGINT');
  assert.deepEqual(await end, { code: 130, signal: null });
});

test('a list may be as long as it likes: memory holds a page of it', LIMIT, async (t) => {
  const [pages, bytes, mostKib] = [60, 500_000, 60_000];
  let pid;
  let kept = 0;
  const text = 'x'.repeat(bytes);
  const env = await fakeServer(t, (number) => {
    if (number > 10) kept = Math.max(kept, residentKib(pid));
    return [200, page([{ text }], number < pages ? `c${number}` : null)];
  });
  const { code, stdout } = await command(['email-groups', 'list', '--all', '-o', 'jsonl'], {
    env: { ...env, ASAN_OPTIONS: 'quarantine_size_mb=1' },
    look: (child) => (pid = child.pid),
  });
  assert.equal(code, 0);
  assert.ok(stdout.length > pages * bytes);
  assert.ok(kept > 0 && kept < mostKib, `${kept} KiB`);
});

test('a tool is called, and the tools are listed, on a server as well', LIMIT, async () => {
  const saved = await answer(['call', 'save_contact', '{"email":"tool@example.com"}'], { env: remote });
  assert.equal(saved.email, 'tool@example.com');
  const refused = await command(['call', 'get_email', '{"emailId":"eml_none"}'], { env: remote });
  assert.equal(refused.code, 1);
  assert.equal(JSON.parse(refused.stderr).error.code, 'EMAIL_NOT_FOUND');
  const [here, there] = [await command(['tools']), await command(['tools'], { env: remote })];
  assert.match(there.stdout, /^search_contacts /m);
  for (const line of there.stdout.trimEnd().split('\n')) assert.ok(here.stdout.includes(line), line);
});

test('what answers, but not as a Posthorn server, is no success', LIMIT, async (t) => {
  const server = http.createServer((request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { code, stdout, stderr } = await command(['brand', 'read'], { env: { POSTHORN_URL: `http://127.0.0.1:${server.address().port}` } });
  assert.deepEqual([code, stdout], [5, '']);
  assert.match(stderr, /does not answer like a Posthorn server/);
});
