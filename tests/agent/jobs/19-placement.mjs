// A placement test of a design: in which folder of the test mailboxes it arrives.

import assert from 'node:assert/strict';
import { cutShort, named } from '../mistakes.mjs';
import { letter } from '../seeds.mjs';

export default {
  title: 'Placement',
  brief: () => 'Find out where the design "Campaign" lands: how many of the test mailboxes show it in the inbox?',
  given: () => ({ title: 'Campaign' }),
  needs: ['get_capabilities', 'list_emails', 'create_inbox_placement_test', 'get_inbox_placement_results'],
  calls: 4,
  seed: (place) => place.importDesign('Campaign', letter('Campaign', 'Tea')),

  async golden(assistant, { title }) {
    const { domains } = await assistant.call('get_capabilities', { topic: 'account' });
    const { data } = await assistant.call('list_emails', {});
    const { emailId } = data.find((design) => design.title === title);
    const { testId } = await assistant.call('create_inbox_placement_test', { emailId, domainId: domains[0].domainId });
    const ended = ({ status }) => !['queued', 'running'].includes(status);
    const { status } = await assistant.poll('get_inbox_placement_results', { emailId, testId }, ended);
    return `The test is ${status}.`;
  },

  async check(place, answer) {
    const [{ emailId }] = (await place.rest('GET', '/v1/emails')).data;
    const { data } = await place.rest('GET', `/v1/emails/${emailId}/inbox-placement-tests`);
    assert.equal(data.length, 1);
    assert.ok(answer.includes(data[0].status));
  },

  mistakes: {
    create_inbox_placement_test: [named('emailId', 'id'), cutShort('domainId')],
    get_inbox_placement_results: [named('testId', 'test_id')],
  },
};
