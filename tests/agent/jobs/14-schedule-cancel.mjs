// A campaign is scheduled, and canceled before its time. The user is asked before it is scheduled.

import assert from 'node:assert/strict';
import { cutShort, insteadOfId, missing, named, valued } from '../mistakes.mjs';
import { contact, letter } from '../seeds.mjs';

const inTwoDays = (place) => new Date(place.now.getTime() + 2 * 86_400_000).toISOString().replace(/\.\d+Z$/, 'Z');

export default {
  title: 'Schedule and cancel',
  brief: (place) => `Schedule the design "Winter letter" to all contacts for ${inTwoDays(place)}, with the subject "Winter is near". Then cancel it again: I changed my mind.`,
  given: (place) => ({ title: 'Winter letter', subject: 'Winter is near', scheduledAt: inTwoDays(place) }),
  needs: ['get_capabilities', 'list_emails', 'send_email', 'control_email_send'],
  calls: 5,
  async seed(place) {
    await place.rest('POST', '/v1/contacts', { contacts: ['ada', 'bob', 'cyd'].map((name) => contact(place, name)) });
    await place.importDesign('Winter letter', letter('Winter letter', 'Winter is near.'));
  },

  async golden(assistant, { title, subject, scheduledAt }) {
    const { domains } = await assistant.call('get_capabilities', { topic: 'account' });
    const { data } = await assistant.call('list_emails', {});
    const { emailId } = data.find((design) => design.title === title);
    const order = { emailId, domainId: domains[0].domainId, audienceId: 'all', subject, scheduledAt };
    const { sendId } = await assistant.confirm('send_email', order);
    const { status } = await assistant.call('control_email_send', { action: 'cancel', sendId });
    return `It was scheduled for ${scheduledAt}, and is ${status}.`;
  },
  sends: 1,
  messages: 0,

  async check(place) {
    const [send] = await place.rows("select status, target, subject, to_char(scheduled_at at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') from sends where brand_id = $BRAND");
    assert.equal(send, `canceled|all|Winter is near|${inTwoDays(place)}`);
  },

  peer: {
    brief: (tag) => `Schedule an email from onboarding@resend.dev to delivered@resend.dev for in two days, with the subject "Winter ${tag}" and the text "Winter is near.". Then cancel it again: I changed my mind.`,
    async check(api, tag) {
      const { data } = await api('/emails?limit=100');
      assert.deepEqual(data.filter(({ subject }) => subject === `Winter ${tag}`).map(({ last_event: event }) => event), ['canceled']);
    },
  },

  mistakes: {
    get_capabilities: [named('topic', 'subject'), valued('topic', 'Account'), named('topic', 'section')],
    send_email: [
      named('audienceId', 'audience'),
      named('audienceId', 'audience_id'),
      named('scheduledAt', 'scheduled_at'),
      named('scheduledAt', 'sendAt'),
      valued('scheduledAt', (text) => text.replace('Z', '')),
      valued('scheduledAt', (text) => text.replace('T', ' ').replace('Z', '')),
      named('domainId', 'domain'),
      insteadOfId('domainId', 'sandbox.posthorn.localhost'),
      missing('domainId'),
      named('emailId', 'templateId'),
      insteadOfId('emailId', 'Winter letter'),
      named('subject', 'subject_line'),
    ],
    control_email_send: [
      valued('action', 'stop'),
      valued('action', 'CANCEL'),
      valued('action', 'cancelled'),
      named('action', 'operation'),
      named('sendId', 'id'),
      cutShort('sendId'),
      named('sendId', 'send_id'),
    ],
  },
};
