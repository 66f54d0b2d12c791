// Fires while the waits of many runs end: the p99 of fires over HTTP, 100 a second, without waiting runs and in the minute in which the runs
// wake. The woken runs go on by a filter and a split, and half of them mail.
//
// BENCH_RUNS           runs (100,000)
// BENCH_WAKE_SECONDS   seconds in which they wake (60)
// BENCH_FIRES          fires a second (100)
// BENCH_IDLE_SECONDS   seconds of fires before it (20)

import { Automations, link, over, waitNode } from '../automations.mjs';
import { percentile, sizedBy } from '../programs.mjs';

const RUNS = sizedBy('BENCH_RUNS', 100_000, 2_000);
const WAKE_SECONDS = sizedBy('BENCH_WAKE_SECONDS', 60, 3);
const FIRES = sizedBy('BENCH_FIRES', 100, 100);
const IDLE_SECONDS = sizedBy('BENCH_IDLE_SECONDS', 20, 2);
const FILTER = { logicalOperator: 'AND', conditions: [{ field: 'contact.email', operator: 'contains', value: '@example' }] };

export async function run(report) {
  const automations = await Automations.prepare({ recipients: RUNS });
  const trigger = await automations.trigger('Order placed');
  await automations.publish('Resting', [automations.triggerNode(trigger), waitNode('pause', 1, 'weeks')], [link('start', 'pause')]);
  await publishWaking(automations);
  await automations.fire(trigger, FIRES, over(1));

  const idle = await fires(automations, trigger, IDLE_SECONDS);
  await insertWaiting(automations.campaign);
  const waking = await fires(automations, trigger, WAKE_SECONDS);
  await automations.ended('Waking');
  report.compare(`p99 of ${FIRES} fires a second, ${RUNS.toLocaleString('en-US')} runs wake in ${WAKE_SECONDS} s, none`, waking.p99, idle.p99, 'ms', { atMost: 3 });
  report.note(`p50 ${waking.p50.toFixed(1)} ms and ${idle.p50.toFixed(1)} ms; ${await lateness(automations.campaign)}`);
}

async function publishWaking(automations) {
  const nodes = [
    automations.triggerNode(await automations.trigger('Trial begun')), waitNode('pause', 1, 'hours'), { id: 'reader', type: 'filter', config: FILTER },
    { id: 'half', type: 'split', config: { leftPercentage: 50 } }, automations.mailNode('letter'), waitNode('right', 1, 'minutes'), waitNode('other', 1, 'minutes'),
  ];
  const connections = [link('start', 'pause'), link('pause', 'reader'), link('reader', 'half', 'true'), link('reader', 'other', 'false'),
    link('half', 'letter', 'left'), link('half', 'right', 'right')];
  await automations.publish('Waking', nodes, connections);
}

/** Runs in their first wait, as the stepper leaves them there. */
async function insertWaiting(campaign) {
  const due = `now() + interval '2 seconds' + n * interval '1 second' * ${WAKE_SECONDS} / ${RUNS}`;
  await campaign.psql(`with runs as (
      insert into automation_runs (brand_id, automation_id, version_id, contact_id, email, email_key, node_id, visit, entered_at, due_at, started_at)
      select c.brand_id, a.id, a.live_version_id, c.id, c.email, c.email_key, 'pause', 2, ${due} - interval '1 hour', ${due}, now() - interval '2 hours'
        from (select *, row_number() over () as n from contacts where email_key like '%@example%') c, automations a
       where a.name = 'Waking' and c.n <= ${RUNS} returning brand_id, id, entered_at
    )
    insert into automation_steps (brand_id, run_id, visit, node_id, node_type, status, started_at, completed_at)
    select r.brand_id, r.id, s.visit, s.node, s.type, s.status, r.entered_at, case when s.visit = 1 then r.entered_at end
      from runs r cross join (values (1, 'start', 'trigger', 'completed'), (2, 'pause', 'wait', 'running')) s (visit, node, type, status)`);
}

async function fires(automations, trigger, seconds) {
  const took = (await automations.fire(trigger, FIRES, over(seconds))).map(({ tookMs }) => tookMs);
  return { p50: percentile(took, 0.5), p99: percentile(took, 0.99) };
}

/** How late the waits ended. */
async function lateness(campaign) {
  const [count, p99, most] = (await campaign.psql(`select count(*), percentile_disc(0.99) within group (order by late), max(late)
    from (select extract(epoch from s.completed_at - s.started_at) - 3600 as late from automation_steps s
           where s.node_id = 'pause' and s.visit = 2 and s.status = 'completed') l`)).split('|').map(Number);
  if (count !== RUNS) throw new Error(`${count} of ${RUNS} runs have woken`);
  return `a wait ended ${p99.toFixed(2)} s late at p99, ${most.toFixed(2)} s at most`;
}
