// Replays recorded handshakes of real hosts, byte for byte, over stdio and HTTP, and compares what must come back. Nothing
// of an SDK stands between: what a host would see on the wire is what is judged here.

import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { expectReply } from './expectation.mjs';
import { StdioPeer } from './stdio_peer.mjs';
import { HttpPeer } from './http_peer.mjs';

const EXIT_LIMIT_MS = 1000;

export async function replays(report, server) {
  for (const transcript of await transcripts()) {
    const { host } = transcript;
    await report.check(`${host} stdio: every reply as expected`, () => oneByOne(transcript, server));
    await report.check(`${host} stdio: all at once, CRLF, then end of input`, () => allAtOnce(transcript, server));
    await report.check(`${host} http: every reply as expected`, () => overHttp(transcript, server));
  }
}

async function transcripts() {
  const dir = new URL('transcripts/', import.meta.url);
  const names = (await readdir(dir)).filter((name) => name.endsWith('.json')).sort();
  return Promise.all(names.map(async (name) => JSON.parse(await readFile(new URL(name, dir), 'utf8'))));
}

async function oneByOne({ messages }, server) {
  const peer = new StdioPeer(server.stdioCommand);
  try {
    for (const message of messages) {
      peer.write(`${message.send}\n`);
      if (message.expect) expectReply(message, await peer.reply(message.expect.id));
    }
    await leaves(peer);
  } finally {
    peer.kill();
  }
}

/** A script that pipes its lines in and closes the pipe is answered in full before the process leaves. */
async function allAtOnce({ messages }, server) {
  const peer = new StdioPeer(server.stdioCommand);
  try {
    peer.write(messages.map((message) => `${message.send}\r\n`).join(''));
    peer.end();
    for (const message of messages) {
      if (message.expect) await peer.reply(message.expect.id);
    }
    await leaves(peer);
  } finally {
    peer.kill();
  }
}

async function leaves(peer) {
  peer.end();
  const { code, afterMs } = await peer.exited();
  assert.equal(code, 0, `left with ${code}`);
  assert.ok(afterMs <= EXIT_LIMIT_MS, `left ${afterMs} ms after the end of input and its last reply`);
  assert.deepEqual(peer.strays, [], 'something else on standard output');
}

async function overHttp({ headers, messages }, server) {
  const peer = new HttpPeer(server, headers);
  for (const message of messages) {
    const { status, reply } = await peer.post(message.send);
    if (!message.expect) {
      assert.equal(status, 202, `${message.send} was answered with ${status}`);
      continue;
    }
    assert.equal(status, message.httpStatus ?? 200, `${message.send} was answered with ${status}: ${JSON.stringify(reply)}`);
    expectReply(message, reply);
  }
  await peer.endSession();
}
