// A tool tells an assistant more than the contract's shape holds: null in place of zeros that nobody has counted, and more members.

import assert from 'node:assert/strict';

const isObject = (value) => value !== null && typeof value === 'object';
const isZero = (value) => value === 0 || (isObject(value) && Object.values(value).every(isZero));

/** Every member of REST's answer is in the tool's: the same value, or null for zeros. Cursors differ. */
export function assertReports(overTool, overRest, path = 'body') {
  if (overTool === null && isZero(overRest)) return;
  if (!isObject(overRest)) return assert.equal(overTool, overRest, path);
  assert.ok(isObject(overTool), path);
  if (Array.isArray(overRest)) assert.equal(overTool.length, overRest.length, path);
  for (const [name, value] of Object.entries(overRest)) {
    if (name === 'cursor') assert.equal(overTool[name] === null, value === null, `${path}.${name}`);
    else assertReports(overTool[name], value, `${path}.${name}`);
  }
}
