// A campaign that will not be needed is removed with all that belongs to it. The order counts: a scheduled send goes out although its
// design and audience are deleted, so it is canceled first.

import assert from 'node:assert/strict';
import { cutShort, extra, insteadOfId, named, valued } from '../mistakes.mjs';
import { contact } from '../seeds.mjs';

const TITLE = 'Trial ends';
const hour = (place) => new Date(place.now.getTime() + 5 * 3_600_000).toISOString();

export default {
  title: 'Clean up in the right order',
  brief: () => `The trial campaign is over. Remove what belongs to it, so that nothing of it is sent any more: the scheduled send with the subject "${TITLE}", its design, the folder of the design, its audience, and the contact field trialEnds. Everything else stays.`,
  given: () => ({ subject: TITLE, fieldName: 'trialEnds' }),
  needs: ['get_email_analytics', 'control_email_send', 'list_emails', 'delete_email', 'delete_email_group', 'delete_audience', 'delete_contact_field'],
  calls: 7,
  async seed(place) {
    await place.rest('POST', '/v1/contacts', { contacts: ['ada', 'bob'].map((name) => contact(place, name, { customFields: { trialEnds: '2026-10-01', plan: 'free' } })) });
    const filters = { logic: 'and', filters: [{ field: 'trialEnds', operator: 'is_not_empty' }] };
    const { audienceId } = await place.rest('POST', '/v1/audiences', { name: 'Trials', filters });
    await place.rest('POST', '/v1/audiences', { name: 'Everybody', filters: { logic: 'and', filters: [{ field: 'plan', operator: 'exists' }] } });
    const { emailId } = await place.rest('POST', '/v1/emails/tpl_welcome_fernhill/clone', { title: TITLE, groupName: 'Trials' });
    await place.rest('POST', '/v1/emails/tpl_welcome_fernhill/clone', { title: 'Stays', groupName: 'Others' });
    await place.rest('POST', '/v1/sends', { emailId, domainId: await place.sandboxDomain(), audienceId, subject: TITLE, scheduledAt: hour(place) });
  },

  async golden(assistant, { subject, fieldName }) {
    const sends = await assistant.call('get_email_analytics', { view: 'sends', status: 'scheduled' });
    const { sendId, emailId, audienceId } = sends.data.find((send) => send.subject === subject);
    await assistant.call('control_email_send', { action: 'cancel', sendId });
    const { data } = await assistant.call('list_emails', {});
    const { group } = data.find((design) => design.emailId === emailId);
    await assistant.call('delete_email', { emailId });
    await assistant.call('delete_email_group', { groupId: group.groupId });
    await assistant.call('delete_audience', { audienceId });
    await assistant.call('delete_contact_field', { fieldName });
    return 'The trial campaign is gone; nothing of it will be sent.';
  },
  messages: 0,

  async check(place) {
    assert.deepEqual(await place.rows('select status from sends where brand_id = $BRAND'), ['canceled']);
    const { data } = await place.rest('GET', '/v1/emails');
    assert.deepEqual(data.map(({ title }) => title), ['Stays']);
    assert.deepEqual((await place.rest('GET', '/v1/email-groups')).data.map(({ groupName }) => groupName), ['Others']);
    assert.deepEqual((await place.rest('GET', '/v1/audiences')).data.map(({ name }) => name), ['Everybody']);
    assert.deepEqual(await place.rows('select distinct custom_fields from contacts where brand_id = $BRAND'), ['{"plan": "free"}']);
  },

  mistakes: {
    get_email_analytics: [valued('status', 'SCHEDULED'), valued('view', 'campaigns'), named('status', 'state')],
    control_email_send: [named('sendId', 'send_id'), cutShort('sendId'), named('action', 'command')],
    delete_email: [named('emailId', 'id'), named('emailId', 'designId'), cutShort('emailId'), insteadOfId('emailId', TITLE), extra('confirm', true)],
    delete_email_group: [named('groupId', 'folderId'), named('groupId', 'id'), cutShort('groupId'), insteadOfId('groupId', 'Trials')],
    delete_audience: [named('audienceId', 'id'), named('audienceId', 'audience_id'), cutShort('audienceId'), insteadOfId('audienceId', 'Trials'), extra('force', true)],
    delete_contact_field: [named('fieldName', 'name'), named('fieldName', 'field'), valued('fieldName', 'trial_ends'), valued('fieldName', 'trialEnd'), valued('fieldName', 'TrialEnds')],
  },
};
