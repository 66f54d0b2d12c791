// An automation is launched on its audience: counted first, confirmed by the user, and followed to its end.

import assert from 'node:assert/strict';
import { seedLaunch } from '../automation_seed.mjs';
import { cutShort, extra, insteadOfId, named, valued } from '../mistakes.mjs';

/** More than a launch may reach without a question. */
const PEOPLE = 22;

export default {
  title: 'Launch on an audience',
  brief: () => 'Launch the automation "Thanks" on its audience. Count first how many people it reaches. When all runs have ended, tell me how many of them got the mail.',
  given: () => ({ name: 'Thanks' }),
  needs: ['list_automations', 'run_automation.dryRun', 'list_automation_runs', 'control_audience_run'],
  calls: 5,
  seed: (place) => seedLaunch(place, PEOPLE),

  async golden(assistant, { name }) {
    const { data } = await assistant.call('list_automations', {});
    const { automationId } = data.find((automation) => automation.name === name);
    const { recipientCount } = await assistant.call('run_automation', { automationId, dryRun: true });
    const { audienceRunId } = await assistant.confirm('run_automation', { automationId });
    const ended = ({ status, sentCount }) => status === 'completed' && sentCount === recipientCount;
    const { sentCount } = await assistant.poll('list_automation_runs', { view: 'audience_run', audienceRunId }, ended);
    return `It reached ${recipientCount} people, and ${sentCount} got the mail.`;
  },
  sends: 1,
  messages: PEOPLE,
  figures: {
    people: 'select total_recipients from audience_runs where brand_id = $BRAND',
    mails: 'select sum(sent) from audience_run_nodes where brand_id = $BRAND',
  },

  async check(place) {
    assert.deepEqual(await place.rows('select status, total_recipients from audience_runs where brand_id = $BRAND'), [`completed|${PEOPLE}`]);
    assert.deepEqual(await place.rows('select status, count(*) from automation_runs where brand_id = $BRAND group by 1'), [`completed|${PEOPLE}`]);
  },

  mistakes: {
    run_automation: [
      named('automationId', 'id'), named('dryRun', 'dry_run'), cutShort('automationId'), insteadOfId('automationId', 'Thanks'), valued('dryRun', 'true'),
    ],
    'run_automation#2': [extra('audienceId', 'all'), named('automationId', 'automation_id')],
    list_automation_runs: [valued('view', 'launch'), named('audienceRunId', 'runId'), cutShort('audienceRunId'), valued('view', 'audience_runs')],
  },
};
