// Replays recorded handshakes of real hosts, byte for byte, over stdio and HTTP, and compares what must come back. No
// SDK is involved: the test compares what a host would see on the wire.

import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { expectReply } from './expectation.mjs';
import { HttpClient } from '../lib/http_client.mjs';
import { McpHttpClient } from '../lib/mcp_http_client.mjs';
import { StdioClient } from '../lib/stdio_client.mjs';

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
  const client = new StdioClient(server.stdioCommand);
  try {
    for (const message of messages) {
      client.write(`${message.send}\n`);
      if (message.expect) expectReply(message, await client.answer(message.expect.id));
    }
    await leaves(client);
  } finally {
    client.kill();
  }
}

/** A script that pipes its lines in and closes the pipe is answered in full before the process leaves. */
async function allAtOnce({ messages }, server) {
  const client = new StdioClient(server.stdioCommand);
  try {
    client.write(messages.map((message) => `${message.send}\r\n`).join(''));
    client.close();
    for (const message of messages) {
      if (message.expect) await client.answer(message.expect.id);
    }
    await leaves(client);
  } finally {
    client.kill();
  }
}

/** The end of its input is enough for the process to leave: nothing signals it. */
async function leaves(client) {
  assert.equal(await client.close(), 0, client.diagnostics);
  assert.deepEqual(client.strays, [], 'something else on standard output');
}

async function overHttp({ headers, messages }, server) {
  const http = new HttpClient(new URL(server.url).port, { authorization: `Bearer ${server.key}` });
  const client = new McpHttpClient(http, headers);
  for (const message of messages) {
    const { status, reply } = await client.post(message.send);
    if (!message.expect) {
      assert.equal(status, 202, `${message.send} was answered with ${status}`);
      continue;
    }
    assert.equal(status, message.httpStatus ?? 200, `${message.send} was answered with ${status}: ${JSON.stringify(reply)}`);
    expectReply(message, reply);
  }
  await client.endSession();
  http.close();
}
