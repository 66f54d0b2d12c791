// A campaign of personalised messages of 10 KB, not signed, over ten sessions to a sink that counts them. The time runs from the
// beginning of the send to its end, with recipients, results, events and figures in the database. Two peers send to the same sink
// over ten sessions: nodemailer's pool, which fills in the same email, and Postfix's smtp-source, which sends one prepared message
// of the same size again and again.
//
// BENCH_RECIPIENTS   recipients (100,000)

import { existsSync } from 'node:fs';

import { CONNECTIONS, Campaign } from '../campaign.mjs';
import { ROUNDS, drivePeer, interleaved, runToEnd, sized, sizedBy } from '../programs.mjs';

const RECIPIENTS = sizedBy('BENCH_RECIPIENTS', 100_000, 2_000);
const NODEMAILER_MESSAGES = sized(10_000, 200);
const SMTP_SOURCE = '/usr/sbin/smtp-source';

export async function run(report) {
  if (!existsSync(SMTP_SOURCE)) throw new Error(`${SMTP_SOURCE} is missing (Debian's postfix)`);
  const campaign = await Campaign.prepare({ recipients: RECIPIENTS });
  const { bytes } = await campaign.send();
  const { port } = campaign.sink;
  const email = await campaign.emailForPeers();
  const found = await interleaved(ROUNDS, {
    ours: () => campaign.send(),
    source: () => smtpSource(port, Math.round(bytes)),
    nodemailer: () => drivePeer('nodemailer_pool.mjs', { port, messages: NODEMAILER_MESSAGES, connections: CONNECTIONS, email }),
  });

  report.compare(`${RECIPIENTS.toLocaleString('en-US')} recipients, nodemailer's pool`, found.ours.perSecond, found.nodemailer.perSecond,
    'messages/s', { atLeast: 5 });
  report.compare('  smtp-source, one message again and again', found.ours.perSecond, found.source.perSecond, 'messages/s',
    { atLeast: 0.5, aim: 1 });
  report.limit('peak memory of the runner', found.ours.peakMb, 'MB', {});
  const atSink = Math.round(found.ours.perSecondAtSink).toLocaleString('en-US');
  report.note(`${Math.round(bytes)} bytes a message; ${atSink} messages/s at the sink, from its first to its last`);
}

async function smtpSource(port, bytes) {
  const began = performance.now();
  await runToEnd([SMTP_SOURCE, '-d', '-s', String(CONNECTIONS), '-m', String(RECIPIENTS), '-l', String(bytes),
    '-f', 'letter@bench.example', '-t', 'reader@example.com', `inet:127.0.0.1:${port}`]);
  return { perSecond: RECIPIENTS / ((performance.now() - began) / 1000) };
}
