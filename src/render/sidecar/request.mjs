// Request parser: reads and validates one request line. Unknown members are errors, so that a misspelt option is not
// silently ignored.

import { invalidRequest, RequestError, tooLarge } from './errors.mjs';
import { LIMITS } from './limits.mjs';
import { readBaseUrl } from './html/url.mjs';

const MEMBERS = {
  ping: new Set(['id', 'op']),
  prepare: new Set(['id', 'op', 'format', 'content', 'baseUrl']),
  replaceImages: new Set(['id', 'op', 'content', 'images']),
  drawDocument: new Set(['id', 'op', 'document', 'look', 'brand']),
  replaceText: new Set(['id', 'op', 'content', 'subject', 'replacements']),
  outline: new Set(['id', 'op', 'content']),
  listImages: new Set(['id', 'op', 'content']),
  readPage: new Set(['id', 'op', 'content', 'baseUrl']),
  spliceHtml: new Set(['id', 'op', 'content', 'edits']),
  readSitePage: new Set(['id', 'op', 'url', 'contentType', 'bytes', 'site']),
  showPage: new Set(['id', 'op', 'url', 'contentType', 'bytes', 'files', 'scripts']),
  drawPicture: new Set(['id', 'op', 'type', 'bytes', 'width', 'height', 'wantsPng']),
  summariseSite: new Set(['id', 'op', 'domain', 'pages', 'styles']),
  drawFrames: new Set(['id', 'op', 'content', 'width', 'maxFrames']),
  checkMail: new Set(['id', 'op', 'design', 'html', 'text', 'subject', 'shownSubject', 'previewText', 'purpose', 'address', 'emptyTags', 'pictures']),
  drawPage: new Set(['id', 'op', 'content', 'width', 'maxHeight', 'files']),
  checkShown: new Set(['id', 'op', 'content', 'files']),
  drawClient: new Set(['id', 'op', 'html', 'text', 'client', 'files']),
};

const FORMATS = new Set(['html', 'mjml', 'jsx']);

/**
 * Reads a request line.
 * @returns {{id: number|null, request?: {op: string, format?: string, content?: string, baseUrl?: string|null}, error?: RequestError}}
 *   `id` is present whenever it could be read, also together with an error
 */
export function readRequest(line) {
  let message;
  try {
    message = JSON.parse(line);
  } catch {
    return { id: null, error: invalidRequest(null, 'The line is not valid JSON.') };
  }
  if (message === null || typeof message !== 'object' || Array.isArray(message)) {
    return { id: null, error: invalidRequest(null, 'The line is not a JSON object.') };
  }
  if (!Number.isSafeInteger(message.id)) return { id: null, error: invalidRequest('id', 'The id must be an integer.') };
  try {
    return { id: message.id, request: checkRequest(message) };
  } catch (error) {
    if (error instanceof RequestError) return { id: message.id, error };
    throw error;
  }
}

/** The id of a line that is too long to parse, or null. It is found only when it is the first member. */
export function idOfLongLine(start) {
  const id = Number(/^\s*\{\s*"id"\s*:\s*(-?\d{1,15})\s*[,}]/.exec(start)?.[1] ?? Number.NaN);
  return Number.isSafeInteger(id) ? id : null;
}

function checkRequest(message) {
  const members = Object.hasOwn(MEMBERS, message.op) ? MEMBERS[message.op] : null;
  if (!members) throw invalidRequest('op', `The op must be one of ${Object.keys(MEMBERS).join(', ')}.`);
  if (Object.keys(message).some((name) => !members.has(name))) {
    throw invalidRequest(null, 'The request has a member that this operation does not accept.');
  }
  if (message.op === 'ping') return { op: 'ping' };
  if (message.op === 'drawDocument') return checkDrawDocument(message);
  if (message.op === 'replaceText') return checkReplaceText(message);
  if (message.op === 'outline' || message.op === 'listImages') return { op: message.op, content: checkFinished(message.content) };
  if (message.op === 'spliceHtml') return checkSpliceHtml(message);
  if (message.op === 'readPage') return checkReadPage(message);
  if (Object.hasOwn(OF_SITES, message.op)) return OF_SITES[message.op](message);
  if (message.op === 'checkMail') return checkCheckMail(message);
  if (message.op === 'drawPage') return checkDrawPage(message);
  if (message.op === 'checkShown') return checkCheckShown(message);
  if (message.op === 'drawClient') return checkDrawClient(message);
  if (message.op === 'drawFrames') return checkDrawFrames(message);
  return message.op === 'replaceImages' ? checkReplaceImages(message) : checkPrepare(message);
}

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

/** The service has checked the document, and it made the look. */
function checkDrawDocument({ document, look, brand }) {
  const isWhole = isObject(document) && Array.isArray(document.blocks) && isObject(look) && isObject(brand);
  if (!isWhole) throw invalidRequest(null, 'A document, a look and a brand must be objects.');
  return { op: 'drawDocument', content: JSON.stringify({ document, look, brand }) };
}

