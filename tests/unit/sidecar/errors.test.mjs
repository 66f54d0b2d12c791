// Where unexpected errors happened, as the log tells it.

import assert from 'node:assert/strict';
import test from 'node:test';

import { placeOf, quote } from '../../../src/render/sidecar/errors.mjs';

const HERE = new URL('../../../src/render/sidecar/', import.meta.url).href;

function withStack(message, frames) {
  const error = new TypeError(message);
  error.stack = `TypeError: ${message}\n${frames.map((frame) => `    at ${frame}`).join('\n')}`;
  return error;
}

test('the place is the first frame of the sidecar', () => {
  const frames = ['parse (node:internal/url:816:12)', `walk (${HERE}node_modules/x/y.mjs:3:1)`, `${HERE}html/links.mjs:12:7`, `run (${HERE}main.mjs:9:1)`];
  assert.equal(placeOf(withStack('no', frames)), 'html/links.mjs:12');
  assert.equal(placeOf(withStack('no', frames.slice(0, 2))), null);
});

test('a message that looks like a frame is no place', () => {
  const message = `Your order\n    at secret (${HERE}secret.mjs:1:1)`;
  assert.equal(placeOf(withStack(message, [`run (${HERE}main.mjs:9:1)`])), 'main.mjs:9');
});

test('an error of the sidecar has a place', () => {
  let failure;
  try {
    quote(Object.create(null));
  } catch (error) {
    failure = error;
  }
  assert.match(placeOf(failure), /^[a-z_/]+\.mjs:\d+$/);
  for (const other of [undefined, null, 'text', {}]) assert.equal(placeOf(other), null);
});
