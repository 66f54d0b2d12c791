// The checker of replies refuses what does not agree with the document. Otherwise its silence would prove nothing.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeChecker } from './replies.mjs';

const header = { required: true, schema: { type: 'string' } };
const answer = (schema, headers = {}) => ({ description: 'An answer.', headers, content: { 'application/json': { schema } } });
const thing = { type: 'object', required: ['id'], additionalProperties: false, properties: { id: { type: 'string' } } };
const check = makeChecker({
  openapi: '3.1.0',
  components: {
    headers: { requestId: header },
    responses: { refused: answer({ $ref: '#/components/schemas/errorEnvelope' }) },
    schemas: { thing, errorEnvelope: { type: 'object', required: ['error'] } },
  },
  paths: {
    '/v1/things/{id}': { get: { responses: {
      200: answer({ $ref: '#/components/schemas/thing' }, { 'x-request-id': { $ref: '#/components/headers/requestId' } }),
      429: { $ref: '#/components/responses/refused' },
    } } },
    '/v1/things/first': { get: { responses: { 200: answer({ type: 'array' }) } } },
  },
});
const headers = { 'x-request-id': 'req_1', 'x-ratelimit-limit': '1', 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': '1' };
const said = (target, reply) => check('GET', target, { headers, ...reply });

test('what agrees is accepted, fixed words before parameters', () => {
  assert.equal(said('/v1/things/a?x=1', { status: 200, body: { id: 'a' } }), null);
  assert.equal(said('/v1/things/first', { status: 200, body: [] }), null);
  assert.equal(said('/v1/nothing', { status: 404, body: { error: {} } }), null);
  assert.equal(said('/other', { status: 500, body: 'x' }), null);
});

test('an undeclared status, a missing header and a wrong body are refused', () => {
  assert.match(said('/v1/things/a', { status: 201, body: { id: 'a' } }), /201 is not declared/);
  assert.match(check('GET', '/v1/things/a', { status: 200, headers: {}, body: { id: 'a' } }), /lacks the header x-request-id/);
  assert.match(said('/v1/things/a', { status: 200, body: { id: 1 } }), /must be string/);
  assert.match(said('/v1/things/a', { status: 200, body: { id: 'a', more: 1 } }), /additional properties/);
  assert.match(said('/v1/things/first', { status: 200, body: { id: 'a' } }), /must be array/);
  assert.match(said('/v1/nothing', { status: 404, body: 'no' }), /must be object/);
});

test('retryAfter repeats Retry-After (R-078)', () => {
  const body = { error: { retryAfter: 3 } };
  assert.equal(said('/v1/things/a', { status: 429, headers: { ...headers, 'retry-after': '3' }, body }), null);
  assert.match(said('/v1/things/a', { status: 429, headers: { ...headers, 'retry-after': '4' }, body }), /differ/);
});
