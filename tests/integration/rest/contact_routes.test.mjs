// Routes of contacts that the cases do not reach: addresses in paths, and reads that the search replaced.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { installationFor } from '../../lib/installation.mjs';
import { makePlace, must } from '../../lib/brand_fixture.mjs';

const LIMIT = { timeout: 600_000 };
const installation = installationFor({ after });
let place;

before(async () => {
  place = await makePlace(installation, await installation.serve());
});

test('R-373: contacts are not read by GET, neither as a list nor by address', LIMIT, async () => {
  await must(place.rest.call('POST', '/v1/contacts', { email: 'ann@example.com' }));
  for (const path of ['/v1/contacts', '/v1/contacts/ann%40example.com', '/v1/contacts/ann@example.com']) {
    const { status, body } = await place.rest.call('GET', path);
    assert.equal(status, 405, path);
    assert.equal(body.error.code, 'METHOD_NOT_ALLOWED', path);
  }
});

test('R-369: an address in a path is URI-encoded, whatever it holds', LIMIT, async () => {
  for (const email of ['ann+news@example.com', "o'brien/sales@example.com", 'jörg@example.com', '50%off@example.com']) {
    await must(place.rest.call('POST', '/v1/contacts', { email }));
    const path = `/v1/contacts/${encodeURIComponent(email)}`;
    const changed = await must(place.rest.call('PATCH', path, { fields: { plan: 'gold' } }));
    assert.equal(changed.email, email);
    assert.equal(changed.customFields.plan, 'gold');
    assert.equal((await must(place.rest.call('DELETE', path))).deleted, true);
    assert.equal((await must(place.rest.call('DELETE', path))).deleted, false);
  }
});
