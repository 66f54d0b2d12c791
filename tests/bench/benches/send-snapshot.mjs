// The campaign of `send` while another session holds a snapshot from before it, as a backup or a forgotten transaction does: no row
// version that the campaign leaves behind can be cleared away.
//
// BENCH_READERS   recipients (100,000)

import { Campaign } from '../campaign.mjs';
import { ROUNDS, interleaved } from '../programs.mjs';

const READERS = Number(process.env.BENCH_READERS ?? 100_000);

export async function run(report) {
  const campaign = await Campaign.prepare({ readers: READERS });
  await campaign.send();
  const found = await interleaved(ROUNDS, {
    alone: () => campaign.send(),
    beside: () => besideSnapshot(campaign),
  });
  report.compare('beside an old snapshot, without one', found.beside.perSecond, found.alone.perSecond, 'messages/s',
    { atLeast: 0.8 });
}

async function besideSnapshot(campaign) {
  const letGo = await campaign.holdSnapshot();
  try {
    return await campaign.send({ keepsRows: true });
  } finally {
    await letGo();
    await campaign.forget();
  }
}
