// The people who opened a campaign and did not click, frozen as they are now.

import assert from 'node:assert/strict';
import { asText, cutShort, named, single, valued } from '../mistakes.mjs';
import { contact, dayBefore, engage, letter } from '../seeds.mjs';

const NAMES = ['ada', 'bob', 'cyd', 'dan', 'eve'];

export default {
  title: 'Openers who did not click, frozen',
  brief: (place) => `Freeze the people who opened the campaign "Spring news" but clicked nothing into an audience called "Opened only", from events since ${dayBefore(place, 2)}. Tell me how many they are.`,
  given: (place) => ({ name: 'Opened only', subject: 'Spring news', from: dayBefore(place, 2) }),
  needs: ['get_email_analytics', 'create_audience', 'create_audience_from_events', 'search_contacts'],
  calls: 4,
  async seed(place) {
    await place.rest('POST', '/v1/contacts', { contacts: NAMES.map((name) => contact(place, name)) });
    const emailId = await place.importDesign('News', letter('News', 'Hello', '<a href="https://example.com/new">New</a>'));
    await place.deliver({ emailId, audienceId: 'all', subject: 'Spring news' });
    await engage(place, 'opened', ['ada', 'bob', 'cyd', 'dan']);
    await engage(place, 'clicked', ['bob', 'dan']);
  },

  async golden(assistant, { name, subject, from }) {
    const { data } = await assistant.call('get_email_analytics', { view: 'sends', limit: 5 });
    const { sendId } = data.find((send) => send.subject === subject);
    const filters = [{ field: 'activity.opened', operator: 'gte', value: 1 }, { field: 'activity.clicked', operator: 'equals', value: 0 }];
    const openers = await assistant.call('create_audience', { name: `${name}, by condition`, filters: { logic: 'and', filters } });
    const cohort = { name, eventTypes: ['opened'], sendId, from: `${from}T00:00:00Z`, audienceIds: [openers.audienceId] };
    const { audienceId } = await assistant.call('create_audience_from_events', cohort);
    const { count } = await assistant.poll('search_contacts', { audienceId, count: true }, (value) => value.count > 0);
    return `"${name}" has ${count} members.`;
  },
  figures: { members: "select count(*) from audience_members m join audiences a on a.brand_id = m.brand_id and a.id = m.audience_id where m.brand_id = $BRAND and a.name = 'Opened only'" },

  async check(place) {
    const names = await place.rows("select c.first_name from audience_members m join audiences a on a.brand_id = m.brand_id and a.id = m.audience_id and a.name = 'Opened only' join contacts c on c.brand_id = m.brand_id and c.id = m.contact_id where m.brand_id = $BRAND order by 1");
    assert.deepEqual(names, ['Ada', 'Cyd']);
    await engage(place, 'clicked', ['ada']);
    const { data } = await place.rest('GET', '/v1/audiences');
    const { audienceId } = data.find(({ name }) => name === 'Opened only');
    assert.equal((await place.rest('POST', '/v1/contacts/search', { audienceId, count: true })).count, 2, 'later events change nothing');
  },
  messages: NAMES.length,

  mistakes: {
    get_email_analytics: [valued('view', 'campaigns'), asText('limit'), named('view', 'type'), valued('limit', 500, 100)],
    create_audience: [
      valued('filters.filters.0.field', 'opened'),
      valued('filters.filters.0.operator', '>='),
      valued('filters.filters.0.operator', 'greater_than_or_equal'),
      valued('filters.filters.1.value', '0'),
      valued('filters.filters.1.operator', 'eq'),
    ],
    create_audience_from_events: [
      named('eventTypes', 'eventType'),
      single('eventTypes'),
      valued('eventTypes.0', 'open'),
      named('sendId', 'campaignId'),
      cutShort('sendId'),
      named('audienceIds', 'audience_ids'),
      valued('from', (text) => text.slice(0, 10)),
      named('from', 'since'),
      valued('eventTypes.0', 'OPENED'),
    ],
    search_contacts: [asText('count'), named('audienceId', 'audience_id'), named('audienceId', 'audience'), valued('count', 'yes')],
  },
};
