// The one error type whose words may leave the process. Anything else that is thrown is a bug and is reported as
// INTERNAL_ERROR without its message.

export class RequestError extends Error {
  /**
   * @param {"EMAIL_IMPORT_FAILED"|"INVALID_REQUEST"|"PAYLOAD_TOO_LARGE"|"SERVICE_UNAVAILABLE"|"INTERNAL_ERROR"} code
   * @param {string|null} param the field at fault, as the caller named it
   * @param {string} message one sentence; of the input only what `quote` has made harmless
   */
  constructor(code, param, message) {
    super(message);
    this.name = 'RequestError';
    this.code = code;
    this.param = param;
  }

  /** The error as it goes on the wire. */
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

/** Words of the input for a message: one line, printable, short. */
export function quote(text) {
  const line = String(text).toWellFormed().replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim();
  return line.length <= QUOTE_CHARS ? line : `${[...line.slice(0, QUOTE_CHARS * 2)].slice(0, QUOTE_CHARS - 1).join('')}…`;
}
