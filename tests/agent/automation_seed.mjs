// Published automations of one email: one that a trigger starts once for each person, one that is launched on an audience.

import { contact, letter } from './seeds.mjs';

export async function seedAutomation(place, waitDays = 0) {
  const payloadSchema = { fields: [{ key: 'email', type: 'string', required: true }] };
  const { triggerEventId } = await place.rest('POST', '/v1/automations/triggers', { title: 'Order placed', payloadSchema });
  const automationId = await publish(place, { mode: 'event', triggerEventId, reentry: { mode: 'once' } }, waitDays);
  return { automationId, triggerEventId };
}

/** `people` contacts and the audience of all of them. */
export async function seedLaunch(place, people) {
  const contacts = Array.from({ length: people }, (_, i) => contact(place, `reader${i}`, { source: 'shop' }));
  await place.rest('POST', '/v1/contacts', { contacts });
  const filters = { logic: 'and', filters: [{ field: 'source', operator: 'equals', value: 'shop' }] };
  const { audienceId } = await place.rest('POST', '/v1/audiences', { name: 'Buyers', filters });
  await publish(place, { mode: 'manualAudience', audienceId }, 0);
}

/** Publishes a trigger with this config, a wait of that many days, and the email; the id. */
async function publish(place, trigger, waitDays) {
  const emailId = await place.importDesign('Thanks', letter('Thanks', 'Thank you.'));
  const { emailVersionId } = await place.rest('GET', `/v1/emails/${emailId}`);
  const domainId = await place.sandboxDomain();
  const nodes = [{ id: 'start', type: 'trigger', config: trigger }];
  if (waitDays > 0) nodes.push({ id: 'wait', type: 'wait', config: { duration: waitDays, unit: 'days' } });
  nodes.push({ id: 'email', type: 'sendEmail', config: { emailId, emailVersionId, domainId, subject: 'Thanks' } });
  const connections = nodes.slice(1).map(({ id }, i) => ({ from: nodes[i].id, to: id }));
  const { automationId } = await place.rest('POST', '/v1/automations', { name: 'Thanks', nodes, connections });
  await place.rest('PATCH', `/v1/automations/${automationId}`, { published: true });
  return automationId;
}
