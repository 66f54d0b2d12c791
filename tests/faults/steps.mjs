// Runs of an automation whose process, and in half of the kills PostgreSQL, is killed at random moments while they are stepped and
// their mail goes out. Each visit of a node happens once, and the mail keeps the promise of campaigns.

import { addAutomation, link, mailNode, splitNode, startRuns, triggerNode, waitNode } from '../lib/automation_fixture.mjs';
import { pause, until } from '../lib/processes.mjs';
import { awaitRunner, killCounted, killEverything } from './kills.mjs';
import { Mailing, addressesOf } from './mailing.mjs';
import { verify } from './verify.mjs';

const ENDS_MS = 90_000;
const KILL_WITHIN_MS = 1500; // a step before the wait, the wait, a step behind it, the mail
const VISITS = 4;

async function startAndKill({ mailing, sink, random, addresses, log }) {
  await startRuns(mailing, addresses);
  const ms = random.below(KILL_WITHIN_MS);
  await pause(ms);
  const withPostgres = random.below(2) === 0;
  let killed;
  const blow = await killCounted(sink, () => { killed = killEverything(mailing.installation, withPostgres); });
  await awaitRunner(mailing, killed);
  log(`  killed ${ms} ms after ${addresses.length} runs were started${withPostgres ? ', with PostgreSQL' : ''}, ${blow.sessions} sessions open`);
  return blow;
}

async function outcomeOfCarrier(mailing) {
  const key = Number(await mailing.sql('select send_id from automation_carriers'));
  const outcome = await mailing.outcome({ key });
  const events = await mailing.sql("select coalesce(json_agg(json_build_array(event_type, recipient_email)), '[]') from events where domain = 'email'");
  return { ...outcome, events: JSON.parse(events) };
}

async function breachesOfRuns(mailing, count) {
  const breaches = [];
  const expect = async (what, statement, wanted) => {
    const found = await mailing.sql(statement);
    if (found !== String(wanted)) breaches.push(`${found} ${what} instead of ${wanted}`);
  };
  await expect('completed runs', "select count(*) from automation_runs where status = 'completed'", count);
  await expect('visits', "select count(*) from automation_steps where status = 'completed'", count * VISITS);
  await expect('open visits', "select count(*) from automation_steps where status <> 'completed'", 0);
  await expect('messages', 'select count(distinct run_id) from automation_sends', count);
  await expect('counted starts', "select sum(count) from automation_counts where kind = 'started'", count);
  await expect('counted ends', "select sum(count) from automation_counts where kind = 'completed'", count);
  await expect('counted messages', 'select sum(sent) from email_usage', count);
  return breaches;
}

export async function killedAtSteps({ kills, recipients, random, startSink, log }) {
  const sink = await startSink();
  await sink.behave('delay 2');
  const mailing = await Mailing.prepare({ addresses: addressesOf(recipients), sinks: [sink] });
  const nodes = [triggerNode, waitNode('pause', 1, 'seconds'), splitNode('all', 100), await mailNode(mailing, 'letter')];
  await addAutomation(mailing, nodes, [link('start', 'pause'), link('pause', 'all'), link('all', 'letter', 'left')]);
  const blows = [];
  const size = Math.ceil(recipients / kills);
  for (let from = 0; from < recipients; from += size)
    blows.push(await startAndKill({ mailing, sink, random, addresses: mailing.addresses.slice(from, from + size), log }));
  // Results that were read from a journal come before the end of their range.
  const isDone = async () => (await mailing.sql(`select (select count(*) from automation_sends s
      join send_results r on r.brand_id = s.brand_id and r.send_id = s.carrier_id and r.ordinal = s.ordinal) = ${recipients}
    and not exists (select from send_ranges where next_ordinal <= to_ordinal) and not exists (select from send_retries)`).catch(() => '')) === 't';
  await until('all messages have a result, and no range is open', isDone, ENDS_MS);
  const figures = verify({ addresses: mailing.addresses, records: sink.takeRecords(), outcome: await outcomeOfCarrier(mailing), kills: blows, isCarrier: true });
  return { ...figures, breaches: [...figures.breaches, ...await breachesOfRuns(mailing, recipients)], disturbance: `${blows.length} kills while runs were stepped` };
}
