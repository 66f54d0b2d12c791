// Clients that use HTTP in unusual, slow or hostile ways, over every operation: they get the same answers as others or are refused,
// other clients do not wait for them, and nothing is written.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadCatalogue } from '../../cases/runner/catalogue.mjs';
import { Installation } from '../../lib/installation.mjs';
import { problemOf, shown } from './matrix_answers.mjs';
import { Requests, routesOf } from './matrix_requests.mjs';
import { Fixture, sums } from './matrix_fixture.mjs';
import { until } from '../../lib/processes.mjs';
import { RawConnection, chunked, headBytes, receiveAnswers, requestBytes } from '../../lib/raw_http.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const PIPELINED = 25;

describe('bad clients of every operation', { timeout: 600_000 }, () => {
  const installation = new Installation();
  const policies = JSON.parse(readFileSync(join(ROOT, 'schemas/policies.json'), 'utf8'));
  const routes = routesOf(loadCatalogue(ROOT));
  const operations = routes.flatMap((route) => route.operations);
  const openConnections = [];
  let server;
  let fixture;
  let requests;
  let client; // of a brand key

  before(async () => {
    server = await installation.serve('--log-level', 'error');
    fixture = await Fixture.make(installation, server, policies);
    requests = new Requests(fixture, policies);
    client = server.client(undefined, fixture.keys.brand);
  });

  after(async () => {
    client.close();
    openConnections.forEach((connection) => connection.close());
    assert.deepEqual(await installation.dispose(), []);
  });

  const connect = () => {
    const connection = new RawConnection(server.port);
    openConnections.push(connection);
    return connection;
  };

  async function say(method, bytes) {
    const connection = connect();
    await connection.send(bytes);
    const [answer] = await receiveAnswers(connection, [method]);
    connection.close();
    return answer;
  }

  const ask = (method, target, headers = {}, body) => say(method, requestBytes({ method, target, headers, body }));

  /** A test after which no table has changed. */
  const writesNothing = (run) => async (t) => {
    const before = await sums(installation);
    await run(t);
    assert.deepEqual(await sums(installation), before, 'something was written');
  };

  async function assertServes() {
    assert.equal((await client.get('/v1/brand')).status, 200);
  }

  /** The first request of each kind for each operation: a few hundred, of every method and with every sort of answer. */
  function someRequests() {
    for (const operation of operations) {
      requests.credentials(operation);
      requests.scopes(operation);
      requests.brand(operation);
      requests.keys(operation);
    }
    for (const route of routes) requests.bodies(route);
    const seen = new Set();
    return requests.take().filter(({ kind, operation }) => !seen.has(`${kind} ${operation.id}`) && seen.add(`${kind} ${operation.id}`));
  }

  function assertAnswers(asked, answers) {
    const problems = asked.flatMap((request, i) => {
      const problem = answers[i] ? problemOf(request, answers[i]) : 'no answer';
      return problem ? [shown(request, answers[i] ?? {}, problem)] : [];
    });
    assert.equal(problems.length, 0, `${problems.length} of ${asked.length} are wrong:\n${problems.slice(0, 20).join('\n')}`);
  }

  test('pipelined requests of every operation are answered in order, each as alone', writesNothing(async (t) => {
    const list = someRequests();
    assert.ok(list.length > 500);
    const batches = Array.from({ length: Math.ceil(list.length / PIPELINED) }, (_, i) => list.slice(i * PIPELINED, (i + 1) * PIPELINED));
    for (const batch of batches) {
      const connection = connect();
      await connection.send(Buffer.concat(batch.map(requestBytes)));
      assertAnswers(batch, await receiveAnswers(connection, batch.map(({ method }) => method)));
      connection.close();
    }
    t.diagnostic(`${list.length} requests in ${batches.length} pipelines`);
  }));

  test('bodies in chunks, cut anywhere, with extensions and trailers, say the same', writesNothing(async (t) => {
    const list = someRequests().filter(({ body }) => body !== undefined);
    assert.ok(list.length > 200);
    const cuts = [[1], [2, 1, 7], [1000]];
    const extras = [{}, { extension: ';a=b' }, { trailer: 'X-Later: yes\r\n' }];
    for (const [i, request] of list.entries()) {
      const plain = Buffer.from(typeof request.body === 'string' || Buffer.isBuffer(request.body) ? request.body : JSON.stringify(request.body));
      const headers = { ...request.headers, 'transfer-encoding': 'chunked' };
      const bytes = requestBytes({ ...request, headers, body: chunked(plain, cuts[i % 3], extras[Math.floor(i / 3) % 3]) });
      const connection = connect();
      // The cut between segments falls anywhere, in the middle of a chunk's size too.
      const cut = 1 + (i * 37) % (bytes.length - 1);
      await connection.send(bytes.subarray(0, cut));
      await connection.send(bytes.subarray(cut));
      assertAnswers([request], await receiveAnswers(connection, [request.method]));
      connection.close();
    }
    t.diagnostic(`${list.length} requests`);
  }));

  test('a trailer is no header: no credential, brand or key comes in behind a body (R-041, R-057)', writesNothing(async () => {
    const post = (headers, trailer) => {
      const body = chunked(Buffer.from('{"email":"trailer@example.com"}'), [10], { trailer });
      return say('POST', requestBytes({ method: 'POST', target: '/v1/contacts', headers: { ...headers, 'transfer-encoding': 'chunked' }, body }));
    };
    const { authorization } = fixture.keys.brand;
    assert.equal((await post({}, `Authorization: ${authorization}\r\n`)).body.error.code, 'AUTHENTICATION_REQUIRED');
    assert.equal((await post(fixture.keys.organization, `X-Brand-Id: ${fixture.brands.own}\r\n`)).body.error.code, 'BRAND_ID_REQUIRED');
  }));

  test('a chunk whose size is in doubt ends the connection, and nothing behind it is believed', writesNothing(async () => {
    const sizes = ['zz', '-1', '0x5', '+5', '5 5', '', ' 5', '5,5', 'fffffffffffffffff', '10000000000000000'];
    const smuggled = requestBytes({ method: 'POST', target: '/v1/contacts', headers: fixture.keys.brand, body: { email: 'smuggled@example.com' } });
    for (const size of sizes) {
      const head = headBytes('POST /v1/contacts HTTP/1.1', { host: 'x', ...fixture.keys.brand, 'transfer-encoding': 'chunked' });
      const connection = connect();
      await connection.send(Buffer.concat([head, Buffer.from(`${size}\r\n{"a"}\r\n0\r\n\r\n`), smuggled]));
      await connection.closed;
      const statuses = connection.statuses();
      assert.ok(statuses.every((status) => status >= 400 && status < 500), `${JSON.stringify(size)}: ${statuses}`);
      connection.close();
    }
    await assertServes();
  }));

  test('slow headers and slow bodies of every operation keep nobody waiting, and are answered when they are there', writesNothing(async () => {
    for (const operation of operations) requests.keys(operation);
    const firsts = new Map(requests.take().filter(({ kind }) => kind === 'body key').map((request) => [request.operation.id, request]));
    const slow = [...firsts.values()].map((request) => {
      const bytes = requestBytes(request);
      const body = bytes.indexOf('\r\n\r\n') + 4;
      return { request, bytes, connection: connect(), stops: [20, body - 10, body + 2, bytes.length - 1, bytes.length] };
    });
    let said = 0;
    for (let step = 0; step < 5; step++) {
      for (const { bytes, connection, stops } of slow) await connection.send(bytes.subarray(step === 0 ? 0 : stops[step - 1], stops[step]));
      if (step === 4) break;
      assert.ok(slow.every(({ connection }) => connection.received.length === 0), 'nobody is answered early');
      for (let i = 0; i < 5; i++) await assertServes();
      said++;
    }
    assert.equal(said, 4);
    for (const { request, connection } of slow) assertAnswers([request], await receiveAnswers(connection, [request.method]));
    slow.forEach(({ connection }) => connection.close());
  }));

  test('clients that leave in the middle of a good body have written nothing', writesNothing(async () => {
    const good = [
      ['POST', '/v1/contacts', { email: 'half@example.com' }], ['POST', '/v1/audiences', { name: 'Half', filters: { logic: 'and', filters: [] } }],
      ['POST', '/v1/email-groups', { name: 'Half' }], ['POST', '/v1/fields', { fieldName: 'half', fieldType: 'string' }],
      ['PATCH', '/v1/contacts/matrix%40example.com', { firstName: 'Half' }], ['POST', '/v1/emails/import', { content: '<p>Half</p>' }],
    ];
    for (const [method, target, body] of good) {
      for (const how of ['vanish', 'close', 'end']) {
        const bytes = requestBytes({ method, target, headers: fixture.keys.brand, body });
        const connection = connect();
        await connection.send(bytes.subarray(0, bytes.length - 1));
        if (how === 'end') connection.socket.end();
        else connection[how]();
      }
    }
    await assertServes();
  }));

  // ---- Headers ----

  test('two of a header that may be there once contradict each other, on every route (R-042, R-057)', writesNothing(async () => {
    const good = fixture.keys.brand.authorization;
    const twice = {
      Authorization: [good, good], 'X-API-Key': [good.slice(7), 'nonsense'], 'X-Brand-Id': [fixture.brands.own, fixture.brands.other],
      'Idempotency-Key': ['a', 'b'], 'Content-Type': ['application/json', 'text/plain'], Cookie: [fixture.session().cookie, '__session=nonsense'],
    };
    for (const [name, [first, second]] of Object.entries(twice)) {
      for (const { method, path } of routes) {
        const credential = /^(Auth|X-API|Cookie)/.test(name) ? {} : { authorization: good };
        const head = headBytes(`${method} ${path} HTTP/1.1`, { host: 'x', ...credential, [name]: first, [name.toLowerCase()]: second });
        const answer = await say(method, head);
        assert.equal(answer.status, 400, `${name} ${method}: ${answer.text}`);
        assert.equal(answer.body.error.code, 'INVALID_REQUEST', `${name} ${method}`);
        assert.equal(answer.headers.connection, 'close');
      }
    }
  }));

  test('many and long headers are served up to a bound and refused beyond it, on every method', async () => {
    const floods = [['X-Flood', 100, 50], ['X-Long', 1, 6000], ['X-Flood', 4000, 10], ['X-Long', 1, 200_000]];
    for (const [name, count, size] of floods) {
      const flood = Object.fromEntries(Array.from({ length: count }, (_, i) => [`${name}-${i}`, 'y'.repeat(size)]));
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        const answer = await say(method, headBytes(`${method} /v1/nothing HTTP/1.1`, { host: 'x', ...flood })).catch(() => undefined);
        if (count * size < 10_000) assert.equal(answer.body.error.code, 'NOT_FOUND', `${method} ${name}`);
        else assert.ok(answer === undefined || [400, 413, 431].includes(answer.status), `${method} ${name}: ${answer?.status}`);
      }
    }
    await assertServes();
  });

  test('a brand or a key that is no plain text is refused as such', async () => {
    const values = ['x'.repeat(5000), '\u00ff\u00fe', "brd_' or 1=1", 'brd_', '%00', '{}', 'null', `${fixture.brands.own},${fixture.brands.other}`];
    for (const value of values) {
      const named = await ask('GET', '/v1/brand', { ...fixture.keys.organization, 'x-brand-id': value });
      assert.equal(named.body.error.code, 'BRAND_NOT_FOUND', value.slice(0, 40));
      const key = await ask('GET', '/v1/brand', { 'x-api-key': value });
      assert.equal(key.body.error.code, 'INVALID_API_KEY', value.slice(0, 40));
    }
  });

  // ---- Paths ----

  test('paths are cut at slashes, then decoded once, and nothing else is made of them (R-032, R-037)', async () => {
    const paths = {
      '/v1/heal%74h': 200, '/v1/health?': 200, '/v1/health?&': 200,
      '/v1/emails/%2F': 'EMAIL_NOT_FOUND', '/v1/emails/%2e%2e': 'EMAIL_NOT_FOUND', '/v1/emails/..': 'EMAIL_NOT_FOUND',
      '/v1/emails/a%2Fb': 'EMAIL_NOT_FOUND', '/v1/emails/%2500': 'EMAIL_NOT_FOUND', '/v1/emails/+': 'EMAIL_NOT_FOUND',
      '/v1/emails/%20': 'EMAIL_NOT_FOUND', '/v1/emails/%E2%82%AC': 'EMAIL_NOT_FOUND', '/v1/emails/;x=1': 'EMAIL_NOT_FOUND',
      '/v1/emails%2Faudits': 'NOT_FOUND', '/v1%2Fhealth': 'NOT_FOUND', '/%76%31%2fhealth': 'NOT_FOUND', '/v1/emails/%00': 'NOT_FOUND',
      '/v1/emails/a%00': 'NOT_FOUND', '/v1/emails/%': 'NOT_FOUND', '/v1/emails/%4': 'NOT_FOUND', '/v1/emails/%zz': 'NOT_FOUND',
      '/v1/emails/%ff': 'NOT_FOUND', '/v1/emails/%c0%af': 'NOT_FOUND', '/v1/emails/%ed%a0%80': 'NOT_FOUND', '/v1/./health': 'NOT_FOUND',
      '/v1/../v1/health': 'NOT_FOUND', '/v1/x/%2e%2e/health': 'NOT_FOUND', '//v1/health': 'NOT_FOUND', '/v1//health': 'NOT_FOUND',
      '/v1/health/': 'NOT_FOUND', '/v1/health/.': 'NOT_FOUND', '/v1/health;x': 'NOT_FOUND', '/v1/health%20': 'NOT_FOUND',
      '/v1/health%3F': 'NOT_FOUND', '/v1/health#top': 'NOT_FOUND', '/V1/health': 'NOT_FOUND', '/v1/Health': 'NOT_FOUND', '/v1\\health': 'NOT_FOUND',
      '*': 'NOT_FOUND', '/': 'NOT_FOUND',
    };
    for (const [path, expected] of Object.entries(paths)) {
      const answer = await ask('GET', path, fixture.keys.brand);
      assert.equal(answer.status === 200 ? 200 : answer.body.error?.code, expected, path);
    }
  });

  test('an address in a path is the contact\'s, with + and %40 as they are meant (R-032)', async () => {
    const email = 'a+b%40c@example.com';
    assert.equal((await client.post('/v1/contacts', { email })).status, 201);
    assert.equal((await client.post('/v1/contacts', { email: 'a+b@example.com' })).status, 201);
    const patch = (segment) => ask('PATCH', `/v1/contacts/${segment}`, fixture.keys.brand, { firstName: segment });
    for (const segment of ['a+b%2540c@example.com', 'a%2Bb%2540c%40example.com']) {
      const { status, body } = await patch(segment);
      assert.equal(status, 200, JSON.stringify(body));
      assert.equal(body.email, email);
    }
    for (const segment of ['a+b@example.com', 'a%2Bb%40example.com', 'a%2bb@%65xample.com']) assert.equal((await patch(segment)).body.email, 'a+b@example.com');
    for (const segment of ['a%20b@example.com', 'a%252Bb%40example.com', 'a%2Bb%2540example.com']) {
      const { status, body } = await patch(segment);
      assert.ok(status === 404 || status === 400, `${segment}: ${JSON.stringify(body)}`);
    }
    for (const segment of ['a%2Bb%2540c%40example.com', 'a+b@example.com']) {
      assert.deepEqual((await ask('DELETE', `/v1/contacts/${segment}`, fixture.keys.brand)).body.deleted, true);
    }
  });

  test('long paths and queries are answered up to a bound and refused beyond it', async () => {
    const long = (size) => 'a'.repeat(size);
    const targets = [(size) => `/v1/emails/${long(size)}`, (size) => `/v1/${long(size)}`, (size) => `/v1/emails?cursor=${long(size)}`, (size) => `/v1/emails?${long(size)}=1`];
    for (const target of targets) {
      for (const size of [600, 7000]) {
        const answer = await ask('GET', target(size), fixture.keys.brand);
        assert.ok([400, 404].includes(answer.status), `${target(3)} ${size}: ${answer.status}`);
        assert.ok(answer.text.length < 2000, 'what was sent is not sent back');
        assert.ok(answer.body.error.code, answer.text);
      }
      // Past what libmicrohttpd takes in, the words are its own.
      for (const size of [40_000, 400_000]) {
        const answer = await ask('GET', target(size), fixture.keys.brand).catch(() => undefined);
        assert.ok(answer === undefined || [400, 414, 431].includes(answer.status), `${size}: ${answer?.status}`);
      }
    }
    await assertServes();
  });

  // ---- Methods and forms ----

  const sampleTarget = (path) => path.replace(/\{(\w+)\}/g, (_, name) => fixture.ids.own[fixture.kindOf(name, {})] ?? 'none');

  test('HEAD is GET without the body, on every route', async () => {
    const gets = routes.filter(({ method }) => method === 'GET');
    for (const { path, operations: [{ reach }] } of gets) {
      const headers = reach === 'organization' ? fixture.keys.organization : fixture.keys.brand;
      const [get, head] = [await ask('GET', sampleTarget(path), headers), await ask('HEAD', sampleTarget(path), headers)];
      assert.equal(head.status, get.status, path);
      assert.equal(head.text, '');
      assert.deepEqual(Object.keys(head.headers).sort(), Object.keys(get.headers).sort(), path);
      for (const name of ['content-type', 'content-length', 'cache-control', 'x-ratelimit-limit']) {
        assert.equal(head.headers[name], get.headers[name], `${path}: ${name}`);
      }
    }
    assert.ok(gets.length > 30);
  });

  test('HEAD is no GET where there is none, and no body follows it on the connection (R-036)', async () => {
    const connection = connect();
    const asked = [['HEAD', '/v1/contacts'], ['HEAD', '/v1/help'], ['HEAD', '/v1/nothing'], ['GET', '/v1/health']];
    await connection.send(Buffer.concat(asked.map(([method, target]) => requestBytes({ method, target }))));
    const answers = await receiveAnswers(connection, asked.map(([method]) => method));
    assert.deepEqual(answers.map(({ status }) => status), [405, 200, 404, 200]);
    assert.equal(answers[3].body.status, 'ok');
  });

  test('methods that no path takes are refused with those it does, on every path (R-036, R-037)', async () => {
    for (const path of new Set(routes.map((route) => route.path))) {
      for (const method of ['TRACE', 'CONNECT', 'PROPFIND', 'get', 'POSTS']) {
        const answer = await ask(method, sampleTarget(path), fixture.keys.brand);
        assert.equal(answer.status, 405, `${method} ${path}: ${answer.text}`);
        assert.equal(answer.body.error.code, 'METHOD_NOT_ALLOWED');
        assert.ok(answer.headers.allow.includes('OPTIONS'), `${method} ${path}`);
        assert.ok(!answer.text.includes(fixture.keys.brand.authorization.slice(7)), 'TRACE echoes nothing');
      }
    }
    assert.equal((await ask('CONNECT', 'example.com:443')).body.error.code, 'NOT_FOUND');
    assert.equal((await ask('OPTIONS', '*')).body.error.code, 'NOT_FOUND');
    assert.equal((await ask('TRACE', '/v1/nothing')).body.error.code, 'NOT_FOUND');
  });

  test('a target in absolute form is its path, whatever host it names (RFC 9112 §3.2.2)', async () => {
    const absolute = {
      'http://127.0.0.1/v1/health': 200, 'HTTP://example.com:80/v1/health': 200, 'https://[::1]/v1/health?': 200,
      'http://127.0.0.1/v1/health?nonsense=1': 'INVALID_REQUEST', 'http://127.0.0.1/v1/emails/none': 'EMAIL_NOT_FOUND',
      'http://127.0.0.1/v1/nothing': 'NOT_FOUND', 'http://127.0.0.1': 'NOT_FOUND', 'http://127.0.0.1?x=/v1/health': 'NOT_FOUND',
      'http:/v1/health': 'NOT_FOUND', 'http:///v1/health': 'NOT_FOUND', 'ftp://127.0.0.1/v1/health': 'NOT_FOUND', 'v1/health': 'NOT_FOUND',
    };
    for (const [target, expected] of Object.entries(absolute)) {
      const answer = await ask('GET', target, fixture.keys.brand);
      assert.equal(answer.status === 200 ? 200 : answer.body.error?.code, expected, target);
    }
  });

  test('HTTP/1.0 is served, and closed unless it is asked to stay', async () => {
    const connection = connect();
    await connection.send('GET /v1/health HTTP/1.0\r\n\r\n');
    const [answer] = await receiveAnswers(connection, ['GET']);
    assert.equal(answer.status, 200);
    await connection.closed;
    const kept = connect();
    for (let i = 1; i <= 2; i++) {
      await kept.send(headBytes('GET /v1/brand HTTP/1.0', { connection: 'keep-alive', ...fixture.keys.brand }));
      assert.equal((await receiveAnswers(kept, Array(i).fill('GET'))).at(-1).status, 200);
    }
    const body = '{"nonsense":1}';
    const posted = await say('POST', Buffer.concat([headBytes('POST /v1/contacts HTTP/1.0', { ...fixture.keys.brand, 'content-length': body.length }), Buffer.from(body)]));
    assert.equal(posted.body.error.param, 'nonsense');
  });

  test('a client that expects 100 is told to go on, unless it is refused already', writesNothing(async () => {
    const body = Buffer.from('{"nonsense":1}');
    for (const { method, path, operations: [operation] } of routes.filter((route) => ['POST', 'PUT', 'PATCH'].includes(route.method))) {
      const connection = connect();
      const headers = { ...(operation.reach === 'brand' ? fixture.keys.brand : fixture.keys.organization), expect: '100-continue', 'content-length': body.length };
      await connection.send(headBytes(`${method} ${sampleTarget(path)} HTTP/1.1`, { host: 'x', ...headers }));
      await until('it is told to go on', () => connection.received.toString('latin1').startsWith('HTTP/1.1 100 '));
      await connection.send(body);
      const [answer] = await receiveAnswers(connection, [method]);
      assert.ok([400, 403, 501].includes(answer.status), `${method} ${path}: ${answer.text}`);
      connection.close();
    }
    const huge = headBytes('POST /v1/contacts HTTP/1.1', { host: 'x', ...fixture.keys.brand, expect: '100-continue', 'content-length': 10_000_000 });
    assert.equal((await say('POST', huge)).status, 413);
  }));

  test('no upgrade is taken up', async () => {
    const upgrades = [
      { upgrade: 'websocket', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-version': 13 },
      { upgrade: 'h2c', 'http2-settings': 'AAMAAABkAARAAAAAAAIAAAAA' }, { upgrade: 'TLS/1.3' },
    ];
    for (const headers of upgrades) assert.equal((await ask('GET', '/v1/health', { ...headers, connection: 'Upgrade' })).status, 200);
    // The preface of HTTP/2 is no request of HTTP/1.1.
    const answer = await say('PRI', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n').catch(() => undefined);
    assert.ok(answer === undefined || [400, 404, 405, 505].includes(answer.status), answer?.line);
    await assertServes();
    assert.deepEqual(server.log.filter((line) => line.includes('INTERNAL_ERROR')), []);
  });
});
