// A connection of an organization is bound to no brand: the assistant reads which there are, makes one, and works in it.

import assert from 'node:assert/strict';
import { cutShort, extra, missing, named, valued } from '../mistakes.mjs';

export default {
  title: 'Find out where one is, make a brand and enter it',
  brief: (place) => `Which brands do we have? Make a new one called "Harbour Tea" in the time zone Europe/Lisbon, enter it, and save ${place.address('ada')} as its first contact.`,
  given: (place) => ({ name: 'Harbour Tea', timeZone: 'Europe/Lisbon', email: place.address('ada') }),
  needs: ['get_capabilities.topic=brands', 'create_brand', 'save_contact.brandId'],
  hasBrand: false,
  // The local owner's connection over stdio is always in a brand.
  transports: ['http'],
  calls: 3,
  seed: () => {},

  async golden(assistant, { name, timeZone, email }) {
    const { data } = await assistant.call('get_capabilities', { topic: 'brands' });
    const { brandId } = await assistant.call('create_brand', { name, timeZone });
    await assistant.call('save_contact', { email, brandId });
    return `Beside ${data.map((brand) => brand.name).join(', ')} there is "${name}" with 1 contact.`;
  },
  figures: { contacts: 'select count(*) from contacts where brand_id = $BRAND' },
  answer: [/Neighbour/],

  async check(place) {
    assert.deepEqual(await place.rows(`select name, time_zone from brands where organization_id = ${place.organizationKey} order by name`), ['Harbour Tea|Europe/Lisbon', `Neighbour ${place.number}|UTC`]);
    assert.deepEqual(await place.rows('select email from contacts where brand_id = $BRAND'), [place.address('ada')]);
  },

  mistakes: {
    get_capabilities: [valued('topic', 'brand'), valued('topic', 'Brands'), named('topic', 'section')],
    create_brand: [named('name', 'title'), named('name', 'brandName'), named('timeZone', 'timezone'), named('timeZone', 'time_zone'), extra('industry', 'tea')],
    save_contact: [missing('brandId'), named('brandId', 'brand'), named('brandId', 'brand_id'), named('email', 'address'), cutShort('brandId')],
  },
};