const isText = (value) => typeof value === 'string';
const isTextOrNull = (value) => value === undefined || value === null || isText(value);

/** The service has made these requests, so their inner objects are not checked one by one. */
const OF_SITES = {
  readSitePage({ url, contentType = null, bytes, site }) {
    const isWhole = isText(url) && URL.canParse(url) && isTextOrNull(contentType) && isText(bytes) && isObject(site) && isText(site.host)
      && Array.isArray(site.includePaths) && Array.isArray(site.excludePaths);
    if (!isWhole) throw invalidRequest(null, 'A page needs its address, its bytes and its website.');
    return { op: 'readSitePage', content: JSON.stringify({ url, contentType, bytes, site }) };
  },
  showPage({ url, contentType = null, bytes, files, scripts }) {
    const isWhole = isText(url) && URL.canParse(url) && isTextOrNull(contentType) && isText(bytes) && isObject(files)
      && Object.keys(files).length <= LIMITS.siteFiles
      && Object.values(files).every((file) => isText(file?.type) && (file.bytes === null || isText(file.bytes)));
    if (!isWhole) throw invalidRequest(null, 'A page needs its address, its bytes and its files.');
    return { op: 'showPage', url, contentType, bytes, files, scripts: scripts === true };
  },
  drawPicture({ type, bytes, width, height, wantsPng }) {
    const isWhole = isText(type) && /^image\/[a-z+.-]+$/.test(type) && isText(bytes) && /^[A-Za-z0-9+/=]*$/.test(bytes)
      && [width, height].every((size) => Number.isSafeInteger(size) && size > 0 && size <= 2000);
    if (!isWhole) throw invalidRequest(null, 'A picture needs its type, its bytes and its largest size.');
    return { op: 'drawPicture', type, bytes, width, height, wantsPng: wantsPng === true };
  },
  summariseSite({ domain, pages, styles }) {
    const isWhole = isText(domain) && Array.isArray(pages) && pages.length > 0 && pages.length <= LIMITS.sitePages && pages.every(isObject)
      && Array.isArray(styles) && styles.every(isObject);
    if (!isWhole) throw invalidRequest(null, 'A website needs its domain and its pages.');
    return { op: 'summariseSite', content: JSON.stringify({ domain, pages, styles }) };
  },
};

const OPTIONAL_TEXTS = ['html', 'text', 'subject', 'shownSubject', 'previewText', 'purpose', 'address'];
const isCount = (value) => Number.isSafeInteger(value) && value >= 0;
const isEmptyTag = (tag) => isObject(tag) && isText(tag.path) && isCount(tag.contacts) && isCount(tag.empty);
const isPicture = (picture) => isObject(picture) && isCount(picture.frames) && isCount(picture.loops);

/** The service has made the mail: a text that is absent is null. */
function checkCheckMail({ id: _id, op: _op, ...mail }) {
  const { design, emptyTags = null, pictures = null } = mail;
  if (!isText(design)) throw invalidRequest(null, 'A mail needs its design.');
  if (!OPTIONAL_TEXTS.every((name) => isTextOrNull(mail[name]))) throw invalidRequest(null, 'The texts of a mail must be strings or null.');
  const isWhole = (emptyTags === null || (Array.isArray(emptyTags) && emptyTags.every(isEmptyTag)))
    && (pictures === null || (isObject(pictures) && Object.values(pictures).every(isPicture)));
  if (!isWhole) throw invalidRequest(null, 'Empty merge tags need path, contacts and empty; pictures need frames and loops.');
  return { op: 'checkMail', content: JSON.stringify(mail) };
}

function checkDrawPage({ content, width, maxHeight, files = {} }) {
  const isSide = (value) => Number.isInteger(value) && value >= 1 && value <= LIMITS.pageSide;
  if (typeof content !== 'string' || content.length > LIMITS.pageChars) throw tooLarge('html', `The HTML is longer than ${LIMITS.pageChars} characters.`);
  if (!isSide(width) || !isSide(maxHeight)) throw invalidRequest(null, `A side has 1 to ${LIMITS.pageSide} pixels.`);
  return { op: 'drawPage', content, width, maxHeight, files: checkFiles(files, LIMITS.pageFiles) };
}

function checkCheckShown({ content, files = {} }) {
  if (typeof content !== 'string') throw invalidRequest('html', 'The HTML must be a string.');
  if (content.length > LIMITS.contentChars) throw tooLarge('html', `The HTML is longer than ${LIMITS.contentChars} characters.`);
  return { op: 'checkShown', content, files: checkFiles(files, LIMITS.mailFiles) };
}

function checkFiles(files, most) {
  const isMap = isObject(files) && Object.keys(files).length <= most
    && Object.values(files).every((file) => typeof file?.type === 'string' && typeof file.data === 'string');
  if (!isMap) throw invalidRequest(null, `The files must be an object of at most ${most} addresses.`);
  return files;
}

