// Bad input and bad clients, over stdio and HTTP: the server refuses the input with its own errors, serves its other clients, and
// neither its memory nor its descriptors grow.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { RawConnection } from '../../lib/raw_http.mjs';
import { BINARY, Installation, installationFor } from '../../lib/installation.mjs';
import { descriptorNames, openDescriptors, pause, residentKib, until, untilStill, writtenBytes } from '../../lib/processes.mjs';

const LIMIT = { timeout: 600_000 };
const MIB_KIB = 1024;
/** What allocators and thread stacks may keep after a storm. */
const GROWTH_LIMIT_KIB = 24 * MIB_KIB;
/** Threads that connect to the database when they are needed for the first time, which may be after the warm-up. */
const LATE_CONNECTIONS = 8;
const MESSAGE_MAX_BYTES = 8 * 1024 * 1024;
const ACCEPT = { accept: 'application/json, text/event-stream' };
const INVALID_UTF8 = Buffer.from([0x22, 0xff, 0xfe, 0xc3, 0x28, 0x22]);

// A sanitizer keeps freed memory aside on purpose.
const COUNTS_MEMORY = !readFileSync(BINARY).includes('__asan_init');

function assertGrowth(test, grownKib, limitKib) {
  test.diagnostic(`${grownKib} KiB more`);
  if (COUNTS_MEMORY) assert.ok(grownKib < limitKib, `${grownKib} KiB more, at most ${limitKib} are expected`);
}

const nested = (depth) => '['.repeat(depth) + ']'.repeat(depth);

// ---- stdio ----

