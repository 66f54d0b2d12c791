// The expansion of a campaign to a million recipients: one row for each, with its ordinal, divided into ranges. The peer is a bare
// INSERT … SELECT of the same rows, numbered in the same order, into an equal table with the same indexes. The relay does not
// answer, so nothing is sent meanwhile.
//
// BENCH_RECIPIENTS   recipients (1,000,000)

import { Campaign } from '../campaign.mjs';
import { ROUNDS, interleaved, sizedBy } from '../programs.mjs';

const RECIPIENTS = sizedBy('BENCH_RECIPIENTS', 1_000_000, 2_000);

// Each round is a statement of its own, so it sees what other sessions have committed.
const UNTIL_EXPANDED = `do $$ begin
  for turn in 1..30000 loop
    exit when exists (select from sends where recipient_count is not null);
    perform pg_sleep(0.005);
  end loop;
end $$`;

export async function run(report) {
  const campaign = await Campaign.prepare({ recipients: RECIPIENTS, sends: false });
  await campaign.psql('create table bare_recipients (like send_recipients including all)');
  const found = await interleaved(ROUNDS, { bare: () => insertBare(campaign), ours: () => expand(campaign) });
  report.compare(`${RECIPIENTS.toLocaleString('en-US')} recipients, bare INSERT … SELECT`, found.ours.rows, found.bare.rows, 'rows/s',
    { atLeast: 0.5 });
}

async function insertBare(campaign) {
  await campaign.psql('truncate bare_recipients', 'checkpoint');
  const began = performance.now();
  await campaign.psql('insert into bare_recipients (brand_id, send_id, ordinal, contact_id, email, email_key) '
    + 'select brand_id, 1, row_number() over (order by email_key), id, email, email_key from contacts where subscribed');
  return { rows: RECIPIENTS / ((performance.now() - began) / 1000) };
}

async function expand(campaign) {
  await campaign.start();
  const answers = await campaign.psql(UNTIL_EXPANDED,
    'select recipient_count, extract(epoch from clock_timestamp() - started_at) from sends');
  const [count, seconds] = answers.split('|').map(Number);
  if (count !== RECIPIENTS) throw new Error(`${count} recipients for ${RECIPIENTS} recipients`);
  await campaign.deleteSends();
  return { rows: RECIPIENTS / seconds };
}
