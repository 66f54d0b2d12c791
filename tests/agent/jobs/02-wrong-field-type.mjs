// Contacts of which one has a value that its field does not take: the assistant mends that row alone.

import assert from 'node:assert/strict';
import { asText, extra, named, reshaped } from '../mistakes.mjs';
import { contact } from '../seeds.mjs';

const rowsOf = (place) => [
  { email: place.address('ada'), firstName: 'Ada', seats: 4 },
  { email: place.address('bob'), firstName: 'Bob', seats: '12 seats' },
  { email: place.address('cyd'), firstName: 'Cyd', seats: 7 },
];

/** The number at the beginning of a text. */
const numberIn = (text) => Number.parseFloat(text);

export default {
  title: 'Contacts with a wrong field type, mended',
  brief: (place) => `Save these people as contacts. Where a value does not fit its field, correct it and tell me how many there are in the end:\n${JSON.stringify(rowsOf(place))}`,
  given: (place) => ({ rows: rowsOf(place) }),
  needs: ['save_contact'],
  calls: 2,
  seed: (place) => place.rest('POST', '/v1/contacts', contact(place, 'eve', { customFields: { seats: 2 } })),

  async golden(assistant, { rows }) {
    const contacts = rows.map(({ seats, ...row }) => ({ ...row, customFields: { seats } }));
    const { summary, errors } = await assistant.call('save_contact', { contacts });
    const wrong = errors.filter(({ code }) => code === 'FIELD_TYPE_MISMATCH').map(({ index }) => contacts[index]);
    assert.match(errors[0].message, /number/);
    const mended = wrong.map((row) => ({ ...row, customFields: { seats: numberIn(row.customFields.seats) } }));
    const second = await assistant.call('save_contact', mended[0]);
    assert.equal(second.customFields.seats, 12);
    return `Saved ${summary.inserted + mended.length} contacts; the seats of ${mended[0].firstName} were a text, and are ${second.customFields.seats} now.`;
  },
  figures: { contacts: "select count(*) from contacts where brand_id = $BRAND and first_name <> 'Eve'", seats: "select custom_fields->>'seats' from contacts where brand_id = $BRAND and first_name = 'Bob'" },

  async check(place) {
    assert.deepEqual(await place.rows("select first_name, custom_fields->>'seats' from contacts where brand_id = $BRAND order by 1"), ['Ada|4', 'Bob|12', 'Cyd|7', 'Eve|2']);
  },

  peer: {
    brief: (tag) => `Save these people as contacts: Ada, ada-${tag}@example.com; Bob, bob-${tag}@example.com; Cyd, cyd-${tag}@example.com. How many did you save?`,
    async check(api, tag) {
      const { data } = await api('/contacts?limit=100');
      assert.equal(data.filter(({ email }) => email.includes(tag)).length, 3);
    },
  },

  mistakes: {
    save_contact: [
      named('contacts', 'rows'),
      named('contacts.0.firstName', 'first_name'),
      named('contacts.0.customFields', 'custom_fields'),
      asText('contacts'),
      named('contacts.1.email', 'emailAddress'),
    ],
    'save_contact#2': [
      named('firstName', 'first_name'),
      named('customFields', 'custom_fields'),
      reshaped('seats beside email', ({ customFields, ...rest }) => ({ ...rest, ...customFields })),
      named('email', 'email_address'),
      asText('customFields'),
      { ...extra('language', 'en'), right: (args) => ({ ...args, customFields: { ...args.customFields, language: 'en' } }) },
    ],
  },
};
