// A campaign of personalised messages of 10 KB, not signed, over ten sessions to a sink that counts them: from the beginning of the
// send to its end, with its recipients, results, events and figures in the database. Beside it, to the same sink over as many
// sessions: nodemailer's pool, which fills in the same letter, and Postfix's smtp-source, which sends one prepared message of as
// many bytes again and again.
//
// BENCH_READERS   recipients (100,000)

import { existsSync } from 'node:fs';

import { CONNECTIONS, Campaign } from '../campaign.mjs';
import { ROUNDS, drivePeer, interleaved, runToEnd } from '../programs.mjs';

const READERS = Number(process.env.BENCH_READERS ?? 100_000);
const NODEMAILER_MESSAGES = 10_000;
const SMTP_SOURCE = '/usr/sbin/smtp-source';

export async function run(report) {
  if (!existsSync(SMTP_SOURCE)) throw new Error(`${SMTP_SOURCE} is missing (Debian's postfix)`);
  const campaign = await Campaign.prepare({ readers: READERS });
  const { bytes } = await campaign.send();
  const { port } = campaign.sink;
  const letter = await campaign.letterForPeers();
  const found = await interleaved(ROUNDS, {
    ours: () => campaign.send(),
    source: () => smtpSource(port, Math.round(bytes)),
    nodemailer: () => drivePeer('nodemailer_pool.mjs', { port, messages: NODEMAILER_MESSAGES, connections: CONNECTIONS, letter }),
  });

  report.compare(`${READERS.toLocaleString('en-US')} readers, nodemailer's pool`, found.ours.perSecond, found.nodemailer.perSecond,
    'messages/s', { atLeast: 5 });
  report.compare('  smtp-source, one message again and again', found.ours.perSecond, found.source.perSecond, 'messages/s',
    { atLeast: 0.5, aim: 1 });
  report.limit('peak memory of the runner', found.ours.peakMb, 'MB', {});
  const atSink = Math.round(found.ours.perSecondAtSink).toLocaleString('en-US');
  report.note(`${Math.round(bytes)} bytes a message; ${atSink} messages/s at the sink, from its first to its last`);
}

async function smtpSource(port, bytes) {
  const began = performance.now();
  await runToEnd([SMTP_SOURCE, '-d', '-s', String(CONNECTIONS), '-m', String(READERS), '-l', String(bytes),
    '-f', 'letter@bench.example', '-t', 'reader@example.com', `inet:127.0.0.1:${port}`]);
  return { perSecond: READERS / ((performance.now() - began) / 1000) };
}
