// Worker thread of the Preparer: receives { format, content, baseUrl }, or a request to draw, outline, edit or check a document or to read a website, and answers
// { result }, { error } or { bug }. The thread has its own heap and stack, and the Preparer can terminate it. So no input can block or
// crash the main thread, which handles the protocol.

import { parentPort } from 'node:worker_threads';

import { RequestError } from './errors.mjs';
import { prepareHtml } from './html/prepare.mjs';
import { outline, spliceHtml } from './html/outline.mjs';
import { listImages, replaceImages } from './html/asset_addresses.mjs';
import { replaceText } from './html/replace_text.mjs';

/** mjml is large, so the first MJML source loads it. */
async function prepare({ format, content, baseUrl }) {
  if (format !== 'mjml') return prepareHtml({ content, baseUrl });
  const { renderMjml } = await import('./mjml/mjml.mjs');
  const { html, warnings } = await renderMjml(content);
  return prepareHtml({ content: html, baseUrl, warnings });
}

async function readPage(request) {
  const { readPage: read } = await import('./page/read_page.mjs');
  return read(request);
}

/** The drawing of documents is large, too. */
async function drawDocument({ content }) {
  const { drawDocument: draw } = await import('./document/draw.mjs');
  const { document, look, brand } = JSON.parse(content);
  return draw(document, look, brand);
}

/** So is the reading of websites. */
async function readSitePage({ content }) {
  const { readPage: read } = await import('./site/read_page.mjs');
  return read(JSON.parse(content));
}

async function summariseSite({ content }) {
  const { summarise } = await import('./site/summary.mjs');
  return summarise(JSON.parse(content));
}

async function checkMail({ content }) {
  const { checkMail: check } = await import('./quality/static/check_mail.mjs');
  return check(JSON.parse(content));
}

/** The data about mail clients is large, too. */
async function dressMail({ content }) {
  const { dressMail: dress } = await import('./quality/clients/dress.mjs');
  return dress(JSON.parse(content));
}

const OPERATIONS = {
  prepare, drawDocument, replaceImages, listImages: ({ content }) => ({ urls: listImages(content) }),
  replaceText, outline, spliceHtml, readPage, readSitePage, summariseSite, checkMail, dressMail,
};

parentPort.postMessage({ ready: true });
parentPort.on('message', async (source) => {
  try {
    parentPort.postMessage({ result: await OPERATIONS[source.op ?? 'prepare'](source) });
  } catch (error) {
    if (error instanceof RequestError) parentPort.postMessage({ error: error.toWire() });
    // The message of a bug may quote input, so only its name and stack frames are passed on.
    else parentPort.postMessage({ bug: { name: error?.name ?? 'Error', stack: stackFrames(error) } });
  }
});

function stackFrames(error) {
  return String(error?.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line)).slice(0, 4).map((line) => line.trim());
}
