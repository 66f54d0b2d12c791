// The peak memory of the process that sends a campaign to a million recipients. It must not grow with their number.
//
// BENCH_RECIPIENTS   recipients (1,000,000)

import { Campaign } from '../campaign.mjs';
import { sizedBy } from '../programs.mjs';

const RECIPIENTS = sizedBy('BENCH_RECIPIENTS', 1_000_000, 2_000);
const LIMIT_MB = 48;

export async function run(report) {
  const campaign = await Campaign.prepare({ recipients: RECIPIENTS });
  const { peakMb, perSecond } = await campaign.send();
  report.limit(`peak memory of the runner, ${RECIPIENTS.toLocaleString('en-US')} recipients`, peakMb, 'MB', { atMost: LIMIT_MB });
  report.limit('  messages a second from the beginning to the end', perSecond, 'messages/s', {});
}
