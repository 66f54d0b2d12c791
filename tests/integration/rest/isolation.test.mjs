// Rows of a brand are visible in that brand alone, and reading costs no credits.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { installationFor } from '../../lib/installation.mjs';
import { until } from '../../lib/processes.mjs';
import { makePlace, must } from '../../lib/brand_fixture.mjs';

const LIMIT = { timeout: 600_000 };
// Belongs to the organization, and looks the same from every brand.
const SHARED = /^\/v1\/(help|health|usage|brands|templates|flows|api-keys|integrations)\b/;
const installation = installationFor({ after });
let ours;
let theirs;
let endpoints;
let made; // what is in our brand: {emailId: 'eml_…', …}

before(async () => {
  const server = await installation.serve('--log-level', 'error');
  [ours, theirs] = [await makePlace(installation, server), await makePlace(installation, server)];
  ({ endpoints } = await must(ours.rest.call('GET', '/v1/help')));
  made = await fillBrand();
});

async function fillBrand() {
  const post = (path, body) => must(ours.rest.call('POST', path, body));
  const contact = await post('/v1/contacts', { email: 'ada@ours.example', customFields: { oursOnly: 'x' } });
  const { groupId } = await post('/v1/email-groups', { name: 'Ours' });
  const { emailId } = await post('/v1/emails/import', { content: '<p>Hi</p>', title: 'Ours', groupId });
  const { audienceId } = await post('/v1/audiences', { name: 'Ours', filters: { logic: 'and', filters: [] } });
  const [{ domainId }] = (await must(ours.rest.call('GET', '/v1/domains'))).data;
  const { sendId } = await post('/v1/sends', { emailId, domainId, audienceId: 'all', subject: 'Ours' });
  await until('the send has ended', async () => (await must(ours.rest.call('GET', `/v1/sends/${sendId}`))).status === 'completed', 60_000);
  return { contactId: contact.id, email: contact.email, groupId, emailId, audienceId, domainId, sendId, fieldName: 'oursOnly' };
}

const lists = () => endpoints.filter(({ method, path, available }) => method === 'GET' && available && !path.includes('{'));

test('no list of one brand shows what another has (R-064)', LIMIT, async () => {
  const seen = new Set();
  const look = async (transport, method, path, body) => {
    const answer = await transport.rest.call(method, path, body);
    return answer.ok ? JSON.stringify(answer.body) : '';
  };
  const searches = [...lists().filter(({ path }) => !SHARED.test(path)), { method: 'POST', path: '/v1/contacts/search' }];
  for (const { method, path } of searches) {
    const [here, there] = [await look(ours, method, path, method === 'POST' ? {} : undefined), await look(theirs, method, path, method === 'POST' ? {} : undefined)];
    for (const [name, id] of Object.entries(made)) {
      if (here.includes(id)) seen.add(name);
      assert.ok(!there.includes(id), `${method} ${path} of another brand shows ${name}`);
    }
  }
  assert.deepEqual([...seen].sort(), Object.keys(made).sort(), 'our own lists show all of it');
});

test('looking is free, wherever one looks (R-163)', LIMIT, async () => {
  const used = async () => (await must(ours.rest.call('GET', '/v1/usage'))).credits.used;
  const before = await used();
  let reads = 0;
  for (const { method, path, available } of endpoints) {
    if (method !== 'GET' || !available) continue;
    const answer = await ours.rest.call('GET', path.replace(/\{(\w+)\}/g, (_, name) => made[name] ?? 'nothing'));
    assert.equal(answer.headers['x-credit-cost'], undefined, path);
    reads += answer.ok ? 1 : 0;
  }
  assert.ok(reads >= 15, `${reads} reads succeeded`);
  // A frame of the design tool costs nothing either; no tool is connected, which is said before any work.
  assert.equal((await ours.rest.call('POST', '/v1/emails/figma', { figmaUrl: 'https://www.figma.com/design/a/B?node-id=1-2' })).status, 422);
  assert.equal(await used(), before);
});
