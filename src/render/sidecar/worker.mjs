// The preparing thread: takes { format, content, baseUrl } or a `replaceImages` request, answers { result } or { error }. It has its own heap and stack and
// can be ended from outside, so that no input can hold up or bring down the process that speaks the protocol.

import { parentPort } from 'node:worker_threads';

import { RequestError } from './errors.mjs';
import { prepareHtml } from './html/prepare.mjs';
import { replaceImages } from './html/asset_addresses.mjs';

/** mjml is large, so it is loaded by the first source that needs it. */
async function prepare({ format, content, baseUrl }) {
  if (format !== 'mjml') return prepareHtml({ content, baseUrl });
  const { renderMjml } = await import('./mjml/mjml.mjs');
  const { html, warnings } = await renderMjml(content);
  return prepareHtml({ content: html, baseUrl, warnings });
}

parentPort.postMessage({ ready: true });
parentPort.on('message', async (source) => {
  try {
    parentPort.postMessage({ result: source.op === 'replaceImages' ? replaceImages(source) : await prepare(source) });
  } catch (error) {
    if (error instanceof RequestError) parentPort.postMessage({ error: error.toWire() });
    // The message of a bug may quote input; its place in the code is what helps.
    else parentPort.postMessage({ bug: { name: error?.name ?? 'Error', stack: placeOf(error) } });
  }
});

function placeOf(error) {
  return String(error?.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line)).slice(0, 4).map((line) => line.trim());
}
