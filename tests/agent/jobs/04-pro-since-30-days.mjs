// An audience of a text and a date: people on the pro plan since at least 30 days.

import assert from 'node:assert/strict';
import { asText, named, reshaped, valued } from '../mistakes.mjs';
import { contact, dayBefore } from '../seeds.mjs';

const PEOPLE = [['ada', 'pro', 31], ['bob', 'pro', 29], ['cyd', 'free', 400], ['dan', 'pro', 90], ['eve', 'pro', 365], ['fay', 'free', 3]];

export default {
  title: 'People on pro since 30 days, as an audience',
  brief: (place) => `Make an audience called "Settled pros" of everybody who has been on the pro plan since before ${dayBefore(place, 30)}, and tell me how many they are.`,
  given: (place) => ({ name: 'Settled pros', plan: 'pro', before: dayBefore(place, 30) }),
  needs: ['create_audience', 'search_contacts'],
  calls: 2,
  seed: (place) => place.rest('POST', '/v1/contacts', {
    contacts: PEOPLE.map(([name, plan, days]) => contact(place, name, { customFields: { plan, planSince: dayBefore(place, days) } })),
  }),

  async golden(assistant, { name, plan, before }) {
    const { data } = await assistant.call('search_contacts', { limit: 1 });
    const fields = Object.keys(data[0].customFields);
    const [planField, sinceField] = [fields.find((field) => field === 'plan'), fields.find((field) => /since/i.test(field))];
    const filters = [{ field: planField, operator: 'equals', value: plan }, { field: sinceField, operator: 'before', value: before }];
    const { count } = await assistant.call('create_audience', { name, filters: { logic: 'and', filters } });
    return `"${name}" has ${count} members.`;
  },
  figures: { members: "select count(*) from contacts where brand_id = $BRAND and custom_fields->>'plan' = 'pro' and (custom_fields->>'planSince')::date < current_date - 30" },

  async check(place) {
    const { data } = await place.rest('GET', '/v1/audiences');
    assert.deepEqual(data.map(({ name }) => name), ['Settled pros']);
    const members = await place.rest('POST', '/v1/contacts/search', { audienceId: data[0].audienceId, sort: 'email', order: 'asc' });
    assert.deepEqual(members.data.map(({ email }) => email), ['ada', 'dan', 'eve'].map((name) => place.address(name)));
  },

  mistakes: {
    search_contacts: [asText('limit'), valued('limit', 0), named('limit', 'page_size'), valued('limit', 1000, 100)],
    create_audience: [
      valued('filters.filters.0.operator', 'eq'),
      valued('filters.filters.0.operator', 'is'),
      valued('filters.filters.1.operator', 'less_than'),
      valued('filters.filters.1.operator', 'lt'),
      valued('filters.filters.0.field', 'customFields.plan'),
      valued('filters.filters.0.field', 'Plan'),
      valued('filters.filters.1.field', 'plan_since'),
      named('filters.filters', 'conditions'),
      named('filters.filters', 'rules'),
      named('filters.logic', 'operator'),
      valued('filters.logic', 'AND'),
      asText('filters'),
      reshaped('a bare list of conditions', ({ name, filters }) => ({ name, filters: filters.filters })),
      named('filters.filters.0.operator', 'op'),
      named('name', 'audienceName'),
      named('filters', 'filter'),
      named('filters.filters.1.field', 'property'),
    ],
  },
};
