// A campaign goes out in tranches; it is paused after the first and resumed.

import assert from 'node:assert/strict';
import { asText, named, valued } from '../mistakes.mjs';
import { contact, letter } from '../seeds.mjs';

const PEOPLE = 10;

export default {
  title: 'Gradual, pause, resume',
  brief: () => 'Send the design "Big news" to all contacts with the subject "Big news", a tenth first and another tenth each day, Lisbon time. Pause it, then resume it: I only wanted to see that it works. How many recipients does it have?',
  given: () => ({ title: 'Big news', subject: 'Big news', percentage: 10, timeZone: 'Europe/Lisbon' }),
  // The brief says these in words.
  unquoted: ['percentage', 'timeZone'],
  needs: ['get_capabilities', 'list_emails', 'send_email.gradualSend', 'control_email_send', 'get_email_analytics'],
  calls: 7,
  async seed(place) {
    await place.rest('POST', '/v1/contacts', { contacts: Array.from({ length: PEOPLE }, (_, i) => contact(place, `reader${i}`)) });
    await place.importDesign('Big news', letter('Big news', 'Big news.'));
  },

  async golden(assistant, { title, subject, percentage, timeZone }) {
    const { domains } = await assistant.call('get_capabilities', { topic: 'account' });
    const { data } = await assistant.call('list_emails', {});
    const { emailId } = data.find((design) => design.title === title);
    const gradualSend = { startingPercentage: percentage, incrementPercentage: percentage, interval: { value: 1, unit: 'day' }, timeZone };
    const order = { emailId, domainId: domains[0].domainId, audienceId: 'all', subject, gradualSend };
    const { sendId } = await assistant.confirm('send_email', order);
    const { recipientCount } = await assistant.poll('get_email_analytics', { view: 'send', sendId }, ({ stats }) => stats?.sent > 0);
    await assistant.call('control_email_send', { action: 'pause', sendId });
    const { status } = await assistant.call('control_email_send', { action: 'resume', sendId });
    return `It has ${recipientCount} recipients and is ${status}.`;
  },
  sends: 1,
  messages: 1,
  figures: { recipients: 'select recipient_count from sends where brand_id = $BRAND' },

  async check(place) {
    assert.deepEqual(await place.rows('select status, recipient_count from sends where brand_id = $BRAND'), [`running|${PEOPLE}`]);
  },

  mistakes: {
    send_email: [
      named('gradualSend', 'gradual_send'),
      asText('gradualSend.startingPercentage'),
      valued('gradualSend.interval.unit', 'days'),
      named('gradualSend.startingPercentage', 'start'),
    ],
    control_email_send: [valued('action', 'hold'), named('sendId', 'id')],
  },
};
