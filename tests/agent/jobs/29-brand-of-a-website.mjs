// A brand is to be read from its website, which forbids it: the assistant reads the reason, corrects the brand by hand, and it can be used.

import assert from 'node:assert/strict';
import { cutShort, missing, named, valued } from '../mistakes.mjs';

const ADDRESS = '1 Harbour Road, Leith';
const DESIGN = '- Accent: #0a7f5a';

export default {
  title: 'A brand of a website that cannot be read, corrected',
  brief: (place) => `Make a brand "Harbour Tea" of our website ${place.places.sites.closed}, with the domain harbour.example. If it cannot be read, tell me why, and write down what we know: the postal address "${ADDRESS}" and the design "${DESIGN}". Then save ${place.address('ada')} as its first contact.`,
  given: (place) => ({ url: place.places.sites.closed, name: 'Harbour Tea', domain: 'harbour.example', address: ADDRESS, design: DESIGN, email: place.address('ada') }),
  needs: ['create_brand.url', 'get_capabilities.topic=account', 'brand.update', 'save_contact.brandId'],
  hasBrand: false,
  sweeps: true,
  // The local owner's connection over stdio is always in a brand.
  transports: ['http'],
  calls: 4,
  seed: () => {},

  async golden(assistant, { url, name, domain, address, design, email }) {
    const { brandId } = await assistant.call('create_brand', { url, name, domain });
    const { brand } = await assistant.poll('get_capabilities', { topic: 'account', brandId }, ({ brand: { status } }) => status !== 'extracting');
    assert.equal(brand.status, 'failed');
    const { ready } = await assistant.call('brand.update', { brandId, identity: { address }, emailDesign: design });
    assert.ok(ready);
    await assistant.call('save_contact', { email, brandId });
    return `The website was not read: ${brand.error} The brand is ready and has 1 contact.`;
  },
  figures: { contacts: 'select count(*) from contacts where brand_id = $BRAND' },
  answer: [/robots\.txt/],

  async check(place) {
    assert.deepEqual(await place.rows(`select name, identity->>'address', email_design from brands where id = $BRAND`), [`Harbour Tea|${ADDRESS}|${DESIGN}`]);
    const brandId = (await place.rest('GET', '/v1/brands', undefined, null)).data.find(({ name }) => name === 'Harbour Tea').brandId;
    const { status, ready } = await place.rest('GET', `/v1/brands/${brandId}`, undefined, null);
    assert.deepEqual([status, ready], ['completed', true]);
  },

  mistakes: {
    create_brand: [named('url', 'website'), named('url', 'domainUrl'), named('name', 'brandName')],
    get_capabilities: [named('topic', 'view'), valued('topic', 'Account')],
    'brand.update': [named('emailDesign', 'email_design'), named('emailDesign', 'design'), named('identity.address', 'postalAddress'), named('identity', 'brand')],
    save_contact: [missing('brandId'), named('brandId', 'brand'), cutShort('brandId')],
  },
};
