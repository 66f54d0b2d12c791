// Three people ask to be erased; one is known by name only, and one had unsubscribed, which must be remembered.

import assert from 'node:assert/strict';
import { asText, extra, named, valued } from '../mistakes.mjs';
import { contact } from '../seeds.mjs';

export default {
  title: 'Erase three people',
  brief: (place) => `Erase ${place.address('ada')}, ${place.address('bob')} and the person with the last name Stonebridge. They asked for it; nobody else may be touched. How many did you delete?`,
  given: (place) => ({ emails: [place.address('ada'), place.address('bob')], lastName: 'Stonebridge' }),
  needs: ['search_contacts', 'delete_contacts'],
  calls: 2,
  seed: (place) => place.rest('POST', '/v1/contacts', { contacts: [
    contact(place, 'ada'), contact(place, 'bob', { subscribed: false }), contact(place, 'cyd', { lastName: 'Stonebridge' }),
    contact(place, 'dan', { lastName: 'Stone' }), contact(place, 'eve'),
  ] }),

  async golden(assistant, { emails, lastName }) {
    const { data } = await assistant.call('search_contacts', { search: lastName, limit: 5 });
    assert.equal(data.length, 1, 'the name is found once');
    const { deletedCount } = await assistant.call('delete_contacts', { emails: [...emails, data[0].email] });
    return `Deleted ${deletedCount} contacts.`;
  },
  figures: { deleted: 'select 5 - count(*) from contacts where brand_id = $BRAND' },

  async check(place) {
    assert.deepEqual(await place.rows('select first_name from contacts where brand_id = $BRAND order by 1'), ['Dan', 'Eve']);
    const again = await place.rest('POST', '/v1/contacts', { email: place.address('bob') });
    assert.equal(again.subscribed, false, 'the unsubscribe is remembered');
    await place.rest('DELETE', `/v1/contacts/${place.address('bob')}`);
  },

  mistakes: {
    search_contacts: [named('search', 'query'), named('search', 'q'), named('search', 'name'), asText('limit'), valued('limit', 101, 100)],
    delete_contacts: [
      named('emails', 'contacts'),
      named('emails', 'addresses'),
      named('emails', 'email'),
      asText('emails'),
      valued('emails', (list) => list.join(', ')),
      valued('emails', (list) => list.map((email) => ({ email }))),
      extra('confirm', true),
    ],
  },
};
