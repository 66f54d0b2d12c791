// A campaign to a million readers: the most memory its process takes, whatever the number of recipients.
//
// BENCH_READERS   recipients (1,000,000)

import { Campaign } from '../campaign.mjs';

const READERS = Number(process.env.BENCH_READERS ?? 1_000_000);
const LIMIT_MB = 48;

export async function run(report) {
  const campaign = await Campaign.prepare({ readers: READERS });
  const { peakMb, perSecond } = await campaign.send();
  report.limit(`peak memory of the runner, ${READERS.toLocaleString('en-US')} readers`, peakMb, 'MB', { atMost: LIMIT_MB });
  report.limit('  messages a second from the beginning to the end', perSecond, 'messages/s', {});
}
