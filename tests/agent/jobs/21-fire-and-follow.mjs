// A trigger is fired for one person, and the run that it starts is followed to its end.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { until } from '../../lib/processes.mjs';
import { seedAutomation } from '../automation_seed.mjs';
import { asText, named } from '../mistakes.mjs';

export default {
  title: 'Fire and follow',
  brief: (place) => `Fire the trigger "Order placed" for ${place.address('ada')}, and tell me whether the run that it starts completes.`,
  given: (place) => ({ trigger: 'Order placed', email: place.address('ada') }),
  needs: ['list_triggers', 'fire_trigger_event', 'list_automation_runs', 'save_automation'],
  calls: 3,
  seed: (place) => seedAutomation(place),

  async golden(assistant, { trigger, email }) {
    const { data } = await assistant.call('list_triggers', {});
    const { triggerEventId } = data.find(({ title }) => title === trigger);
    const { automationRunIds } = await assistant.confirm('fire_trigger_event', { triggerEventId, payload: { email }, idempotencyKey: randomUUID() });
    const ended = ({ status }) => !['queued', 'running'].includes(status);
    const { status } = await assistant.poll('list_automation_runs', { view: 'run', automationRunId: automationRunIds[0] }, ended);
    return `The run is ${status}.`;
  },
  messages: 1,

  async check(place, answer) {
    const { data } = await place.rest('GET', '/v1/automations/runs');
    assert.deepEqual(data.map(({ status }) => status), ['completed']);
    assert.match(answer, /completed/);
    // A run ends when it has handed its message to the sender.
    await until('the message is delivered', () => place.messages().length > 0);
  },

  mistakes: {
    fire_trigger_event: [named('payload', 'data'), asText('payload'), named('triggerEventId', 'triggerId')],
    list_automation_runs: [named('automationRunId', 'runId'), named('view', 'type')],
  },
};
