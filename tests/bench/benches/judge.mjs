// Judging hits: all hits of a brand again, by newer rules that change every judgement, beside a bare UPDATE of the same rows; and hits
// that become events with all their counts, beside a bare COPY of these events. A recipient has four hits. The relay does not answer,
// so nothing is sent meanwhile.
//
// BENCH_HITS   hits (1,000,000)

import { Campaign } from '../campaign.mjs';
import { ROUNDS, interleaved, sizedBy } from '../programs.mjs';

const HITS_EACH = 4;
const RECIPIENTS = sizedBy('BENCH_HITS', 1_000_000, 4_000) / HITS_EACH;
const HITS = RECIPIENTS * HITS_EACH;

const until = (condition) => `do $$ begin
  for turn in 1..60000 loop
    exit when ${condition};
    perform pg_sleep(0.005);
  end loop;
end $$`;
const UNTIL_EXPANDED = until('exists (select from sends where recipient_count is not null)');
const UNTIL_JUDGED = until("exists (select from jobs where kind = 'judge_hits') and "
  + "not exists (select from jobs where kind = 'judge_hits' and state in ('queued', 'running'))");
const WAKE = "insert into jobs (kind, pool, organization_id, brand_id, payload, run_after, created_at) select 'judge_hits', 'work', "
  + "b.organization_id, b.id, '{}', now(), now() from brands b where b.id in (select brand_id from hits) on conflict do nothing";
const FORGET = "delete from jobs where kind = 'judge_hits'; truncate recipient_events, contact_activity, event_rollups, event_counts, events; "
  + 'update send_stats set opened = 0, clicked = 0';
const FEED = 'brand_id, occurred_at, domain, event_type, recipient_email, recipient_key, send_id, email_id, actor';

export async function run(report) {
  const campaign = await Campaign.prepare({ recipients: RECIPIENTS, sends: false });
  await fill(campaign);
  const again = await interleaved(ROUNDS, { bare: () => update(campaign), ours: () => judgeAgain(campaign) });
  report.compare(`${HITS.toLocaleString('en-US')} hits judged again, bare UPDATE`, again.ours.rows, again.bare.rows, 'rows/s', { atLeast: 0.3 });
  const events = await interleaved(ROUNDS, { bare: () => copy(campaign), ours: () => judgeNew(campaign) });
  report.compare('events of judged hits, bare COPY', events.ours.rows, events.bare.rows, 'rows/s', { atLeast: 0.4 });
}

// A send that everybody has got, and the hits: a person opens, reads for a while and follows two links.
async function fill(campaign) {
  await campaign.start();
  await campaign.psql(UNTIL_EXPANDED,
    "update sends set status = 'completed', is_tracked = true",
    'update send_ranges set next_ordinal = to_ordinal + 1',
    "insert into send_results (brand_id, send_id, ordinal, outcome, attempts, uncertain, occurred_at) select brand_id, send_id, ordinal, "
      + "'delivered', 1, false, now() - interval '1 day' from send_recipients",
    'insert into hits (brand_id, send_id, ordinal, kind, link, method, agent, network, occurred_at, delay_ms) '
      + "select r.brand_id, r.send_id, r.ordinal, case n when 0 then 'open' else 'click' end, nullif(n, 0), 'GET', 'browser', 'other', "
      + "now() - interval '1 day' + make_interval(secs => 60 + n * 30 + r.ordinal % 3600), 60000 "
      + `from send_recipients r, generate_series(0, ${HITS_EACH - 1}) n`);
  await judgeNew(campaign);
  await campaign.psql('create table bare_events (like events including all)');
}

async function timed(campaign, rows, ...commands) {
  const began = performance.now();
  await campaign.psql(...commands);
  return { rows: rows / ((performance.now() - began) / 1000) };
}

// Both rewrite rows that were vacuumed before.
const settle = (campaign) => campaign.psql('vacuum analyze hits', 'checkpoint');

async function update(campaign) {
  await settle(campaign);
  return timed(campaign, HITS, "update hits set actor = 'human', reason = 'older', rules_version = 0");
}

async function judgeAgain(campaign) {
  await campaign.psql("delete from jobs where kind = 'judge_hits'", "update hits set reason = 'older'", 'update hit_judgements set rules_version = 0');
  await settle(campaign);
  const found = await timed(campaign, HITS, WAKE, UNTIL_JUDGED);
  await expectRows(campaign, "hits where reason = 'person'", HITS);
  return found;
}

async function judgeNew(campaign) {
  await campaign.psql(...FORGET.split('; '), 'update hits set actor = null, reason = null', 'vacuum analyze recipient_events');
  await settle(campaign);
  const found = await timed(campaign, 2 * RECIPIENTS, WAKE, UNTIL_JUDGED);
  await expectRows(campaign, 'events', 2 * RECIPIENTS);
  return found;
}

async function copy(campaign) {
  const file = `${campaign.folder.parent}/events.copy`;
  await campaign.psql('truncate bare_events', `\\copy (select ${FEED} from events order by send_id, recipient_key) to '${file}'`, 'checkpoint');
  return timed(campaign, 2 * RECIPIENTS, `\\copy bare_events (${FEED}) from '${file}'`);
}

async function expectRows(campaign, what, wanted) {
  const found = Number(await campaign.psql(`select count(*) from ${what}`));
  if (found !== wanted) throw new Error(`${found} rows of ${what} instead of ${wanted}`);
}
