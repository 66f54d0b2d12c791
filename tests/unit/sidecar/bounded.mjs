// Work whose processor time is bounded.

import assert from 'node:assert/strict';

import { prepareHtml } from '../../../src/render/sidecar/html/prepare.mjs';

/** Each takes under 3 s of one core of a small machine; quadratic work would take minutes. */
const PROCESSOR_SECONDS = 20;

export function prepareBounded(content) {
  const before = process.cpuUsage();
  try {
    return prepareHtml({ content });
  } finally {
    assertBounded(before);
  }
}

/** Bounds the work between `process.cpuUsage()`, which gave `before`, and this call. What else the machine does is not counted. */
export function assertBounded(before) {
  const { user, system } = process.cpuUsage(before);
  const seconds = (user + system) / 1e6;
  assert.ok(seconds < PROCESSOR_SECONDS, `took ${seconds} s of processor time`);
}
