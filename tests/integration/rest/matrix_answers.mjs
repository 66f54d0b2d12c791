// Whether an answer is the one that the matrix expects: status, headers of every answer, the error envelope, code, type and param.

const TYPES = {
  400: 'invalid_request', 401: 'authentication_error', 403: 'authorization_error', 404: 'not_found', 413: 'invalid_request',
  429: 'rate_limit', 501: 'not_implemented',
};
const ENVELOPE = ['code', 'type', 'message', 'param', 'suggestion', 'docs', 'retryAfter', 'details'];

/** The rows that failed: of a save, a deletion, or a check of addresses. */
function countFailedRows({ summary, errors, data }) {
  if (summary) return summary.failed === errors?.length ? summary.failed : 0;
  return errors?.length ?? data?.filter(({ email, valid }) => email === null && !valid).length ?? 0;
}

/** What is wrong with the answer to a request of the matrix; null when nothing is. */
export function problemOf({ expected }, { status, headers, body }) {
  if (status !== expected.status) return `answered ${status}`;
  if (!/^req_[0-9a-f]{32}$/.test(headers['x-request-id'])) return 'no request id';
  for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']) if (!/^\d+$/.test(headers[name])) return `no ${name}`;
  if (expected.deleted !== undefined) return body.deleted === expected.deleted ? null : 'deleted something';
  if (expected.failsRow) return countFailedRows(body) > 0 ? null : 'no row failed';

  const { error } = body;
  if (Object.keys(body).join() !== 'error' || !Object.keys(error).every((name) => ENVELOPE.includes(name))) return 'not the envelope';
  if (error.code !== expected.code) return `code ${error.code}`;
  if (error.type !== TYPES[status]) return `type ${error.type}`;
  if (!error.message || !error.suggestion || !URL.canParse(error.docs)) return 'says too little';
  if (expected.code === 'INVALID_REQUEST' || expected.status === 403) {
    if (error.param !== expected.param) return `param ${error.param}`;
  }
  if (status === 429 && (!(error.retryAfter >= 1) || String(error.retryAfter) !== headers['retry-after'])) return 'no time to come back';
  if (status === 401 && headers['www-authenticate'] !== 'Bearer') return 'no challenge';
  return null;
}

/** The request, the expected answer and the actual one, as text of the failure. */
export function shown({ kind, what, operation, method, target, body, expected }, answer, problem) {
  const sent = body === undefined ? '' : ` ${Buffer.isBuffer(body) ? body.toString('latin1', 0, 60) : JSON.stringify(body).slice(0, 160)}`;
  return `${operation.id}, ${kind}, ${what}: ${problem}, expected ${JSON.stringify(expected)}\n    ${method} ${target.slice(0, 120)}${sent}\n    ` +
    String(JSON.stringify(answer.body)).slice(0, 300);
}