/** A line for which the answer must be this error, with no request named. */
const BAD_LINES = [
  ['half an object', '{', -32700],
  ['no JSON', 'hello', -32700],
  ['two values', '{"jsonrpc":"2.0","id":9,"method":"ping"} {}', -32700],
  ['invalid UTF-8', Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":9,"method":'), INVALID_UTF8, Buffer.from('}')]), -32700],
  ['NUL bytes', Buffer.from('{"jsonrpc":"2.0",\0"id":9,"method":"ping"}'), -32700],
  ['nothing but NUL bytes', Buffer.alloc(1000), -32700],
  ['deep nesting', nested(1000), -32700],
  ['very deep nesting', nested(500_000), -32700],
  ['deep nesting in parameters', `{"jsonrpc":"2.0","id":9,"method":"ping","params":{"a":${nested(200)}}}`, -32700],
  ['a duplicate key', '{"jsonrpc":"2.0","id":9,"id":10,"method":"ping"}', -32700],
  ['a number too large', `{"jsonrpc":"2.0","id":9,"method":"ping","params":{"a":1${'0'.repeat(400)}}}`, -32700],
  ['a number', '5', -32600],
  ['a text', '"ping"', -32600],
  ['an empty object', '{}', -32600],
  ['an empty batch', '[]', -32600],
  ['a batch', '[{"jsonrpc":"2.0","id":9,"method":"ping"}]', -32600],
  ['another version', '{"jsonrpc":"1.0","id":9,"method":"ping"}', -32600],
  ['an id that is no id', '{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600],
  ['a method that is no text', '{"jsonrpc":"2.0","id":9,"method":5}', -32600],
  ['a line too long', `{"jsonrpc":"2.0","id":9,"method":"${'x'.repeat(MESSAGE_MAX_BYTES + 1024 * 1024)}"}`, -32600],
];

const BAD_CALLS = [
  ['an unknown method', 'nothing/here', {}, -32601],
  ['parameters that are a list', 'tools/list', [1], -32600],
  ['no tool name', 'tools/call', {}, -32602],
  ['a tool name that is no text', 'tools/call', { name: 5 }, -32602],
  ['an unknown tool', 'tools/call', { name: 'drop_everything', arguments: {} }, -32602],
  ['arguments that are a list', 'tools/call', { name: 'save_contact', arguments: ['a@example.com'] }, -32602],
  ['a cursor from nowhere', 'tools/list', { cursor: 'nowhere' }, -32602],
  ['a NUL in a text', 'tools/call', { name: 'save_contact', arguments: { email: 'a\u0000b@example.com' } }, -32600],
];

/** Arguments that the tool refuses in its result, naming the field. */
const BAD_ARGUMENTS = [
  ['save_contact', { email: 'a@example.com', nonsense: 1 }, 'nonsense'],
  ['save_contact', { email: 'a@example.com', first_nam: 'A' }, 'first_nam'],
  ['delete_contacts', { emails: ['a@example.com'], dry_run: true }, 'dry_run'],
  ['save_contact', { email: { a: 1 } }, 'email'],
  ['save_contact', { email: 'no address' }, 'email'],
  ['save_contact', { email: 'a@example.com', firstName: 'x'.repeat(201) }, 'firstName'],
  ['save_contact', { email: 'a@example.com', subscribed: 'perhaps' }, 'subscribed'],
  ['save_contact', { contacts: 'all of them' }, 'contacts'],
  ['save_contact', { contacts: [] }, 'contacts'],
  ['save_contact', { contacts: Array(1001).fill({ email: 'a@example.com' }) }, 'contacts'],
  ['search_contacts', { limit: 0 }, 'limit'],
  ['search_contacts', { limit: 1e300 }, 'limit'],
  ['search_contacts', { limit: 'ten' }, 'limit'],
  ['search_contacts', { brandId: 7 }, 'brandId'],
  ['get_email_analytics', { view: 'everything' }, 'view'],
  ['get_capabilities', { topic: 'x'.repeat(100_000) }, 'topic'],
];

test('stdio: bad lines are refused one by one, and the next good one is served (R-417)', LIMIT, async (t) => {
  const client = installationFor(t).stdio();
  await client.initialize();
  for (const [what, line, code] of BAD_LINES) {
    client.others.length = 0;
    client.write(Buffer.concat([Buffer.from(line), Buffer.from('\n')]));
    assert.ok((await client.request('ping')).result, `after ${what}`);
    assert.equal(client.others.length, 1, `${what}: ${JSON.stringify(client.others)}`);
    const [{ error, id }] = client.others;
    assert.equal(error.code, code, `${what}: ${error.message}`);
    assert.ok(id === null || id === undefined || id === 9, what);
  }
  client.others.length = 0;
  client.write('\n\r\n   \n{"jsonrpc":"2.0","method":"notifications/unheard_of"}\r\n{"jsonrpc":"2.0","id":"stray","result":{}}\n');
  assert.ok((await client.request('ping')).result);
  assert.ok(client.others.length <= 1, 'blank lines and notifications are not answered');
  for (const [what, method, params, code] of BAD_CALLS) {
    assert.equal((await client.request(method, params)).error?.code, code, what);
  }
  assert.equal(await client.close(), 0);
});

test('stdio: bad arguments are results that say what is wrong (R-417)', LIMIT, async (t) => {
  const client = installationFor(t).stdio();
  await client.initialize();
  for (const [tool, args, param] of BAD_ARGUMENTS) {
    const { ok, body } = await client.tool(tool, args);
    const shown = `${tool} ${JSON.stringify(args).slice(0, 80)}: ${JSON.stringify(body)}`;
    assert.equal(ok, false, shown);
    assert.equal(body.error.code, 'INVALID_REQUEST', shown);
    assert.equal(body.error.param, param, shown);
    assert.ok(JSON.stringify(body).length < 2000, 'what was sent is not sent back');
  }
  assert.equal((await client.tool('search_contacts', { count: true })).body.count, 0, 'nothing was saved');
});

test('stdio: a truncated line at the end of input is answered, and the process leaves', LIMIT, async (t) => {
  const installation = installationFor(t);
  const endings = [['{"jsonrpc":"2.0","id":1,"meth', -32700], ['{"jsonrpc":"2.0","id":1,"method":"ping"}', undefined], ['', undefined]];
  for (const [line, expected] of endings) {
    const client = installation.stdio();
    const answered = line.endsWith('}') ? client.answer(1) : null;
    await client.write(line);
    assert.equal(await client.close(), 0);
    if (answered) assert.ok((await answered).result);
    assert.equal(client.others[0]?.error?.code, expected);
  }
});

test('stdio: a client that does not read holds up itself, not the memory, and misses nothing', LIMIT, async (t) => {
  const COUNT = 1000; // many times the memory that it may take
  const client = installationFor(t).stdio();
  await client.initialize();
  await client.request('tools/list', {});
  const before = residentKib(client.pid);
  client.output.pause();
  const answers = Array.from({ length: COUNT }, (_, i) => client.request('tools/list', {}, `list ${i}`));
  await untilStill('the server waits for its reader', () => writtenBytes(client.pid));
  assertGrowth(t, residentKib(client.pid) - before, 8 * MIB_KIB);
  client.output.resume();
  const lists = await Promise.all(answers);
  assert.ok(lists.every(({ result }) => result.tools.length > 0));
  assertGrowth(t, residentKib(client.pid) - before, 8 * MIB_KIB);
});

test('stdio: a client that disappears in the middle of calls leaves no process', LIMIT, async (t) => {
  const installation = installationFor(t, { IDLE: 1 });
  for (const leave of [(child) => child.kill('SIGKILL'), (child) => { child.stdin.destroy(); child.stdout.destroy(); }]) {
    // A host between us and the server, so that its death is the death of a stranger.
    const relay = `const { spawn } = require('node:child_process');
      const server = spawn(process.argv[1], ['mcp'], { stdio: ['pipe', 'pipe', 'ignore'] });
      process.stdin.pipe(server.stdin); server.stdout.pipe(process.stdout); server.stdin.on('error', () => {});
      process.stdout.on('error', () => process.exit()); process.stdin.on('end', () => process.exit());`;
    const host = spawn(process.execPath, ['-e', relay, BINARY], { env: installation.environment, stdio: ['pipe', 'pipe', 'ignore'] });
    host.stdin.on('error', () => {});
    const say = (message) => host.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    const clientInfo = { name: 'host', version: '1' };
    say({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } });
    await once(host.stdout, 'data');
    const callTool = (id, name, args) => say({ id, method: 'tools/call', params: { name, arguments: args } });
    for (let id = 2; id < 50; id++) callTool(id, 'save_contact', { email: `gone${id}@example.com` });
    for (let id = 50; id < 53; id++) callTool(id, 'import_email', { content: '<p>Hi</p>' });
    await pause(100);
    leave(host);
    const servers = () => installation.processes().filter(({ command }) => command.endsWith(' mcp'));
    await until('the server has followed its host', () => servers().length === 0);
    host.kill();
  }
  await until('the runner has left too', () => installation.processes().length === 0, 15_000);
});

// ---- HTTP ----

describe('HTTP', LIMIT, () => {
  const installation = new Installation();
  let server;
  let key;
  let client;
  let start; // {descriptors, residentKib} of the warm server

  before(async () => {
    server = await installation.serve('--log-level', 'error');
    key = await installation.key('--brand', await installation.brandId());
    client = server.client(key, {}, 4);
    await Promise.all(Array.from({ length: 200 }, (_, i) => client.post('/v1/contacts', { email: `warm${i}@example.com` })));
    await client.post('/v1/emails/import', { source: { kind: 'content', content: '<p>warm</p>' } });
    start = { descriptors: openDescriptors(server.pid), residentKib: residentKib(server.pid) };
  });

  after(async () => {
    client.close();
    assert.deepEqual(await installation.dispose(), []);
  });

  const connect = () => new RawConnection(server.port);
  const credential = () => `Host: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n`;
  const postHead = (path) => `POST ${path} HTTP/1.1\r\n${credential()}Content-Type: application/json\r\n`;

  async function assertServes() {
    const { status, body } = await client.get('/v1/brand');
    assert.equal(status, 200, JSON.stringify(body));
  }

  /** Sends `bytes` and waits until the server closes the connection by itself. Gives the statuses received. */
  async function statusesUntilClosed(bytes) {
    const connection = connect();
    await connection.send(bytes);
    await connection.closed;
    return connection.statuses();
  }

  /** The same for bytes that may be the start of more: the client ends its side, so that the server does not wait for the rest. */
  async function statusesOfAll(bytes) {
    const connection = connect();
    await connection.send(bytes);
    connection.socket.end();
    await connection.closed;
    return connection.statuses();
  }

  const assertRefusals = (statuses, what) => {
    assert.ok(statuses.every((status) => status < 500 || status === 501 || status === 503 || status === 505), `${what}: ${statuses}`);
    assert.ok(statuses.every((status) => status >= 400), `${what}: ${statuses}`);
  };

  test('what is no HTTP is refused or dropped', async () => {
    const nonsense = {
      'no HTTP': 'HELO example.com\r\n\r\n',
      'TLS': Buffer.from('16030100a5010000a10303', 'hex'),
      'zeros': Buffer.alloc(2000),
      'noise': Buffer.from(Array.from({ length: 4000 }, (_, i) => (i * 7919) % 256)),
      'no version': 'GET /v1/brand\r\n\r\n',
      'another version': 'GET /v1/brand HTTP/9.9\r\nHost: x\r\n\r\n',
      'no host': 'GET /v1/brand HTTP/1.1\r\n\r\n',
      'a NUL in the target': `GET /v1/\0brand HTTP/1.1\r\n${credential()}\r\n`,
      'a bad escape': `GET /v1/%zz HTTP/1.1\r\n${credential()}\r\n`,
      'an encoded NUL': `GET /v1/emails/%00 HTTP/1.1\r\n${credential()}\r\n`,
      'invalid UTF-8 in the path': `GET /v1/emails/%ff%fe HTTP/1.1\r\n${credential()}\r\n`,
      'invalid UTF-8 in the query': `GET /v1/emails?groupId=%ff HTTP/1.1\r\n${credential()}\r\n`,
      'an endless target': `GET /v1/${'a'.repeat(100_000)} HTTP/1.1\r\n${credential()}\r\n`,
      'climbing': `GET /v1/../../etc/passwd HTTP/1.1\r\n${credential()}\r\n`,
    };
    const doubts = {
      'two lengths': 'Content-Length: 0\r\nContent-Length: 5',
      'the same length twice, one of them a list': 'Content-Length: 0, 5',
      'length and chunks': 'Content-Length: 0\r\nTransfer-Encoding: chunked',
      'a length that is none': 'Content-Length: -5',
      'a huge length': 'Content-Length: 99999999999999999999',
      'an unknown encoding': 'Transfer-Encoding: gzip',
      'a hidden encoding': 'Transfer-Encoding : chunked',
      'a broken chunk': 'Transfer-Encoding: chunked\r\n\r\nzz',
      'an endless chunk': 'Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff',
    };
    for (const [what, bytes] of Object.entries(nonsense)) {
      assertRefusals(await statusesOfAll(bytes), what);
    }
    // Where the length of a body is in doubt, what follows may be a body or a request: nothing behind it is believed.
    const smuggled = `GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
    for (const [what, headers] of Object.entries(doubts)) {
      assertRefusals(await statusesUntilClosed(`POST /v1/contacts HTTP/1.1\r\n${credential()}${headers}\r\n\r\n${smuggled}`), what);
    }
    await assertServes();
  });

  test('bad bodies are 400 or 413 with the envelope, at REST and at MCP (R-006, R-417)', async () => {
    const bodies = {
      'half an object': '{"email":',
      'no JSON': 'email',
      'invalid UTF-8': Buffer.concat([Buffer.from('{"email":'), INVALID_UTF8, Buffer.from('}')]),
      'NUL bytes': Buffer.alloc(64),
      'a NUL in a text': '{"email":"a\\u0000@example.com"}',
      'deep nesting': `{"customFields":${nested(5000)}}`,
      'a lone surrogate': '{"email":"\\ud800@example.com"}',
      'a duplicate key': '{"email":"a@example.com","email":"b@example.com"}',
      'a number too large': '{"email":1e999}',
      'too many members': JSON.stringify(Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${i}`, i]))),
    };
    for (const [what, body] of Object.entries(bodies)) {
      const rest = await client.post('/v1/contacts', body);
      assert.equal(rest.status, 400, `${what}: ${JSON.stringify(rest.body)}`);
      assert.equal(rest.body.error.code, 'INVALID_REQUEST', what);
      const mcp = await client.post('/mcp', body, ACCEPT);
      assert.equal(mcp.status, 400, `${what}: ${JSON.stringify(mcp.body)}`);
      assert.ok([-32700, -32600].includes(mcp.body.error.code), what);
    }
    const large = Buffer.alloc(7 * 1024 * 1024, 0x20);
    assert.equal((await client.post('/v1/contacts', large)).status, 413);
    assert.equal((await client.post('/v1/contacts/search', Buffer.alloc(2 * 1024 * 1024, 0x20))).body.error.code, 'PAYLOAD_TOO_LARGE');
    assert.equal((await client.post('/mcp', Buffer.alloc(MESSAGE_MAX_BYTES + 1024, 0x20), ACCEPT)).status, 413);
    const declared = `${postHead('/v1/contacts')}Content-Length: 1000000000\r\n\r\n{`;
    assert.deepEqual(await statusesUntilClosed(declared), [413], 'a body too large to be sent is refused before it is');
    await assertServes();
  });

  test('pipelined and chunked requests are answered one by one, in order', async () => {
    const connection = connect();
    const paths = Array.from({ length: 100 }, (_, i) => (i % 3 === 0 ? '/v1/brand' : i % 3 === 1 ? '/v1/nothing' : '/v1/health'));
    await connection.send(paths.map((path) => `GET ${path} HTTP/1.1\r\n${credential()}\r\n`).join(''));
    await until('all are answered', () => connection.statuses().length === 100);
    assert.deepEqual(connection.statuses(), paths.map((path) => (path === '/v1/nothing' ? 404 : 200)));

    const body = JSON.stringify({ email: 'chunked@example.com' });
    await connection.send(`${postHead('/v1/contacts')}Transfer-Encoding: chunked\r\n\r\n`);
    for (const byte of body) await connection.send(`1\r\n${byte}\r\n`);
    await connection.send('0\r\n\r\n');
    await until('the chunks are answered', () => connection.statuses().length === 101);
    assert.equal(connection.statuses().at(-1), 201);
    connection.close();
  });

  test('a flood of headers is refused', async () => {
    const floods = [
      `X-Flood: ${'y'.repeat(1_000_000)}\r\n`,
      Array.from({ length: 20_000 }, (_, i) => `X-${i}: y\r\n`).join(''),
      `Cookie: ${'a=b; '.repeat(50_000)}\r\n`,
    ];
    for (const headers of floods) {
      assertRefusals(await statusesOfAll(`GET /v1/brand HTTP/1.1\r\n${credential()}${headers}\r\n`), 'header flood');
      await assertServes();
    }
  });

  test('clients that disappear before, in and after a request cost nothing', async () => {
    const request = (length, body) => `${postHead('/v1/contacts')}Content-Length: ${length}\r\n\r\n${body}`;
    const importing = JSON.stringify({ source: { kind: 'content', content: '<p>gone</p>'.repeat(1000) }, title: 'Gone' });
    const sayings = [
      '', 'GET /v1/br', request(1000, '{"email":'), request(31, '{"email":"gone@example.com"}   '),
      `GET /v1/help HTTP/1.1\r\n${credential()}\r\n`,
      `${postHead('/v1/emails/import')}Content-Length: ${importing.length}\r\n\r\n${importing}`,
    ];
    for (let i = 0; i < 120; i++) {
      const connection = connect();
      await connection.send(sayings[i % sayings.length]);
      if (i % 4 === 1) await pause(5);
      if (i % 2 === 0) connection.vanish();
      else connection.socket.end();
      setTimeout(() => connection.close(), 500);
    }
    await assertServes();
    await until('their descriptors are closed', () => openDescriptors(server.pid) <= start.descriptors + LATE_CONNECTIONS);
  });

  test('a reader that is slow while 10,000 answers are due holds up itself only', async (t) => {
    const READERS = 20;
    const EACH = 500;
    const before = residentKib(server.pid);
    const readers = Array.from({ length: READERS }, connect);
    for (const reader of readers) {
      reader.socket.pause();
      await reader.connected;
      reader.socket.write(`GET /v1/help HTTP/1.1\r\n${credential()}\r\n`.repeat(EACH));
    }
    await untilStill('the server has filled the sockets of its readers', () => writtenBytes(server.pid));
    for (let call = 0; call < 10; call++) await assertServes();
    const grown = residentKib(server.pid) - before;
    for (const reader of readers.slice(1)) reader.vanish();
    assertGrowth(t, grown, 16 * MIB_KIB);

    const [last] = readers;
    let answers = 0;
    last.socket.removeAllListeners('data');
    last.socket.on('data', (bytes) => (answers += bytes.toString('latin1').split('HTTP/1.1 200 OK').length - 1));
    last.socket.resume();
    await until('the one that reads again gets them all', () => answers >= EACH - 2);
    last.close();
  });

  test('slow requests and 200 idle connections do not keep others waiting', async () => {
    const idle = Array.from({ length: 200 }, connect);
    await Promise.all(idle.map(({ connected }) => connected));
    const slow = Array.from({ length: 60 }, connect);
    const trickle = setInterval(() => slow.forEach((connection, i) => connection.socket.write(i % 2 ? 'X' : 'G')), 100);
    for (const connection of slow) await connection.send(`GET /v1/brand HTTP/1.1\r\n${credential()}X-Slow: `);
    // The slow requests end after these only: a server that waited for them would never answer.
    for (let call = 0; call < 50; call++) await assertServes();
    clearInterval(trickle);
    assert.ok(slow.every((connection) => connection.received.length === 0), 'the slow requests are still coming');
    const late = await Promise.all(idle.slice(0, 5).map(async (connection) => {
      await connection.send(`GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n`);
      await until('an idle connection is served', () => connection.statuses().length === 1);
      return connection.statuses()[0];
    }));
    assert.deepEqual(late, Array(5).fill(200));
    [...idle, ...slow].forEach((connection) => connection.close());
  });

  test('more connections than it takes are turned away, and it takes new ones afterwards', async () => {
    const many = Array.from({ length: 1300 }, connect);
    await Promise.all(many.map(({ connected, closed }) => Promise.race([connected, closed])));
    many.forEach((connection) => connection.vanish());
    const fresh = server.client(key);
    await until('a new connection is served', () => fresh.get('/v1/brand').then(({ status }) => status === 200, () => false));
    fresh.close();
  });

  test('a message from a page of another origin, or for another host, is refused at /mcp', async () => {
    const message = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const origins = ['https://evil.example', 'null', 'http://127.0.0.1.evil.example'].map((origin) => ({ origin }));
    const strangers = [...origins, { host: 'evil.example' }, { host: '127.0.0.1.evil.example' }];
    for (const stranger of strangers) {
      assert.equal((await client.post('/mcp', message, { ...ACCEPT, ...stranger })).status, 403, JSON.stringify(stranger));
    }
    assert.equal((await client.post('/mcp', message, { ...ACCEPT, 'content-type': 'text/plain' })).status, 415);
    assert.equal((await client.post('/mcp', message, { accept: 'text/html' })).status, 406);
    assert.equal((await client.request('PUT', '/mcp', message)).status, 405);
    assert.equal((await client.post('/mcp', message, { ...ACCEPT, 'mcp-session-id': 'made-up' })).status, 404);
  });

  test('after all that nothing has leaked', async (t) => {
    await assertServes();
    client.close();
    await until('descriptors are back', () => openDescriptors(server.pid) <= start.descriptors + LATE_CONNECTIONS, 10_000).catch((error) => {
      throw new Error(`${error.message}: ${start.descriptors} at first, now ${descriptorNames(server.pid).join(' ')}`);
    });
    assertGrowth(t, residentKib(server.pid) - start.residentKib, GROWTH_LIMIT_KIB);
    assert.deepEqual(server.log.filter((line) => line.includes('INTERNAL_ERROR')), []);
  });
});

test('a log that nobody reads does not stop the work', LIMIT, async (t) => {
  const installation = installationFor(t);
  const server = await installation.serve('--log-level', 'info');
  const client = server.client(await installation.key('--brand', await installation.brandId()), {}, 20);
  server.ignoreLog();
  for (let i = 0; i < 400; i++) {
    const answers = await Promise.all(Array.from({ length: 20 }, () => client.get('/v1/brand')));
    assert.ok(answers.every(({ status }) => status === 200));
  }
  client.close();
});
