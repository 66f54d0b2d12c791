// Checks every REST answer that a test sees against the OpenAPI document of the binary under test: its status is
// declared, its headers are there, its body has the declared shape. A disagreement fails the call and is remembered, so that a
// test which expects calls to fail cannot hide it.
//
// With POSTHORN_REPLIES_LOG each process leaves a line there when it ends; report.mjs adds them up.
import { appendFileSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { documentOf } from './document.mjs';

const checkers = new Map();
const seen = { checked: 0, answers: {}, disagreements: [] };

function writeLine() {
  if (seen.checked > 0) appendFileSync(process.env.POSTHORN_REPLIES_LOG, `${JSON.stringify(seen)}\n`);
}
if (process.env.POSTHORN_REPLIES_LOG) process.on('exit', writeLine);

/** How many answers this process has checked. */
export const checkedReplies = () => seen.checked;

/** The checker for a binary; the build makes its document beside it. */
export function checkerOf(binary) {
  const file = join(dirname(binary), 'generated/catalogue/openapi.json');
  if (!checkers.has(file)) checkers.set(file, makeChecker(JSON.parse(readFileSync(file, 'utf8'))));
  return checkers.get(file);
}

/** check(method, target, {status, headers, body}): null, or what is wrong. `headers` has small letters, `body` is parsed. */
export function makeChecker(document) {
  const described = documentOf(document);
  const envelope = described.at('components', 'schemas', 'errorEnvelope');

  function problemOf(method, target, { status, headers, body }) {
    const path = described.routeOf(method, target);
    const response = path && described.response(path, method.toLowerCase(), status);
    if (path && !response) return `${status} is not declared`;
    const required = response?.required ?? ['x-request-id', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];
    const missing = required.find((name) => headers[name] === undefined);
    if (missing) return `lacks the header ${missing}`;
    const wait = body?.error?.retryAfter;
    if (status === 429 && (wait === undefined || String(wait) !== headers['retry-after'])) return 'retryAfter and Retry-After differ';
    const validate = response?.validate ?? envelope;
    return validate(body) ? null : described.errorsText(validate);
  }

  return (method, target, answer) => {
    if (!target.startsWith('/v1/') || method === 'HEAD' || method === 'OPTIONS') return null;
    seen.checked++;
    const name = `${method} ${described.routeOf(method, target) ?? '(not served)'} ${answer.status}`;
    seen.answers[name] = (seen.answers[name] ?? 0) + 1;
    const problem = problemOf(method, target, answer);
    if (!problem) return null;
    const said = `${method} ${target}: ${answer.status} breaks OpenAPI: ${problem}: ${JSON.stringify(answer.body).slice(0, 600)}`;
    seen.disagreements.push(said);
    return said;
  };
}
