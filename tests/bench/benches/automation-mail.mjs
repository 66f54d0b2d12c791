// The mail of an automation beside a campaign with the same design and the same people: all runs are due at once, and the time goes from
// there to the last recorded result. Then the refill thread's look for work, with and without carriers that rest: the time that
// PostgreSQL needs for its two statements when nothing is to be sent.
//
// BENCH_RECIPIENTS   runs, and recipients of the campaign (100,000)
// BENCH_CARRIERS     carriers that rest (20,000)

import { setTimeout as sleep } from 'node:timers/promises';

import { Automations, link } from '../automations.mjs';
import { ROUNDS, interleaved, sized, sizedBy } from '../programs.mjs';

const RECIPIENTS = sizedBy('BENCH_RECIPIENTS', 100_000, 2_000);
const CARRIERS = sizedBy('BENCH_CARRIERS', 20_000, 2_000);
const LOOKS = sized(400, 50);
const LOOK_PAUSE_MS = 10;
const MAIL_WAIT_MS = 300_000;

export async function run(report) {
  const automations = await Automations.prepare({ recipients: RECIPIENTS });
  const { campaign } = automations;
  await automations.publish('Letter', [automations.triggerNode(await automations.trigger('Letter')), automations.mailNode('letter')], [link('start', 'letter')]);
  const found = await interleaved(ROUNDS, {
    automation: () => mailAll(automations),
    campaign: () => campaign.send(),
  });
  report.compare(`${RECIPIENTS.toLocaleString('en-US')} messages of runs, of a campaign`, found.automation.perSecond, found.campaign.perSecond,
    'messages/s', { atLeast: 0.6, aim: 0.85 });

  automations.server.end();
  await campaign.countStatements();
  const without = await look(campaign);
  await rest(campaign);
  const beside = await look(campaign);
  report.compare(`a look for work, ${CARRIERS.toLocaleString('en-US')} carriers rest, none`, beside, without, 'ms', { atMost: 1.5 });
}

// The runs become visible to the stepper by the commit of the statement that inserts them.
async function mailAll(automations) {
  const { campaign } = automations;
  const before = (await campaign.sink.stats()).messages;
  await campaign.psql(`insert into automation_runs (brand_id, automation_id, version_id, contact_id, email, email_key, node_id, due_at, started_at)
    select c.brand_id, a.id, a.live_version_id, c.id, c.email, c.email_key, 'start', now(), now()
      from contacts c, automations a where a.name = 'Letter';
    select pg_notify('posthorn_step', (select brand_id from automations where name = 'Letter')::text)`);
  const began = performance.now();
  await sent(campaign, before);
  const seconds = (performance.now() - began) / 1000;
  await automations.ended('Letter');
  await automations.forget();
  return { perSecond: RECIPIENTS / seconds };
}

async function sent(campaign, before) {
  const deadline = Date.now() + MAIL_WAIT_MS;
  const isOver = () => Date.now() > deadline;
  while ((await campaign.sink.stats()).messages - before < RECIPIENTS && !isOver()) await sleep(20);
  while (Number(await campaign.psql('select count(*) from send_results')) < RECIPIENTS && !isOver()) await sleep(20);
  if (isOver()) throw new Error(`${(await campaign.sink.stats()).messages - before} of ${RECIPIENTS} messages came`);
}

/** Carriers whose messages are all sent. */
async function rest(campaign) {
  await campaign.psql(`with carriers as (
      insert into sends (brand_id, kind, message_class, email_id, email_version_id, status, subject, subject_code, from_address, domain_id,
                         target, target_hash, is_tracked, is_carrier, started_at, created_at, updated_at)
      select d.brand_id, 'automation', 'marketing', 1, 1, 'running', 'x', '', 'a@bench.example', d.id, 'inline', '', true, true, now(), now(), now()
        from domains d cross join generate_series(1, ${CARRIERS}) where d.name = 'bench.example' returning brand_id, id
    ), ranges as (
      insert into send_ranges (brand_id, send_id, from_ordinal, to_ordinal, next_ordinal, is_carrier) select brand_id, id, 1, 100, 101, true from carriers
    ), stats as (
      insert into send_stats (brand_id, send_id) select brand_id, id from carriers
    )
    insert into automation_carriers (brand_id, version_id, node_id, send_id, automation_id, next_ordinal)
    select brand_id, 1000000 + id, 'letter', id, 1000000, 101 from carriers`);
  await campaign.psql('vacuum analyze sends', 'vacuum analyze send_ranges', 'checkpoint');
}

/** The milliseconds of a look. Each notification makes the refill thread look. */
async function look(campaign) {
  await campaign.psql('select pg_stat_statements_reset()');
  for (let i = 0; i < LOOKS; i++) {
    await campaign.psql("notify posthorn_send");
    await sleep(LOOK_PAUSE_MS);
  }
  const [statements, calls, ms] = (await campaign.psql("select count(*), min(calls), sum(mean_exec_time) from pg_stat_statements "
    + "where query ilike '%recursive carriers%'")).split('|').map(Number);
  if (statements !== 2 || calls < LOOKS / 2) throw new Error(`${statements} statements of ${LOOKS} looks, ${calls} calls`);
  return ms;
}
