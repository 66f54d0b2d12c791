// A finished newsletter becomes a design and is looked at as one contact will see it.

import assert from 'node:assert/strict';
import { extra, named } from '../mistakes.mjs';
import { contact, letter } from '../seeds.mjs';

const SOURCE = letter('The bulb letter', "Dear {{ firstName | default: 'gardener' }},", 'Plant now; your town is {{ town }}.', '<a href="https://example.com/bulbs">Bulbs</a>');
const SUBJECT = "{{ firstName | default: 'Gardener' }}, plant now";

export default {
  title: 'Import and preview',
  brief: (place) => `Save this HTML as a design with the subject line "${SUBJECT}", and tell me which subject ${place.address('ada')} sees and which merge tags have no value for her.\n\n${SOURCE}`,
  given: (place) => ({ content: SOURCE, subjectLine: SUBJECT, contact: place.address('ada') }),
  needs: ['import_email', 'get_email'],
  calls: 2,
  seed: (place) => place.rest('POST', '/v1/contacts', contact(place, 'ada')),

  async golden(assistant, { content, subjectLine, contact: who }) {
    const { emailId } = await assistant.call('import_email', { content, subjectLine });
    const { subject, missing } = await assistant.call('get_email', { emailId, contact: who });
    return `She sees "${subject}". Without a value: ${missing.map((tag) => tag.name ?? tag).join(', ')}.`;
  },
  answer: [/"Ada, plant now"/, /town/],

  async check(place) {
    const { data } = await place.rest('GET', '/v1/emails');
    assert.equal(data.length, 1);
    const { title, subjectLine, status } = await place.rest('GET', `/v1/emails/${data[0].emailId}`);
    assert.deepEqual([title, subjectLine, status], ['The bulb letter', SUBJECT, 'ready']);
  },

  mistakes: {
    import_email: [
      named('content', 'html'),
      named('content', 'source'),
      named('subjectLine', 'subject'),
      named('subjectLine', 'subject_line'),
      { ...extra('name', 'The bulb letter'), right: (args) => ({ ...args, title: 'The bulb letter' }) },
      extra('previewText', 'Plant now'),
      extra('format', 'HTML', 'html'),
    ],
    get_email: [
      named('emailId', 'id'),
      named('emailId', 'email_id'),
      named('contact', 'recipient'),
      named('contact', 'email'),
      extra('include', 'text'),
    ],
  },
};
