// The judge of growth finds the square and lets n log n pass, also when the costs are noisy.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../lib/random.mjs';
import { exponentOf, isTooSteep } from './growth.mjs';

const FLOOR = 10;
const SIZES = [125, 250, 500, 1000];
const points = (cost) => SIZES.map((size) => [size, cost(size)]);

test('n and n log n pass, the square and a hidden square do not', () => {
  assert.equal(isTooSteep(exponentOf(points((n) => n), FLOOR)), false);
  assert.equal(isTooSteep(exponentOf(points((n) => n * Math.log2(n)), FLOOR)), false);
  assert.equal(isTooSteep(exponentOf(points((n) => 500 + n * Math.log2(n)), FLOOR)), false);
  assert.equal(isTooSteep(exponentOf(points((n) => n * n), FLOOR)), true);
  assert.equal(isTooSteep(exponentOf(points((n) => 20_000 + n * n), FLOOR)), true);
  assert.equal(isTooSteep(exponentOf(points((n) => n ** 1.9), FLOOR)), true);
});

test('two sizes are enough', () => {
  const ends = (cost) => [points(cost)[0], points(cost)[3]];
  assert.equal(isTooSteep(exponentOf(ends((n) => n * Math.log2(n)), FLOOR)), false);
  assert.equal(isTooSteep(exponentOf(ends((n) => n * n), FLOOR)), true);
});

test('noise of a quarter changes no verdict', () => {
  const random = new Random(7);
  const noisy = (cost) => points((n) => cost(n) * (1 + random.below(1000) / 4000));
  for (let i = 0; i < 2000; i++) {
    assert.equal(isTooSteep(exponentOf(noisy((n) => n * Math.log2(n)), FLOOR)), false);
    assert.equal(isTooSteep(exponentOf(noisy((n) => n * n), FLOOR)), true);
  }
});

test('small costs and near sizes are not judged', () => {
  assert.equal(exponentOf(points((n) => n / 50), FLOOR), null);
  assert.equal(exponentOf([[900, 100], [1000, 900]], FLOOR), null);
});

test('what is below the floor is not steep', () => {
  assert.equal(isTooSteep(exponentOf([[1, 0], [2, 0], [4, 1], [8, 60]], FLOOR)), false);
});
