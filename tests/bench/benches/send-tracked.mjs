// A campaign whose links and opens are tracked and whose messages have return paths of their own, beside the same campaign without
// them, each in an installation of its own with a sink of its own. The message has ten links. The rates are of the whole send; the
// processor time is that of the process that sends and of the database, for one message.
//
// BENCH_RECIPIENTS   recipients (100,000)

import { Campaign } from '../campaign.mjs';
import { ROUNDS, interleaved, sizedBy } from '../programs.mjs';

const RECIPIENTS = sizedBy('BENCH_RECIPIENTS', 100_000, 2_000);

export async function run(report) {
  const plain = await Campaign.prepare({ recipients: RECIPIENTS });
  const tracked = await Campaign.prepare({ recipients: RECIPIENTS, isTracked: true });
  await send(plain, false);
  await send(tracked, true);
  const found = await interleaved(ROUNDS, { tracked: () => send(tracked, true), plain: () => send(plain, false) });
  report.compare(`${RECIPIENTS.toLocaleString('en-US')} recipients, tracked, not tracked`, found.tracked.perSecond, found.plain.perSecond,
    'messages/s', { atLeast: 0.85, aim: 0.95 });
  report.compare('  processor time of the process that sends', found.tracked.runnerUs, found.plain.runnerUs, 'µs');
  report.compare('  processor time of it and the database', found.tracked.allUs, found.plain.allUs, 'µs');
  report.compare('  peak memory of the process that sends', found.tracked.peakMb, found.plain.peakMb, 'MB', { atMost: 1.2 });
  report.compare('  bytes of a message', found.tracked.bytes, found.plain.bytes, 'bytes');
}

async function send(campaign, isTracked) {
  const before = campaign.processorSeconds();
  const found = await campaign.send({ keepsRows: true });
  const after = campaign.processorSeconds();
  const tracked = await campaign.psql("select bool_and(s.is_tracked and array['MX bounce.' || d.name, 'TXT bounce.' || d.name] <@ d.published) "
    + 'from sends s join domains d on d.id = s.domain_id');
  if (tracked !== (isTracked ? 't' : 'f')) throw new Error(`tracked: ${tracked}`);
  await campaign.deleteSends();
  const us = (name) => ((after[name] - before[name]) * 1e6) / RECIPIENTS;
  return { ...found, runnerUs: us('runner'), allUs: us('runner') + us('postgres') };
}
