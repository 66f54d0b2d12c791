// The campaign of `send` while another session holds an older snapshot, as a backup or a forgotten transaction does. PostgreSQL can
// then remove none of the row versions that the campaign leaves behind.
//
// BENCH_RECIPIENTS   recipients (100,000)

import { Campaign } from '../campaign.mjs';
import { ROUNDS, interleaved, sizedBy } from '../programs.mjs';

const RECIPIENTS = sizedBy('BENCH_RECIPIENTS', 100_000, 2_000);

export async function run(report) {
  const campaign = await Campaign.prepare({ recipients: RECIPIENTS });
  await campaign.send();
  const found = await interleaved(ROUNDS, {
    alone: () => campaign.send(),
    beside: () => besideSnapshot(campaign),
  });
  report.compare('beside an old snapshot, without one', found.beside.perSecond, found.alone.perSecond, 'messages/s',
    { atLeast: 0.8 });
}

async function besideSnapshot(campaign) {
  const release = await campaign.holdSnapshot();
  try {
    return await campaign.send({ keepsRows: true });
  } finally {
    await release();
    await campaign.deleteSends();
  }
}
