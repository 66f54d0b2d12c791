// The preparing thread: takes { content, baseUrl }, answers { result } or { error }. It has its own heap and stack and
// can be ended from outside, so that no input can hold up or bring down the process that speaks the protocol.

import { parentPort } from 'node:worker_threads';

import { RequestError } from './errors.mjs';
import { prepareHtml } from './prepare.mjs';

parentPort.on('message', (source) => {
  try {
    parentPort.postMessage({ result: prepareHtml(source) });
  } catch (error) {
    if (error instanceof RequestError) parentPort.postMessage({ error: error.toWire() });
    // The message of a bug may quote input; its place in the code is what helps.
    else parentPort.postMessage({ bug: { name: error?.name ?? 'Error', stack: placeOf(error) } });
  }
});

function placeOf(error) {
  return String(error?.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line)).slice(0, 4).map((line) => line.trim());
}
