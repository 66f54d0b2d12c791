// A sequence of templates becomes a published automation that a trigger starts.

import assert from 'node:assert/strict';
import { asText, named } from '../mistakes.mjs';

export default {
  title: 'A flow becomes an automation',
  brief: () => 'Make an automation called "First month" from the flow with the slug first-month: each of its emails a day after the one before, started by a new trigger "Signed up", and publish it.',
  given: () => ({ name: 'First month', slug: 'first-month', trigger: 'Signed up' }),
  needs: ['get_capabilities', 'list_flows', 'clone_email', 'save_trigger', 'save_automation'],
  calls: 8,
  seed: () => {},

  async golden(assistant, { name, slug, trigger }) {
    const { domains } = await assistant.call('get_capabilities', { topic: 'account' });
    const { steps } = await assistant.call('list_flows', { slug });
    const designs = [];
    for (const { emailId, subject } of steps) designs.push({ ...(await assistant.call('clone_email', { emailId })), subject });
    const payloadSchema = { fields: [{ key: 'email', type: 'string', required: true }] };
    const { triggerEventId } = await assistant.call('save_trigger', { title: trigger, payloadSchema });
    const graph = graphOf(triggerEventId, designs, domains[0].domainId);
    const { automationId } = await assistant.call('save_automation', { name, ...graph });
    const { published } = await assistant.call('save_automation', { automationId, published: true });
    return `"${name}" is ${published ? 'published' : 'a draft'}.`;
  },

  async check(place) {
    const { data } = await place.rest('GET', '/v1/automations?include=graph');
    const live = data.filter(({ published }) => published);
    assert.deepEqual(live.map(({ name }) => name), ['First month']);
    assert.deepEqual(live[0].nodes.map(({ type }) => type), ['trigger', 'sendEmail', 'wait', 'sendEmail', 'wait', 'sendEmail']);
  },

  mistakes: {
    list_flows: [named('slug', 'id'), named('slug', 'flowSlug')],
    save_trigger: [named('title', 'name'), asText('payloadSchema')],
    save_automation: [named('connections', 'edges'), named('nodes.0.id', 'key'), asText('nodes')],
  },
};

/** Trigger, then each design with a day before the next. */
function graphOf(triggerEventId, designs, domainId) {
  const nodes = [{ id: 'start', type: 'trigger', config: { mode: 'event', triggerEventId } }];
  for (const [i, { emailId, emailVersionId, subject }] of designs.entries()) {
    if (i > 0) nodes.push({ id: `wait${i}`, type: 'wait', config: { duration: 1, unit: 'days' } });
    nodes.push({ id: `email${i}`, type: 'sendEmail', config: { emailId, emailVersionId, domainId, subject } });
  }
  return { nodes, connections: nodes.slice(1).map(({ id }, i) => ({ from: nodes[i].id, to: id })) };
}
