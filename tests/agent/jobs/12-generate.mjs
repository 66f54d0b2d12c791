// A design is generated from a prompt.

import assert from 'node:assert/strict';
import { named } from '../mistakes.mjs';

export default {
  title: 'Generate',
  brief: () => 'Write a short welcome email for new customers of our tea garden, with the subject line "Welcome to the Tea Garden". Tell me when it is ready.',
  given: () => ({ prompt: 'a short welcome email for new customers of our tea garden', subjectLine: 'Welcome to the Tea Garden' }),
  needs: ['create_email', 'get_email'],
  calls: 2,
  seed: () => {},

  async golden(assistant, { prompt, subjectLine }) {
    const { emailId, runId } = await assistant.call('create_email', { prompt, subjectLine });
    const { title } = await assistant.poll('get_email', { emailId, runId, waitSeconds: 50 }, ({ status }) => status !== 'generating');
    return `"${title}" is ready.`;
  },

  async check(place) {
    const { data } = await place.rest('GET', '/v1/emails');
    assert.equal(data.length, 1);
    const { subjectLine, status } = await place.rest('GET', `/v1/emails/${data[0].emailId}`);
    assert.deepEqual([subjectLine, status], ['Welcome to the Tea Garden', 'ready']);
  },

  mistakes: {
    create_email: [named('prompt', 'description'), named('subjectLine', 'subject'), named('subjectLine', 'subject_line')],
    get_email: [named('runId', 'run_id'), named('emailId', 'id')],
  },
};
