// GET /v1/help compared with its server: every endpoint it lists is served, no other is, and what it calls available is built.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { installationFor } from '../../lib/installation.mjs';
import { makePlace, must } from '../../lib/brand_fixture.mjs';

const LIMIT = { timeout: 600_000 };
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const installation = installationFor({ after });
let place;
let paths;

before(async () => {
  place = await makePlace(installation, await installation.serve());
  ({ paths } = await must(place.rest.call('GET', '/openapi.json')));
});

const keyOf = ({ method, path }) => `${method} ${path}`;

/** Calls a route with the body that OpenAPI shows for it: of an operation that is built, if one is. */
function ask(method, path) {
  const { requestBody, 'x-operations': operations = [] } = paths[path]?.[method.toLowerCase()] ?? {};
  const shown = requestBody?.content['application/json'].examples ?? {};
  const meant = operations.find((one) => one.available) ?? operations[0];
  const body = ['GET', 'DELETE'].includes(method) ? undefined : shown[meant?.id]?.value ?? {};
  return place.rest.call(method, path.replace(/\{\w+\}/g, 'x'), body);
}

test('R-181: the endpoints of GET /v1/help are those that are served', LIMIT, async () => {
  const { endpoints } = await must(place.rest.call('GET', '/v1/help'));
  const listed = new Map(endpoints.map((endpoint) => [keyOf(endpoint), endpoint]));
  assert.equal(listed.size, endpoints.length, 'each is listed once');
  for (const path of new Set(endpoints.map((endpoint) => endpoint.path))) {
    for (const method of METHODS) {
      const { status, body } = await ask(method, path);
      const endpoint = listed.get(keyOf({ method, path }));
      const what = `${method} ${path}: ${status} ${JSON.stringify(body)}`;
      if (endpoint === undefined) {
        // A path with a fixed last word may also be read as one with a parameter.
        const served = endpoints.some((other) => other.method === method && matches(other.path, path));
        if (!served) assert.equal(body.error.code, 'METHOD_NOT_ALLOWED', what);
        continue;
      }
      assert.notEqual(status, 405, what);
      assert.notEqual(body.error?.code, 'NOT_FOUND', what);
      // What only a signed-in administrator may do is refused to keys before anything else.
      if (body.error?.code === 'INSUFFICIENT_ROLE') continue;
      assert.equal(body.error?.code === 'NOT_IMPLEMENTED', !endpoint.available, what);
    }
  }
  for (const path of ['/v1', '/v1/', '/v1/nothing', '/v1/contacts/create', '/v1/events/send', '/v1/emails/a/b', '/v2/contacts', '/v1/contact']) {
    const { status, body } = await ask('POST', path);
    assert.ok(status === 404 || status === 405, `${path}: ${status} ${JSON.stringify(body)}`);
  }
});

/** Whether a path that has parameters also covers a path of fixed words. */
function matches(pattern, path) {
  const [wanted, given] = [pattern.split('/'), path.split('/')];
  return wanted.length === given.length && wanted.every((word, i) => word === given[i] || word.startsWith('{'));
}

test('R-181: OpenAPI lists the same endpoints', LIMIT, async () => {
  const { endpoints } = await must(place.rest.call('GET', '/v1/help'));
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    METHODS.filter((method) => methods[method.toLowerCase()]).map((method) => `${method} ${path}`));
  assert.deepEqual(described.sort(), [...new Set(endpoints.map(keyOf))].sort());
});
