// Judging hits: all hits of a brand again, by newer rules that change every judgement, beside a bare UPDATE of the same rows; and hits
// that are judged for the first time and become events with all their counts, beside a bare COPY of these events. The second line has
// no target: judging four hits costs more than their two events (events.mjs measures these alone). A recipient has four hits.
// drivers/judge_time.c calls the engine; no process of the service runs. The processor time is that of the server's process.
//
// BENCH_HITS   hits (1,000,000)

import path from 'node:path';

import { BareBrand } from '../bare_brand.mjs';
import { ROUNDS, interleaved, sizedBy } from '../programs.mjs';

const HITS_EACH = 4;
const RECIPIENTS = sizedBy('BENCH_HITS', 1_000_000, 4_000) / HITS_EACH;
const HITS = RECIPIENTS * HITS_EACH;
const EVENTS = 2 * RECIPIENTS;
const FEED = 'brand_id, occurred_at, domain, event_type, recipient_email, recipient_key, send_id, email_id, summary, url, actor';

export async function run(report) {
  const brand = await BareBrand.prepare(RECIPIENTS);
  try {
    await fill(brand);
    const first = await interleaved(ROUNDS, { ours: () => judgeNew(brand), bare: () => copy(brand) });
    const again = await interleaved(ROUNDS, { bare: () => update(brand), ours: () => judgeAgain(brand) });
    report.compare(`${HITS.toLocaleString('en-US')} hits judged again, bare UPDATE`, again.ours.rows, again.bare.rows, 'rows/s', { atLeast: 0.3 });
    report.compare('  processor time of the server', again.ours.us, again.bare.us, 'µs', { atMost: 1 / 0.3 });
    report.compare('events of hits judged first, bare COPY', first.ours.rows, first.bare.rows, 'events/s');
    report.compare('  processor time of the server', first.ours.us, first.bare.us, 'µs');
  } finally {
    await brand.dispose();
  }
}

// A person opens, reads for a while and follows two links.
async function fill(brand) {
  await brand.psql("insert into send_results (brand_id, send_id, ordinal, outcome, attempts, uncertain, occurred_at) select brand_id, send_id, ordinal, "
      + "'delivered', 1, false, now() - interval '1 day' from send_recipients",
    'insert into hits (brand_id, send_id, ordinal, kind, link, method, agent, network, occurred_at, delay_ms) '
      + "select r.brand_id, r.send_id, r.ordinal, case n when 0 then 'open' else 'click' end, nullif(n, 0), 'GET', 'browser', 'other', "
      + "now() - interval '1 day' + make_interval(secs => 60 + n * 30 + r.ordinal % 3600), 60000 "
      + `from send_recipients r, generate_series(0, ${HITS_EACH - 1}) n`, 'vacuum analyze');
}

// Both sides rewrite rows that were vacuumed before.
const settle = (brand) => brand.psql('vacuum analyze hits', 'checkpoint');

async function update(brand) {
  await settle(brand);
  return brand.drive('judge_time', HITS, 'update');
}

async function judgeAgain(brand) {
  await brand.psql("update hits set reason = 'older'", 'update hit_judgements set rules_version = 0');
  await settle(brand);
  const found = await brand.drive('judge_time', HITS, 'judge');
  await brand.expectRows("hits where reason = 'person'", HITS);
  await brand.expectRows('events', EVENTS);
  return found;
}

async function judgeNew(brand) {
  await brand.psql('truncate recipient_events, contact_activity, event_rollups, event_counts, events, hit_judgements',
    'update send_stats set opened = 0, clicked = 0', 'update hits set actor = null, reason = null', 'vacuum analyze recipient_events');
  await settle(brand);
  const found = await brand.drive('judge_time', EVENTS, 'judge');
  await brand.expectRows('events', EVENTS);
  return found;
}

async function copy(brand) {
  const file = path.join(brand.folder.parent, 'events.copy');
  await brand.psql('truncate bare_events', `\\copy (select ${FEED} from events order by send_id, recipient_key) to '${file}'`, 'checkpoint');
  return brand.drive('event_time', EVENTS, 'copy', file);
}
