// The report of a campaign: rates, and the link that was clicked most.

import assert from 'node:assert/strict';
import { asText, cutShort, named, valued } from '../mistakes.mjs';
import { contact, engage, letter } from '../seeds.mjs';

const NAMES = ['ada', 'bob', 'cyd', 'dan', 'eve', 'fay', 'gus', 'hal'];
const BEST = 'https://example.com/best';

export default {
  title: 'Report with rates and the best link',
  brief: () => 'How did the campaign "June letter" do? Give me the delivered messages, the opens and clicks, the open rate and click rate of the delivered in percent, and the link that was clicked most.',
  given: () => ({ subject: 'June letter' }),
  needs: ['get_email_analytics', 'sendReport#rates'],
  parts: { 'the best link': ['sendReport#links'] },
  calls: 2,
  async seed(place) {
    await place.rest('POST', '/v1/contacts', { contacts: NAMES.map((name) => contact(place, name)) });
    const emailId = await place.importDesign('June', letter('June', `<a href="${BEST}">Best</a>`, '<a href="https://example.com/other">Other</a>'));
    await place.deliver({ emailId, audienceId: 'all', subject: 'June letter' });
    await engage(place, 'opened', ['ada', 'bob', 'cyd', 'dan', 'eve', 'fay']);
    await engage(place, 'clicked', ['ada', 'bob'], BEST);
    await engage(place, 'clicked', ['cyd'], 'https://example.com/other');
  },

  async golden(assistant, { subject }) {
    const { data } = await assistant.call('get_email_analytics', { view: 'sends', limit: 5 });
    const { sendId, stats, rates } = data.find((send) => send.subject === subject);
    const percent = (rate) => `${Math.round(rate * 1000) / 10} %`;
    const report = `${stats.delivered} delivered, ${stats.opened} opened (${percent(rates.open)}), ${stats.clicked} clicked (${percent(rates.click)})`;
    if (this.waitingParts.length > 0) return `${report}.`;
    const { links } = await assistant.call('get_email_analytics', { view: 'send', sendId });
    return `${report}; best link: ${links[0].url}.`;
  },
  messages: NAMES.length,
  figures: {
    delivered: 'select delivered from send_stats where brand_id = $BRAND',
    opened: 'select opened from send_stats where brand_id = $BRAND',
    clicked: 'select clicked from send_stats where brand_id = $BRAND',
    openRate: 'select round(100.0 * opened / delivered, 1)::float from send_stats where brand_id = $BRAND',
    clickRate: 'select round(100.0 * clicked / delivered, 1)::float from send_stats where brand_id = $BRAND',
  },

  async check(place, answer) {
    assert.equal(await place.sends(), 1);
    if (this.waitingParts.length === 0) assert.ok(answer.includes(BEST));
  },

  mistakes: {
    get_email_analytics: [
      valued('view', 'list'),
      valued('view', 'campaigns'),
      asText('limit'),
      named('limit', 'pageSize'),
      valued('view', 'SENDS'),
      valued('limit', 250, 100),
      named('view', 'report'),
    ],
    'get_email_analytics#2': [
      valued('view', 'report'),
      valued('view', 'sends'),
      named('sendId', 'campaignId'),
      named('sendId', 'send_id'),
      cutShort('sendId'),
      named('sendId', 'id'),
    ],
  },
};
