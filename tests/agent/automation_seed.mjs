// A published automation of one email, with a trigger that starts it.

import { letter } from './seeds.mjs';

export async function seedAutomation(place, waitDays = 0) {
  const emailId = await place.importDesign('Thanks', letter('Thanks', 'Thank you.'));
  const { emailVersionId } = await place.rest('GET', `/v1/emails/${emailId}`);
  const payloadSchema = { fields: [{ key: 'email', type: 'string', required: true }] };
  const { triggerEventId } = await place.rest('POST', '/v1/automations/triggers', { title: 'Order placed', payloadSchema });
  const domainId = await place.sandboxDomain();
  const nodes = [{ id: 'start', type: 'trigger', config: { mode: 'event', triggerEventId } }];
  if (waitDays > 0) nodes.push({ id: 'wait', type: 'wait', config: { duration: waitDays, unit: 'days' } });
  nodes.push({ id: 'email', type: 'sendEmail', config: { emailId, emailVersionId, domainId, subject: 'Thanks' } });
  const connections = nodes.slice(1).map(({ id }, i) => ({ from: nodes[i].id, to: id }));
  const { automationId } = await place.rest('POST', '/v1/automations', { name: 'Thanks', nodes, connections });
  await place.rest('PATCH', `/v1/automations/${automationId}`, { published: true });
  return { automationId, triggerEventId };
}
