// Posthorn's HTML side process: JSON lines in, JSON lines out, until standard input ends. See README.md.

import { readFileSync } from 'node:fs';

import { internalError, RequestError, tooLarge } from './errors.mjs';
import { LIMITS } from './limits.mjs';
import { LineSplitter } from './lines.mjs';
import { log } from './log.mjs';
import { Preparer } from './preparer.mjs';
import { idOfLongLine, readRequest } from './request.mjs';

const { version } = JSON.parse(readFileSync(new URL('./package.json', import.meta.url), 'utf8'));
const preparer = new Preparer();

function reply(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
  if (process.stdout.writableLength > LIMITS.unreadReplyBytes) {
    log('error', 'replies_unread', { bytes: process.stdout.writableLength });
    process.exit(1);
  }
}

function replyError(id, error) {
  reply({ id, ok: false, error: error.toWire() });
}

async function handleLine(line) {
  const { id, request, error } = readRequest(line);
  if (error) {
    replyError(id, error);
    return;
  }
  if (request.op === 'ping') {
    reply({ id, ok: true, result: { pong: true, version } });
    return;
  }
  try {
    reply({ id, ok: true, result: await preparer.prepare(request) });
  } catch (failure) {
    if (!(failure instanceof RequestError)) log('error', 'request_bug', { name: failure?.name });
    replyError(id, failure instanceof RequestError ? failure : internalError('The request failed because of an internal error.'));
  }
}

const lines = new LineSplitter(LIMITS.lineBytes, handleLine, (start) => {
  replyError(idOfLongLine(start), tooLarge(null, `The request is longer than ${LIMITS.lineBytes} bytes.`));
});

/** After end of input: what is running may finish if it is quick; then the replies are flushed and the process ends. */
async function leave() {
  lines.end();
  const deadline = performance.now() + LIMITS.drainMs;
  while (!preparer.idle && performance.now() < deadline) await new Promise((done) => { setTimeout(done, 10); });
  if (!preparer.idle) log('warn', 'left_unfinished');
  setTimeout(() => process.exit(0), 150); // for a reader that does not read
  process.stdout.end(() => process.exit(0));
}

process.stdin.on('data', (chunk) => lines.push(chunk));
process.stdin.on('end', leave);
process.stdin.on('error', leave);
process.stdout.on('error', () => process.exit(1)); // nobody is listening any more
