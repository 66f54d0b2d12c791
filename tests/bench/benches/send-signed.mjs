// The campaign of `send`, with each message signed twice (RSA-2048 and Ed25519). The first peer is the limit of the machine: the
// signatures a second of `openssl speed` on both cores. The second is nodemailer's pool with DKIM, which signs once, with RSA.
//
// BENCH_RECIPIENTS   recipients (100,000)

import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';

import { CONNECTIONS, Campaign } from '../campaign.mjs';
import { ROUNDS, drivePeer, interleaved, runToEnd, sized, sizedBy } from '../programs.mjs';

const RECIPIENTS = sizedBy('BENCH_RECIPIENTS', 100_000, 500);
const NODEMAILER_MESSAGES = sized(5_000, 100);
const OPENSSL_SECONDS = sized(3, 1);
const CORES = 2;

export async function run(report) {
  const campaign = await Campaign.prepare({ recipients: RECIPIENTS, isSigned: true });
  const email = await campaign.emailForPeers();
  const privateKey = path.join(campaign.folder.parent, 'nodemailer.pem');
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(privateKey, pair.privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const { port } = campaign.sink;
  const found = await interleaved(ROUNDS, {
    ours: () => campaign.send(),
    openssl: () => opensslSpeed(),
    nodemailer: () => drivePeer('nodemailer_pool.mjs',
      { port, messages: NODEMAILER_MESSAGES, connections: CONNECTIONS, email, privateKey }),
  });

  report.compare(`${RECIPIENTS.toLocaleString('en-US')} recipients, openssl speed -multi ${CORES} rsa2048`,
    found.ours.perSecond, found.openssl.perSecond, 'messages/s', { atLeast: 0.5, aim: 0.7 });
  report.compare('  nodemailer\'s pool with DKIM', found.ours.perSecond, found.nodemailer.perSecond, 'messages/s');
  report.limit('peak memory of the runner', found.ours.peakMb, 'MB', {});
}

// The last line of the output: rsa 2048 bits, seconds a signature, seconds a verification, signatures a second, verifications a second.
async function opensslSpeed() {
  const out = await runToEnd(['openssl', 'speed', '-multi', String(CORES), '-seconds', String(OPENSSL_SECONDS), 'rsa2048']);
  return { perSecond: Number(/^rsa 2048 bits\s+\S+s\s+\S+s\s+([\d.]+)/m.exec(out)[1]) };
}
