// The most severe finding about the brand, with what it rests on.

import assert from 'node:assert/strict';
import { cutShort, extra, named } from '../mistakes.mjs';

export default {
  title: 'The top insight',
  brief: () => 'What is the most important thing that you can find out about our emails, and what does it rest on?',
  given: () => ({}),
  needs: ['list_insights', 'get_insight'],
  calls: 2,
  seed: () => {},

  async golden(assistant) {
    const { data } = await assistant.call('list_insights', { limit: 1 });
    if (data.length === 0) return 'There is no finding yet.';
    const { description } = await assistant.call('get_insight', { insightId: data[0].insightId });
    return description;
  },

  async check(place, answer) {
    const { data } = await place.rest('GET', '/v1/insights?limit=1');
    assert.equal(answer, data[0]?.description ?? 'There is no finding yet.');
  },

  mistakes: {
    list_insights: [named('limit', 'count'), extra('sort', 'severity')],
    get_insight: [named('insightId', 'id'), cutShort('insightId')],
  },
};
