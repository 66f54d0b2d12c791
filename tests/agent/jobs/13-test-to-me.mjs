// One trial message of a design to the user, and to nobody else.

import assert from 'node:assert/strict';
import { asText, cutShort, extra, insteadOfId, missing, named, single, valued } from '../mistakes.mjs';
import { contact, letter } from '../seeds.mjs';

const TITLE = 'Autumn letter';

export default {
  title: 'Test to me',
  brief: (place) => `Send me a test of the design "${TITLE}" to ${place.address('me')}, with the subject "One to look at".`,
  given: (place) => ({ title: TITLE, me: place.address('me'), subject: 'One to look at' }),
  needs: ['list_emails', 'send_email'],
  calls: 2,
  async seed(place) {
    await place.rest('POST', '/v1/contacts', { contacts: ['ada', 'bob'].map((name) => contact(place, name)) });
    await place.importDesign(TITLE, letter(TITLE, 'Autumn is here.'));
  },

  async golden(assistant, { title, me, subject }) {
    const { data } = await assistant.call('list_emails', {});
    const { emailId } = data.find((design) => design.title === title);
    const { status, recipient } = await assistant.call('send_email', { emailId, test: true, to: [me], subject });
    return `The test to ${recipient} is ${status}.`;
  },
  messages: 1,
  isTest: true,

  async check(place) {
    const [message] = place.messages();
    assert.deepEqual([message.to, message.subject], [place.address('me'), 'One to look at']);
    assert.equal(await place.sends(), 0, 'a test is no send');
  },

  mistakes: {
    send_email: [
      single('to'),
      named('to', 'recipients'),
      named('to', 'recipient'),
      named('to', 'email'),
      named('subject', 'subjectLine'),
      asText('test'),
      named('test', 'isTest'),
      cutShort('emailId'),
      insteadOfId('emailId', TITLE),
      missing('subject'),
      valued('to', (list) => list.map((email) => ({ email }))),
      extra('html', '<p>Autumn</p>'),
    ],
  },
};
