// Why a person did not get a campaign, who else bounced, and what is to be done about it.

import assert from 'node:assert/strict';
import { asText, named, valued } from '../mistakes.mjs';
import { contact, dayBefore, engage, letter } from '../seeds.mjs';

const NAMES = ['ada', 'bob', 'cyd', 'dan', 'eve'];
const GONE = '550 5.1.1 No such user here';
const FULL = '552 5.2.2 Mailbox full';

export default {
  title: 'Who bounced, why, and what now',
  brief: (place) => `${place.address('bob')} did not get the campaign "May news", which went out between ${dayBefore(place, 2)} and ${dayBefore(place, -1)}. Tell me why, in the words of the mail server, and how many messages of it bounced. Then delete the contacts whose address does not exist, and nobody else, and tell me how many you deleted.`,
  given: (place) => ({ subject: 'May news', email: place.address('bob'), from: dayBefore(place, 2), to: dayBefore(place, -1) }),
  needs: ['get_email_analytics', 'delete_contacts'],
  calls: 3,
  async seed(place) {
    await place.rest('POST', '/v1/contacts', { contacts: NAMES.map((name) => contact(place, name)) });
    const emailId = await place.importDesign('May', letter('May', 'Hello'));
    await place.deliver({ emailId, audienceId: 'all', subject: 'May news' });
    await engage(place, 'bounced', ['bob', 'dan'], GONE);
    await engage(place, 'bounced', ['cyd'], FULL);
    await place.rows('update send_stats set bounced_later = bounced where brand_id = $BRAND');
  },

  async golden(assistant, { subject, email, from, to }) {
    const { data: sends } = await assistant.call('get_email_analytics', { view: 'sends', limit: 5 });
    const { sendId } = sends.find((send) => send.subject === subject);
    const window = { from: `${from}T00:00:00Z`, to: `${to}T00:00:00Z` };
    const { data } = await assistant.call('get_email_analytics', { view: 'events', eventType: 'bounced', ...window });
    const bounces = data.filter((event) => event.sendId === sendId);
    const reason = bounces.find(({ recipientEmail }) => recipientEmail === email).summary;
    const emails = bounces.filter(({ summary }) => summary.includes('5.1.1')).map(({ recipientEmail }) => recipientEmail);
    const { deletedCount } = await assistant.call('delete_contacts', { emails });
    return `${email}: ${reason}. ${bounces.length} messages bounced. Deleted ${deletedCount} contacts.`;
  },
  figures: {
    bounced: 'select bounced from send_stats where brand_id = $BRAND',
    deleted: `select ${NAMES.length} - count(*) from contacts where brand_id = $BRAND`,
  },
  messages: NAMES.length,

  async check(place, answer) {
    assert.ok(answer.includes(GONE));
    assert.deepEqual(await place.rows('select first_name from contacts where brand_id = $BRAND order by 1'), ['Ada', 'Cyd', 'Eve']);
  },

  mistakes: {
    get_email_analytics: [valued('view', 'campaigns'), asText('limit'), named('limit', 'pageSize')],
    'get_email_analytics#2': [
      valued('eventType', 'bounce'),
      valued('eventType', 'BOUNCED'),
      named('eventType', 'type'),
      named('view', 'kind'),
      named('from', 'since'),
      valued('from', (text) => text.slice(0, 10)),
    ],
    delete_contacts: [named('emails', 'contacts'), asText('emails'), valued('emails', (list) => list.join(', '))],
  },
};
