// What a transcript says of a reply: a path into it, and either the exact value or one of
//   {"type": T}     typeof, or "array"; "undefined" means absent      {"has": TEXT}   its JSON contains TEXT
//   {"not": VALUE}  anything else                                      {"equals": V}   exactly this object

import assert from 'node:assert/strict';

/** Throws when `reply` is not what `message` expects, naming the path and the message. */
export function expectReply(message, reply) {
  assert.equal(reply?.jsonrpc, '2.0', `${message.send} was answered with ${JSON.stringify(reply)}`);
  for (const [path, wanted] of Object.entries(message.expect)) {
    const found = path.split('.').reduce((node, step) => node?.[step], reply);
    assert.ok(matches(found, wanted), explain(message, path, wanted, found));
  }
}

function matches(found, wanted) {
  if (typeof wanted !== 'object' || wanted === null) return Object.is(found, wanted);
  if ('type' in wanted) return (Array.isArray(found) ? 'array' : typeof found) === wanted.type;
  if ('has' in wanted) return (JSON.stringify(found) ?? '').includes(wanted.has);
  if ('not' in wanted) return !Object.is(found, wanted.not);
  return isDeepEqual(found, wanted.equals);
}

function isDeepEqual(found, wanted) {
  try {
    assert.deepStrictEqual(found, wanted);
    return true;
  } catch {
    return false;
  }
}

function explain(message, path, wanted, found) {
  const method = JSON.parse(message.send).method;
  return `${method}: ${path} is ${JSON.stringify(found)?.slice(0, 300)}, not ${JSON.stringify(wanted)}`;
}