/** The service has taken the client from its own table (schemas/clients.json). */
function checkDrawClient({ html, text = null, client, files = {} }) {
  if (typeof html !== 'string' || html.length > LIMITS.htmlChars) throw tooLarge('html', `The HTML is longer than ${LIMITS.htmlChars} characters.`);
  const isWhole = isTextOrNull(text) && isObject(client) && isText(client.id) && [client.width, client.density].every(Number.isInteger);
  if (!isWhole) throw invalidRequest(null, 'A preview needs a mail and a client.');
  return { op: 'drawClient', html, text, client, files: checkFiles(files, LIMITS.mailFiles) };
}

function checkDrawFrames({ content, width, maxFrames }) {
  const isCount = (value, most) => Number.isInteger(value) && value >= 1 && value <= most;
  const isWhole = typeof content === 'string' && isCount(width, LIMITS.pageSide) && isCount(maxFrames, LIMITS.pageFiles);
  if (!isWhole) throw invalidRequest(null, 'A video has its content, a width and a number of frames.');
  return { op: 'drawFrames', content, width, maxFrames };
}

function checkFinished(content) {
  if (typeof content !== 'string' || content.length > LIMITS.htmlChars) throw invalidRequest(null, 'The content must be a finished document.');
  return content;
}

function checkReadPage({ content, baseUrl }) {
  const base = typeof baseUrl === 'string' ? readBaseUrl(baseUrl) : null;
  if (typeof content !== 'string' || base === null) throw invalidRequest(null, 'A page must be bytes in base64 with an http or https address.');
  return { op: 'readPage', content, baseUrl: base };
}

function checkSpliceHtml({ content, edits }) {
  const isList = Array.isArray(edits) && edits.length > 0 && edits.length <= LIMITS.replacements;
  if (!isList) throw invalidRequest('edits', `The edits must be a list of 1 to ${LIMITS.replacements}.`);
  return { op: 'spliceHtml', content: checkFinished(content), edits: edits.map(checkEdit) };
}

function checkEdit(edit, index) {
  const { id, with: text, drop = [] } = edit ?? {};
  if (typeof id !== 'string') throw invalidRequest(`edits.${index}.id`, 'The id must be a string.');
  const isText = typeof text === 'string' && text.length <= LIMITS.withChars;
  if (!isText) throw invalidRequest(`edits.${index}.with`, `The text with must have at most ${LIMITS.withChars} characters.`);
  const isList = Array.isArray(drop) && drop.length <= LIMITS.replacements && drop.every((tag) => typeof tag === 'string');
  if (!isList) throw invalidRequest(`edits.${index}.drop`, 'The member drop must be a list of merge tags.');
  return { id, with: text, drop };
}

function checkReplaceText({ content, subject = null, replacements }) {
  checkFinished(content);
  if (subject !== null && typeof subject !== 'string') throw invalidRequest(null, 'The subject must be a string or null.');
  const isList = Array.isArray(replacements) && replacements.length > 0 && replacements.length <= LIMITS.replacements;
  if (!isList) throw invalidRequest('replacements', `The replacements must be a list of 1 to ${LIMITS.replacements}.`);
  return { op: 'replaceText', content, subject, replacements: replacements.map(checkReplacement) };
}

function checkReplacement(replacement, index) {
  const { find, with: text, all = false } = replacement ?? {};
  const isText = (value, least, most) => typeof value === 'string' && value.length >= least && value.length <= most;
  if (!isText(find, 1, LIMITS.findChars)) throw invalidRequest(`replacements.${index}.find`, `The text find must have 1 to ${LIMITS.findChars} characters.`);
  if (!isText(text, 0, LIMITS.withChars)) throw invalidRequest(`replacements.${index}.with`, `The text with must have at most ${LIMITS.withChars} characters.`);
  if (typeof all !== 'boolean') throw invalidRequest(`replacements.${index}.all`, 'The member all must be true or false.');
  return { find, with: text, all };
}

function checkReplaceImages({ content, images }) {
  checkFinished(content);
  const isMap = isObject(images)
    && Object.values(images).every((image) => image === null || typeof image === 'string');
  if (!isMap) throw invalidRequest(null, 'The images must be an object that maps each address to a new address or null.');
  return { op: 'replaceImages', content, images };
}

function checkPrepare({ format, content, baseUrl }) {
  if (!FORMATS.has(format)) throw invalidRequest('source.format', 'The format must be "html", "mjml" or "jsx".');
  if (typeof content !== 'string') throw invalidRequest('source.content', 'The content must be a string.');
  if (content.length > LIMITS.contentChars) {
    throw tooLarge('source.content', `The content is longer than ${LIMITS.contentChars} characters.`);
  }
  if (baseUrl === undefined || baseUrl === null) return { op: 'prepare', format, content, baseUrl: null };
  const base = typeof baseUrl === 'string' ? readBaseUrl(baseUrl) : null;
  if (base === null) throw invalidRequest('source.baseUrl', 'The base URL must be an http or https address.');
  return { op: 'prepare', format, content, baseUrl: base };
}
