// A run that waits is stopped before it sends.

import assert from 'node:assert/strict';
import { seedAutomation } from '../automation_seed.mjs';
import { cutShort, named, valued } from '../mistakes.mjs';

export default {
  title: 'Stop a run',
  brief: (place) => `Stop the automation run of ${place.address('ada')} before it sends anything.`,
  given: (place) => ({ email: place.address('ada') }),
  needs: ['list_automation_runs', 'cancel_automation_run', 'fire_trigger_event'],
  calls: 2,
  async seed(place) {
    const { triggerEventId } = await seedAutomation(place, 3);
    for (const name of ['ada', 'bob']) await place.rest('POST', `/v1/automations/triggers/${triggerEventId}/fire`, { payload: { email: place.address(name) } });
  },

  async golden(assistant, { email }) {
    const { data } = await assistant.call('list_automation_runs', { view: 'runs', recipientEmail: email });
    const { status } = await assistant.call('cancel_automation_run', { automationRunId: data[0].automationRunId });
    return `The run is ${status}.`;
  },

  async check(place) {
    const { data } = await place.rest('GET', `/v1/automations/runs?recipientEmail=${encodeURIComponent(place.address('ada'))}`);
    assert.deepEqual(data.map(({ status }) => status), ['canceled']);
    const others = await place.rest('GET', `/v1/automations/runs?recipientEmail=${encodeURIComponent(place.address('bob'))}`);
    assert.deepEqual(others.data.map(({ status }) => status), ['running'], 'other runs go on');
  },

  mistakes: {
    list_automation_runs: [named('recipientEmail', 'recipient'), valued('view', 'list')],
    cancel_automation_run: [named('automationRunId', 'runId'), cutShort('automationRunId')],
  },
};
