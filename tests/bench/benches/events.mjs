// Writing events with all their counts, beside a bare COPY of the same rows into an equal table with the same indexes. Results: the
// ranges of a send are settled as delivered, 500 recipients a transaction: a result and two events each, the activity of the contact,
// the figures of the send and the rollups. Reactions: an open and a click of each recipient, 1,000 events a transaction, each recorded
// once. drivers/event_time.c calls the engine and copies; nothing else runs. The processor time is that of the server's process.
//
// BENCH_RECIPIENTS   recipients, with two events each on both lines (100,000)

import path from 'node:path';

import { BareBrand } from '../bare_brand.mjs';
import { ROUNDS, interleaved, sizedBy } from '../programs.mjs';

const RECIPIENTS = sizedBy('BENCH_RECIPIENTS', 100_000, 2_000);
const EVENTS = 2 * RECIPIENTS;
const RANGE = 500; // DELIVERY_RANGE_SIZE
const FEED = 'brand_id, occurred_at, domain, event_type, recipient_email, recipient_key, send_id, email_id, summary, url, actor';

export async function run(report) {
  const brand = await BareBrand.prepare(RECIPIENTS);
  try {
    for (const [mode, name] of [['results', 'results with their events'], ['reactions', 'opens and clicks']]) {
      const found = await interleaved(ROUNDS, { ours: () => write(brand, mode), bare: () => copy(brand) });
      report.compare(`events of ${name}, bare COPY`, found.ours.rows, found.bare.rows, 'events/s', { atLeast: 0.4, aim: 0.65 });
      report.compare('  processor time of the server', found.ours.us, found.bare.us, 'µs', { atMost: 2.5 });
    }
  } finally {
    await brand.dispose();
  }
}

async function write(brand, mode) {
  await brand.psql("update sends set status = 'running'",
    'truncate send_results, recipient_events, contact_activity, event_rollups, event_counts, events, send_ranges',
    'update send_stats set accepted = 0, sent = 0, delivered = 0, opened = 0, clicked = 0',
    'insert into send_ranges (brand_id, send_id, from_ordinal, to_ordinal, next_ordinal, started_at, lease_owner, lease_until) '
      + `select brand_id, id, n, least(n + ${RANGE - 1}, ${RECIPIENTS}), n, now(), 'event_time', now() + interval '1 day' `
      + `from sends, generate_series(1, ${RECIPIENTS}, ${RANGE}) n`, 'checkpoint');
  const found = await brand.drive('event_time', EVENTS, mode, brand.sendId);
  await brand.expectRows('events', EVENTS);
  const counts = await brand.psql('select (select sum(count) from event_counts), (select sum(count) from event_rollups)');
  if (counts !== `${EVENTS}|${EVENTS}`) throw new Error(`the counts are ${counts} instead of ${EVENTS}`);
  return found;
}

// The events that were written before.
async function copy(brand) {
  const file = path.join(brand.folder.parent, 'events.copy');
  await brand.psql('truncate bare_events', `\\copy (select ${FEED} from events order by id) to '${file}'`, 'checkpoint');
  return brand.drive('event_time', EVENTS, 'copy', file);
}
