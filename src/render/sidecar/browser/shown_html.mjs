// Shows HTML in a page of the shared browser: without scripts, frames and network. Its images are those of the caller; the addresses of
// others are noted, so that the service can fetch them.

import { LIMITS } from '../limits.mjs';

const ADDRESS = 'http://page.invalid/';
const STATUS_OK = 200;
const STATUS_EMPTY = 204;

/** Scripts, frames, plug-ins and forms are off; images and styles in the page itself are on. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data: http: https:; font-src data:; sandbox";

/**
 * Loads `content` into a page, which keeps its files afterwards. Resolves with the addresses of images that it lacks (a Set that may
 * grow), and rejects when the browser has ended.
 * @param {{content: string, files: Object<string, {type: string, data: string}>, policy?: string}} bundle `data` is base64
 */
export async function showHtml(page, { content, files, policy = POLICY }) {
  const bundle = { content, files, policy, missing: new Set(), isServed: false };
  page.onRequest = (paused) => answer(page, paused, bundle);
  let isLoaded = false;
  // The event of the empty page that was there before may come late.
  const loaded = new Promise((resolve) => { page.onLoad = () => { if (bundle.isServed) resolve(); }; }).then(() => { isLoaded = true; });
  await page.send('Page.navigate', { url: ADDRESS });
  await Promise.race([loaded, gone(page, () => isLoaded)]);
  return bundle.missing;
}

/** Without a document type the root element would be as high as the view. */
const withDoctype = (content) => (/^\s*(?:<!--[\s\S]*?-->\s*)*<!doctype/i.test(content.slice(0, 4096)) ? content : `<!DOCTYPE html>${content}`);

/** Between the empty page and the one that comes after it, a busy browser has none for a moment. */
function passBetweenPages(error) {
  if (error.message !== 'Not attached to an active page') throw error;
}

/** Rejects when the browser has ended. The watchdog ends it, so that this always settles. */
async function gone(page, isLoaded) {
  while (!isLoaded()) {
    await new Promise((done) => { setTimeout(done, 100); });
    if (!isLoaded()) await page.send('Page.getNavigationHistory').catch(passBetweenPages);
  }
}

const base64 = (text) => Buffer.from(text.toWellFormed(), 'utf8').toString('base64');

/** Answers one request of the page. The page itself is served once; a redirection inside of it leads nowhere. */
function answer(page, { requestId, request, resourceType }, bundle) {
  const fulfill = (responseCode, headers, body) => {
    const responseHeaders = Object.entries(headers).map(([name, value]) => ({ name, value }));
    page.send('Fetch.fulfillRequest', { requestId, responseCode, responseHeaders, body }).catch(() => {}); // the page has ended
    return true;
  };
  if (resourceType === 'Document') {
    if (request.url !== ADDRESS || bundle.isServed) return fulfill(STATUS_EMPTY, {});
    bundle.isServed = true;
    return fulfill(STATUS_OK, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': bundle.policy }, base64(withDoctype(bundle.content)));
  }
  const isImage = resourceType === 'Image';
  const file = isImage && Object.hasOwn(bundle.files, request.url) ? bundle.files[request.url] : null;
  if (file !== null) return fulfill(STATUS_OK, { 'content-type': file.type }, file.data);
  const isFetchable = isImage && /^https?:/i.test(request.url) && !request.url.startsWith(ADDRESS);
  if (isFetchable && bundle.missing.size < LIMITS.pageFiles && request.url.length <= LIMITS.urlChars) bundle.missing.add(request.url);
  return false;
}
