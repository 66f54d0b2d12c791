// The process as its caller sees it: lines in, lines out, and gone when the input ends.

import './patience.mjs';

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { afterEach, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../../src/render/sidecar/main.mjs', import.meta.url));
const { version } = JSON.parse(readFileSync(new URL('../../../src/render/sidecar/package.json', import.meta.url), 'utf8'));
const running = new Set();

class Side {
  constructor() {
    this.child = spawn(process.execPath, [MAIN], { stdio: ['pipe', 'pipe', 'pipe'] });
    running.add(this.child);
    this.exited = once(this.child, 'exit').finally(() => running.delete(this.child));
    this.errors = '';
    this.child.stderr.on('data', (chunk) => { this.errors += chunk; });
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }

  write(bytes) {
    this.child.stdin.write(bytes);
    return this;
  }

  send(message) {
    return this.write(`${JSON.stringify(message)}\n`);
  }

  async reply() {
    const { value, done } = await this.lines.next();
    return done ? null : JSON.parse(value); // every line of standard output must be JSON
  }

  async end() {
    this.child.stdin.end();
    const [code] = await this.exited;
    return code;
  }
}

afterEach(() => {
  for (const child of running) child.kill();
});

const prepare = (id, content, more = {}) => ({ id, op: 'prepare', format: 'html', content, ...more });

describe('requests', () => {
  test('ping gives the version, and whether there is a browser for JSX', async () => {
    const side = new Side().send({ id: 7, op: 'ping' });
    assert.deepEqual(await side.reply(), { id: 7, ok: true, result: { pong: true, version, jsx: true } });
    assert.equal(await side.end(), 0);
  });

  test('prepare gives every part of the result', async () => {
    const side = new Side().send(prepare(1, "<title>T</title><p>Hi {{ n }}</p><a href='a'>x</a>", { baseUrl: 'https://e.example/' }));
    const { id, ok, result } = await side.reply();
    assert.deepEqual([id, ok], [1, true]);
    assert.deepEqual(Object.keys(result), ['html', 'text', 'title', 'previewText', 'links', 'images', 'imageTexts', 'assets', 'slots', 'tags', 'report']);
    assert.deepEqual(result.links, [{ index: 0, href: 'https://e.example/a', text: 'x' }]);
    assert.equal(await side.end(), 0);
    assert.equal(side.errors, '');
  });

  test('replaceImages exchanges the addresses that a preparation told', async () => {
    const side = new Side().send(prepare(1, '<p>K</p><img src="https://e.example/a.png">'));
    const { html, assets } = (await side.reply()).result;
    assert.deepEqual(assets.urls, ['https://e.example/a.png']);
    side.send({ id: 2, op: 'replaceImages', content: html, images: { 'https://e.example/a.png': 'https://f.example/b.png' } });
    const { id, ok, result } = await side.reply();
    assert.deepEqual([id, ok, result.html], [2, true, html.replace('e.example/a', 'f.example/b')]);
    assert.equal(await side.end(), 0);
  });

  test('a ping is answered while a preparation runs', async () => {
    const side = new Side().send(prepare(1, '<p style="color:red;background:url(https://e.example/)">x</p>'.repeat(20_000))).send({ id: 2, op: 'ping' });
    assert.equal((await side.reply()).id, 2);
    assert.equal((await side.reply()).id, 1);
    await side.end();
  });

  test('two processes give the same bytes', async () => {
    const [a, b] = [new Side(), new Side()].map((side) => side.send(prepare(1, "<style>p{top:0}</style><p>{{ x }}</p><!--[if mso]><p>y</p><![endif]-->")));
    assert.deepEqual(await a.reply(), await b.reply());
    await Promise.all([a.end(), b.end()]);
  });
});

describe('bad requests', () => {
  const BAD = [
    ['garbage', 'garbage\n', null, 'INVALID_REQUEST', undefined],
    ['an empty line', '\n', null, 'INVALID_REQUEST', undefined],
    ['a truncated object', '{"id":1,\n', null, 'INVALID_REQUEST', undefined],
    ['an array', '[1]\n', null, 'INVALID_REQUEST', undefined],
    ['null', 'null\n', null, 'INVALID_REQUEST', undefined],
    ['no id', '{"op":"ping"}\n', null, 'INVALID_REQUEST', 'id'],
    ['an id that is no integer', '{"id":1.5,"op":"ping"}\n', null, 'INVALID_REQUEST', 'id'],
    ['an id that is a string', '{"id":"1","op":"ping"}\n', null, 'INVALID_REQUEST', 'id'],
    ['an unknown operation', '{"id":3,"op":"toString"}\n', 3, 'INVALID_REQUEST', 'op'],
    ['an unknown member', '{"id":3,"op":"ping","x":1}\n', 3, 'INVALID_REQUEST', undefined],
    ['another format', '{"id":3,"op":"prepare","format":"rtf","content":""}\n', 3, 'INVALID_REQUEST', 'source.format'],
    ['content that is no string', '{"id":3,"op":"prepare","format":"html","content":1}\n', 3, 'INVALID_REQUEST', 'source.content'],
    ['a base URL that is none', '{"id":3,"op":"prepare","format":"html","content":"x","baseUrl":"javascript:1"}\n', 3, 'INVALID_REQUEST', 'source.baseUrl'],
    ['images that are no object', '{"id":3,"op":"replaceImages","content":"x","images":["a"]}\n', 3, 'INVALID_REQUEST', undefined],
    ['an image that is no address', '{"id":3,"op":"replaceImages","content":"x","images":{"a":1}}\n', 3, 'INVALID_REQUEST', undefined],
    ['a replaceText without a document', '{"id":3,"op":"replaceText","replacements":[{"find":"a","with":"b"}]}\n', 3, 'INVALID_REQUEST', undefined],
    ['no replacements', '{"id":3,"op":"replaceText","content":"x","replacements":[]}\n', 3, 'INVALID_REQUEST', 'replacements'],
    ['a replacement without a text', '{"id":3,"op":"replaceText","content":"x","replacements":[{"find":"a"}]}\n', 3, 'INVALID_REQUEST', 'replacements.0.with'],
    ['a replaceImages without a document', '{"id":3,"op":"replaceImages","images":{}}\n', 3, 'INVALID_REQUEST', undefined],
    ['nothing to show', '{"id":3,"op":"prepare","format":"html","content":""}\n', 3, 'EMAIL_IMPORT_FAILED', 'source.content'],
  ];
  for (const [name, line, id, code, param] of BAD) {
    test(`${name}: an error, and the next request works`, async () => {
      const side = new Side().write(line).send({ id: 99, op: 'ping' });
      const replies = [await side.reply(), await side.reply()].sort((a, b) => (a.id ?? -1) - (b.id ?? -1));
      assert.equal(replies[0].id, id);
      assert.equal(replies[0].ok, false);
      assert.deepEqual([replies[0].error.code, replies[0].error.param], [code, param]);
      assert.match(replies[0].error.message, /^[A-Z].*\.$/);
      assert.equal(replies[1].id, 99);
      assert.equal(await side.end(), 0);
    });
  }

  test('a line over 8 MiB is refused with its id and skipped without being kept', async () => {
    const side = new Side();
    side.write('{"id":5,"op":"prepare","format":"html","content":"');
    for (let i = 0; i < 20; i++) side.write('x'.repeat(1024 * 1024));
    side.write('"}\n').send({ id: 6, op: 'ping' });
    const refused = await side.reply();
    assert.deepEqual([refused.id, refused.ok, refused.error.code], [5, false, 'PAYLOAD_TOO_LARGE']);
    assert.equal((await side.reply()).id, 6);
    await side.end();
  });

  test('content over 5,000,000 characters is refused', async () => {
    const side = new Side().send(prepare(1, 'x'.repeat(5_000_001)));
    const { error } = await side.reply();
    assert.deepEqual([error.code, error.param], ['PAYLOAD_TOO_LARGE', 'source.content']);
    await side.end();
  });

  test('invalid UTF-8 and lone surrogates become replacement characters', async () => {
    const side = new Side();
    side.write(Buffer.concat([Buffer.from('{"id":1,"op":"prepare","format":"html","content":"<p>a'), Buffer.from([0xff, 0xc3]), Buffer.from('b \\ud800 c</p>"}\n')]));
    const { result } = await side.reply();
    assert.match(result.html, /<p>a\ufffd\ufffdb \ufffd c<\/p>/);
    await side.end();
  });

  test('a request split into single bytes is one request', async () => {
    const side = new Side();
    for (const byte of Buffer.from('{"id":1,"op":"prepare","format":"html","content":"<p>Zoë</p>"}\n')) side.write(Buffer.from([byte]));
    assert.match((await side.reply()).result.html, /<p>Zoë<\/p>/);
    await side.end();
  });

  test('the content is never logged', async () => {
    const side = new Side().send(prepare(1, '<script>SECRET</script>')).send(prepare(2, '<p>SECRET'.repeat(60_000)));
    assert.equal((await side.reply()).ok, false);
    assert.equal((await side.reply()).ok, false);
    await side.end();
    assert.doesNotMatch(side.errors, /SECRET/);
  });
});

describe('the end of input', () => {
  /** Takes seconds of processor time. */
  const LONG = '<p style="background:url(https://e.example/a.png);color:red">x</p>'.repeat(49_000);

  test('an idle process leaves at once', async () => {
    const side = new Side().send({ id: 1, op: 'ping' });
    await side.reply();
    const busy = new Side().send({ id: 1, op: 'ping' });
    await busy.reply();
    busy.send(prepare(2, LONG));
    const ends = [side.end().then((code) => ['idle', code]), busy.end().then((code) => ['busy', code])];
    assert.deepEqual(await Promise.race(ends), ['idle', 0]);
    assert.equal(side.errors, '');
    await Promise.all(ends);
  });

  test('a quick request that is running is answered first, also when its line has no newline', async () => {
    const side = new Side().write(JSON.stringify(prepare(1, '<p>x</p>')));
    side.child.stdin.end();
    assert.equal((await side.reply()).id, 1);
    assert.deepEqual(await side.exited, [0, null]);
  });

  test('a long one does not hold it up', async () => {
    const side = new Side().send({ id: 1, op: 'ping' });
    await side.reply();
    side.send(prepare(2, LONG)).send(prepare(3, LONG));
    await new Promise((done) => { setTimeout(done, 300); });
    assert.equal(await side.end(), 0);
    assert.equal(await side.reply(), null, 'it left before the first was done');
    assert.match(side.errors, /"event":"left_unfinished"/);
  });

  test('a reply is written to its end for a reader that takes its time', async () => {
    const child = spawn(process.execPath, [MAIN], { stdio: ['pipe', 'pipe', 'inherit'] });
    running.add(child);
    const exited = once(child, 'exit').finally(() => running.delete(child));
    child.stdin.end(`${JSON.stringify(prepare(1, `<p>${'x'.repeat(900_000)}</p>`))}\n`);
    await once(child.stdout, 'readable'); // the reply has begun, and is larger than what the system keeps of it
    await new Promise((done) => { setTimeout(done, 500); });
    const chunks = [];
    for await (const chunk of child.stdout) chunks.push(chunk);
    assert.equal(JSON.parse(Buffer.concat(chunks)).id, 1);
    assert.deepEqual(await exited, [0, null]);
  });

  test('a reader that has gone ends it too', async () => {
    const side = new Side().send({ id: 1, op: 'ping' });
    await side.reply();
    side.child.stdout.destroy();
    for (let i = 0; i < 5; i++) side.send({ id: 2, op: 'ping' });
    side.child.stdin.on('error', () => {}); // it may be gone before the last write
    const [code] = await side.exited;
    assert.equal(code, 1);
  });
});
