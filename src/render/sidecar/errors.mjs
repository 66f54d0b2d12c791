// Errors of requests. RequestError is the only error type whose message may leave the process. Any other exception is a
// bug: it is reported as INTERNAL_ERROR without its message.

const HERE = new URL('.', import.meta.url).href;

export class RequestError extends Error {
  /**
   * @param {"EMAIL_IMPORT_FAILED"|"INVALID_REQUEST"|"PAYLOAD_TOO_LARGE"|"SERVICE_UNAVAILABLE"|"INTERNAL_ERROR"} code
   * @param {string|null} param the field at fault, as the caller named it
   * @param {string} message one sentence; text of the input is passed through `quote` first
   */
  constructor(code, param, message) {
    super(message);
    this.name = 'RequestError';
    this.code = code;
    this.param = param;
  }

  /** The `error` member of a reply. */
  toWire() {
    return this.param ? { code: this.code, param: this.param, message: this.message }
      : { code: this.code, message: this.message };
  }
}

export function importFailed(message) {
  return new RequestError('EMAIL_IMPORT_FAILED', 'source.content', message);
}

export function invalidRequest(param, message) {
  return new RequestError('INVALID_REQUEST', param, message);
}

export function tooLarge(param, message) {
  return new RequestError('PAYLOAD_TOO_LARGE', param, message);
}

export function internalError(message) {
  return new RequestError('INTERNAL_ERROR', null, message);
}

export function unavailable(message) {
  return new RequestError('SERVICE_UNAVAILABLE', null, message);
}

const QUOTE_CHARS = 200;

/** Text of the input, safe to put into a message: one line, printable, at most QUOTE_CHARS. */
export function quote(text) {
  const line = String(text).toWellFormed().replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim();
  return line.length <= QUOTE_CHARS ? line : `${[...line.slice(0, QUOTE_CHARS * 2)].slice(0, QUOTE_CHARS - 1).join('')}…`;
}

/**
 * Where an unexpected error happened: file and line of its first frame in this folder, as in `html/links.mjs:12`; null: unknown. The
 * message is left out of the search, because it may quote a design.
 */
export function placeOf(failure) {
  const stack = String(failure?.stack ?? '');
  const message = String(failure?.message ?? '');
  const begin = stack.indexOf(message);
  if (begin < 0) return null;
  for (const frame of stack.slice(begin + message.length).split('\n')) {
    const [, file, line] = /^ {4}at .*?(file:\/\/[^\s()]+?):(\d+):\d+\)?$/.exec(frame) ?? [];
    if (file?.startsWith(HERE) && !file.includes('/node_modules/')) return `${file.slice(HERE.length)}:${line}`;
  }
  return null;
}
