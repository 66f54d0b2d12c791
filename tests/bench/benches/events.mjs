// Writing events with all their counts, beside a bare COPY of the same rows into an equal table with the same indexes. Results: the
// range of a send is settled as delivered, 500 recipients a transaction: a result and two events each, the activity of the contact, the
// figures of the send and the rollups. Reactions: an open and a click of each recipient, 1,000 events a transaction, each recorded
// once. drivers/event_time.c calls the engine and copies; nothing else runs. The processor time is that of the server's process.
//
// BENCH_RECIPIENTS   recipients, with two events each on both lines (100,000)

import path from 'node:path';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';

import { Campaign } from '../campaign.mjs';
import { ROUNDS, interleaved, posthorn, runToEnd, sizedBy } from '../programs.mjs';

const RECIPIENTS = sizedBy('BENCH_RECIPIENTS', 100_000, 2_000);
const EVENTS = 2 * RECIPIENTS;
const RANGE = 500; // DELIVERY_RANGE_SIZE
const DRIVER = path.join(path.dirname(posthorn.binary), 'event_time');
const FEED = 'brand_id, occurred_at, domain, event_type, recipient_email, recipient_key, send_id, email_id, summary, url, actor';
const UNTIL_EXPANDED = `do $$ begin
  for turn in 1..30000 loop
    exit when exists (select from sends where recipient_count is not null);
    perform pg_sleep(0.005);
  end loop;
end $$`;

export async function run(report) {
  const campaign = await Campaign.prepare({ recipients: RECIPIENTS, sends: false });
  const folder = mkdtempSync(path.join(os.tmpdir(), 'phb-keys-'));
  try {
    await campaign.start();
    // No sender process leases a range that it does not see as open.
    await campaign.psql(UNTIL_EXPANDED, "update sends set status = 'canceled'", 'vacuum analyze', 'create table bare_events (like events including all)');
    const sides = (mode) => ({ ours: () => write(campaign, folder, mode), bare: () => copy(campaign, folder) });
    for (const [mode, name] of [['results', 'results with their events'], ['reactions', 'opens and clicks']]) {
      const found = await interleaved(ROUNDS, sides(mode));
      report.compare(`events of ${name}, bare COPY`, found.ours.rows, found.bare.rows, 'events/s', { atLeast: 0.4, aim: 0.65 });
      report.compare("  processor time of the server, COPY's", found.bare.us, found.ours.us, 'µs an event');
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const measure = async (campaign, folder, mode, argument) => {
  const [seconds, cpu] = (await runToEnd([DRIVER, campaign.url, folder, mode, argument])).trim().split(' ').map(Number);
  return { rows: EVENTS / seconds, us: (cpu * 1e6) / EVENTS };
};

async function write(campaign, folder, mode) {
  await campaign.psql('truncate send_results, recipient_events, contact_activity, event_rollups, event_counts, events, send_ranges',
    'update send_stats set accepted = 0, sent = 0, delivered = 0, opened = 0, clicked = 0',
    'insert into send_ranges (brand_id, send_id, from_ordinal, to_ordinal, next_ordinal, started_at, lease_owner, lease_until) '
      + `select brand_id, id, n, least(n + ${RANGE - 1}, ${RECIPIENTS}), n, now(), 'event_time', now() + interval '1 day' `
      + `from sends, generate_series(1, ${RECIPIENTS}, ${RANGE}) n`, 'checkpoint');
  const found = await measure(campaign, folder, mode, await campaign.psql('select id from sends'));
  const counts = await campaign.psql('select (select count(*) from events), (select sum(count) from event_counts), (select sum(count) from event_rollups)');
  if (counts !== `${EVENTS}|${EVENTS}|${EVENTS}`) throw new Error(`${counts} events and counts instead of ${EVENTS} each`);
  return found;
}

// The events that were written before.
async function copy(campaign, folder) {
  const file = path.join(campaign.folder.parent, 'events.copy');
  await campaign.psql('truncate bare_events', `\\copy (select ${FEED} from events order by id) to '${file}'`, 'checkpoint');
  return measure(campaign, folder, 'copy', file);
}
