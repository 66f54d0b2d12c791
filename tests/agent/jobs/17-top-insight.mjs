// The most severe finding about the brand, with what it rests on.

import assert from 'node:assert/strict';
import { cutShort, extra, named } from '../mistakes.mjs';

const RATIONALE = '6.4 % of the 2500 messages of the last send bounced. In the sends before it was 0.80 %.';

export default {
  title: 'The top insight',
  brief: () => 'What is the most important thing that you can find out about our emails, and what does it rest on?',
  given: () => ({}),
  needs: ['list_insights', 'get_insight'],
  calls: 2,
  // Two findings, as two runs would have left them.
  async seed(place) {
    const detail = JSON.stringify({
      rationale: RATIONALE, metrics: { unit: 'rate', value: 0.064, baseline: 0.008, interval: { of: 'difference', low: 0.04, high: 0.07 }, sample: 2500, baselineSample: 57500 },
      evidence: { sendIds: [] }, subject: { kind: 'brand' }, method: { detector: 'bounceSpike', test: 'quasi-binomial', compares: 'Bounces.' },
    });
    await place.rows(`insert into insights (brand_id, detector, subject, state, kind, severity, score, description, action, detail, held, missed, found_at, checked_at)
      select $BRAND, d.detector, '', 'active', 'insight', d.severity, d.score, d.description, '{"kind": "assistant", "intent": "explain", "prompt": "Explain it."}', '${detail}', 2, 0, now(), now()
        from (values ('bounceSpike', 'critical', 60, '6.4 % of the last send bounced'), ('clicksTrend', 'warning', 90, 'Clicks fell from 4.0 % to 2.0 %')) as d (detector, severity, score, description)`);
  },

  async golden(assistant) {
    const { data } = await assistant.call('list_insights', { limit: 1 });
    const { description, rationale } = await assistant.call('get_insight', { insightId: data[0].insightId });
    return `${description}. ${rationale}`;
  },

  async check(place, answer) {
    assert.equal(answer, `6.4 % of the last send bounced. ${RATIONALE}`);
    assert.deepEqual(await place.rows("select count(*) from insights where brand_id = $BRAND and state = 'active'"), ['2']);
  },

  mistakes: {
    list_insights: [named('limit', 'count'), extra('sort', 'severity')],
    get_insight: [named('insightId', 'id'), cutShort('insightId')],
  },
};
