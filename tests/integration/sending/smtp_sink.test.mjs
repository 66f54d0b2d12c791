// The SMTP sink that other tests rely on: it records before it replies, counts the messages it accepted, and misbehaves on command.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../../lib/processes.mjs';
import { Sink } from '../../lib/smtp_sink.mjs';

/** A client without manners: whole replies by `reply`, everything else as bytes. */
class Client {
  #lines = [];
  #waiting = [];
  #partial = '';
  constructor(port) {
    this.socket = net.connect(port, '127.0.0.1').setNoDelay().setEncoding('latin1');
    this.socket.on('data', (text) => this.#take(text)).on('error', () => {});
    this.closed = new Promise((resolve) => this.socket.once('close', resolve));
    this.closed.then(() => this.#waiting.splice(0).forEach((resolve) => resolve('')));
  }

  #take(text) {
    const lines = (this.#partial + text).split('\r\n');
    this.#partial = lines.pop();
    for (const line of lines.filter((each) => /^\d{3}( |$)/.test(each))) {
      const waiting = this.#waiting.shift();
      if (waiting) waiting(line);
      else this.#lines.push(line);
    }
  }

  write(text) {
    this.socket.write(text);
  }

  /** The last line of the next reply; '' when the connection is closed. */
  reply() {
    if (this.#lines.length > 0) return Promise.resolve(this.#lines.shift());
    return this.socket.destroyed ? Promise.resolve('') : new Promise((resolve) => this.#waiting.push(resolve));
  }

  async replies(count) {
    const codes = [];
    for (let i = 0; i < count; i++) codes.push((await this.reply()).slice(0, 9).trim());
    return codes;
  }

  async greet() {
    assert.match(await this.reply(), /^220 /);
    this.write('EHLO test\r\n');
    assert.match(await this.reply(), /^250 /);
    return this;
  }
}

const envelope = (recipient) => `MAIL FROM:<from@example.com> SIZE=10\r\nRCPT TO:<${recipient}>\r\nDATA\r\n`;
const message = (id, text = 'Hello') => `From: from@example.com\r\nMessage-ID: <${id}>\r\nSubject: x\r\n\r\n${text}\r\n.\r\n`;

async function sinkFor(t, settings = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-sink-'));
  const recordFile = join(folder, 'record');
  const sink = await Sink.start({ recordFile, ...settings });
  t.after(async () => {
    await sink.stop();
    rmSync(folder, { recursive: true });
  });
  return { sink, recordFile, connect: () => new Client(sink.port).greet() };
}

test('messages in one piece, byte by byte and pipelined are taken and recorded once each', async (t) => {
  const { sink, connect } = await sinkFor(t);
  const client = await connect();
  client.write(envelope('a@example.com') + message('1') + envelope('b@example.com') + message('2', '..dots\r\n.\n\n.x\r\n..') + 'QUIT\r\n');
  assert.deepEqual(await client.replies(9), ['250 2.1.0', '250 2.1.5', '354 go ah', '250 2.0.0', '250 2.1.0', '250 2.1.5', '354 go ah', '250 2.0.0', '221 2.0.0']);
  await client.closed;

  const slow = await connect();
  for (const byte of envelope('c@example.com') + message('3', '.\r\r\n..\r\nend')) {
    slow.write(byte);
    await new Promise(setImmediate);
  }
  assert.deepEqual((await slow.replies(4)).at(-1), '250 2.0.0');
  const records = sink.takeRecords();
  assert.deepEqual(records.map(({ recipient, messageId, session, replied }) => [recipient, messageId, session.split('/').at(-1), replied]),
    [['a@example.com', '<1>', '1', true], ['b@example.com', '<2>', '1', true], ['c@example.com', '<3>', '2', true]]);
  const { messages, sessions, quit, open } = await sink.stats();
  assert.deepEqual({ messages, sessions, quit, open }, { messages: 3, sessions: 2, quit: 1, open: 1 });
  slow.socket.destroy();
  await until('the lost session is seen', async () => (await sink.stats()).lost === 1);
});

test('bodies of every size around the reading blocks end where they end', async (t) => {
  const { sink, connect } = await sinkFor(t);
  const client = await connect();
  let bytes = 0;
  for (const size of [0, 1, 59, 60, 61, 62, 63, 64, 65, 127, 128, 129, 70_000, 262_144, 700_001]) {
    const body = message(`size-${size}`, 'x'.repeat(size));
    bytes += body.length - '.\r\n'.length;
    client.write(envelope('size@example.com') + body);
    assert.equal((await client.replies(4)).at(-1), '250 2.0.0', `${size} bytes`);
  }
  assert.equal((await sink.stats()).bytes, bytes);
  assert.equal(sink.takeRecords().length, 15);
});

test('a message is in the record when its reply arrives', async (t) => {
  const { recordFile, connect } = await sinkFor(t);
  const client = await connect();
  for (let number = 0; number < 200; number++) {
    client.write(envelope(`n${number}@example.com`) + message(`n${number}`));
    await client.replies(4);
    assert.ok(readFileSync(recordFile, 'latin1').includes(` n${number}@example.com <n${number}> 250\n`));
  }
});

test('local parts script the replies', async (t) => {
  const { sink, connect } = await sinkFor(t);
  const client = await connect();
  const answers = async (recipient) => {
    client.write(envelope(recipient));
    const [, rcpt, data] = await client.replies(3);
    if (!data.startsWith('354')) return [rcpt, data];
    client.write(message('1'));
    return [rcpt, data, await client.reply()].map((line) => line.slice(0, 9).trim());
  };
  assert.deepEqual(await answers('a+550@example.com'), ['550 5.1.1', '503 5.5.1']);
  assert.deepEqual(await answers('a+block@example.com'), ['550 5.7.1', '503 5.5.1']);
  assert.deepEqual(await answers('a+full@example.com'), ['452 4.2.2', '503 5.5.1']);
  assert.deepEqual(await answers('a+grey@example.com'), ['451 4.7.1', '503 5.5.1']);
  assert.deepEqual(await answers('b+grey@example.com'), ['451 4.7.1', '503 5.5.1']);
  assert.deepEqual(await answers('a+grey@example.com'), ['250 2.1.5', '354 go ah', '250 2.0.0']);
  assert.deepEqual(await answers('a+5xxdot@example.com'), ['250 2.1.5', '354 go ah', '554 5.6.0']);
  assert.deepEqual(sink.takeRecords().map(({ recipient }) => recipient), ['a+grey@example.com']);
  const { refused, deferred } = await sink.stats();
  assert.deepEqual({ refused, deferred }, { refused: 3, deferred: 3 });
});

test('drops after the dot are recorded as unanswered, drops before it not at all', async (t) => {
  const { sink, connect } = await sinkFor(t);
  await sink.behave('drop-after-dot 1');
  const first = await connect();
  first.write(envelope('a@example.com') + message('1'));
  await first.closed;
  await sink.behave('drop-after-dot 0');
  await sink.behave('drop-mid-data 1');
  const second = await connect();
  second.write(envelope('b@example.com'));
  await second.replies(3);
  second.write(message('2'));
  await second.closed;
  await sink.behave('normal');
  await sink.behave('421 1');
  const third = await connect();
  third.write(envelope('c@example.com'));
  assert.equal((await third.replies(1))[0], '421 4.3.2');
  await third.closed;
  assert.deepEqual(sink.takeRecords().map(({ recipient, replied }) => [recipient, replied]), [['a@example.com', false]]);
  const { messages, unanswered, cut, said421, dropped } = await sink.stats();
  assert.deepEqual({ messages, unanswered, cut, said421, dropped }, { messages: 1, unanswered: 1, cut: 1, said421: 1, dropped: 3 });
});

test('a stall holds every reply back until it ends; a refusal of connections is one', async (t) => {
  const { sink, connect } = await sinkFor(t);
  const client = await connect();
  await sink.behave('stall on');
  client.write(envelope('a@example.com') + message('1'));
  await until('it was taken', async () => (await sink.stats()).messages === 1);
  const stranger = net.connect(sink.port, '127.0.0.1');
  let heard = '';
  stranger.on('data', (bytes) => { heard += bytes; });
  await until('the stranger is connected', async () => (await sink.stats()).sessions === 2);
  assert.equal(heard, '');
  await sink.behave('stall off');
  assert.equal((await client.replies(4)).at(-1), '250 2.0.0');
  await until('the stranger is greeted', () => heard.startsWith('220 '));
  stranger.destroy();

  await sink.behave('refuse-connections on');
  const refused = new Client(sink.port);
  assert.equal(await refused.reply(), '');
  await sink.behave('refuse-connections off');
  assert.match(await new Client(sink.port).reply(), /^220 /);
});

test('chance is repeated by its seed', async (t) => {
  const fates = [];
  for (const seed of [7, 7, 8]) {
    const { sink, connect } = await sinkFor(t, { seed });
    await sink.behave('drop-after-dot 0.5');
    for (let number = 0; number < 40; number++) {
      const client = await connect();
      client.write(envelope(`n${number}@example.com`) + message('1') + 'QUIT\r\n');
      await client.closed;
    }
    fates.push(sink.takeRecords().map(({ replied }) => (replied ? '+' : '-')).join(''));
  }
  assert.equal(fates[0], fates[1]);
  assert.notEqual(fates[0], fates[2]);
  assert.match(fates[0], /\+.*-|-.*\+/);
});
