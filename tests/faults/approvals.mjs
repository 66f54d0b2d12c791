// Campaigns that wait for an administrator, whose runner and PostgreSQL are killed while the approval is given. The approval is then
// repeated until it is answered. The campaign goes out, and nobody gets it twice because the approval was given several times.

import { pause } from '../lib/processes.mjs';
import { awaitRestart, killCounted, killEverything } from './kills.mjs';
import { Mailing, addressesOf } from './mailing.mjs';
import { sumOf, verify } from './verify.mjs';

const CAMPAIGN_LIMIT_MS = 90_000;
const DECISION_MS = 120; // about the time of one command

/** Kills everything at a random moment of the command, then waits for another runner. */
async function approveAndKill({ mailing, sink, random, send, log }) {
  const { installation } = mailing;
  const answered = installation.run('admin', 'send', 'approve', send.sendId);
  const ms = random.below(DECISION_MS);
  await pause(ms);
  const withPostgres = random.below(2) === 0;
  let killed;
  const blow = await killCounted(sink, () => { killed = killEverything(installation, withPostgres); });
  const { code } = await answered;
  await awaitRestart(mailing, send, killed);
  log(`  killed ${ms} ms after the approval began; it ${code === 0 ? 'was answered' : 'got no answer'}`);
  return { ...blow, late: false };
}

async function runCampaign({ mailing, sink, random, kills, log }) {
  const breaches = [];
  const send = await mailing.start();
  if ((await mailing.read(send)).approvalState !== 'pending') breaches.push('the campaign did not wait');
  const blows = [];
  for (let kill = 0; kill < kills; kill++) blows.push(await approveAndKill({ mailing, sink, random, send, log }));
  if ((await mailing.installation.admin('send', 'approve', send.sendId)).approvalState !== 'approved') breaches.push('it was not approved');
  await mailing.ended(send, CAMPAIGN_LIMIT_MS);
  const jobs = await mailing.sql(`select count(*) from jobs where kind = 'campaign' and (payload ->> 'sendId')::bigint = ${send.key}`);
  if (jobs !== '1') breaches.push(`${jobs} jobs of the campaign`);
  const figures = verify({ addresses: mailing.addresses, records: sink.takeRecords(), outcome: await mailing.outcome(send), kills: blows });
  log(`  ${JSON.stringify(figures)}`);
  return { ...figures, breaches: [...figures.breaches, ...breaches] };
}

export async function runApprovals({ campaigns, recipients, random, startSink, log }) {
  const sink = await startSink();
  const mailing = await Mailing.prepare({ addresses: addressesOf(recipients), sinks: [sink] });
  const { orgId } = (await mailing.installation.admin('org', 'list')).data[0];
  await mailing.installation.admin('org', 'approvals', orgId, '0');
  const all = [];
  const kills = 2;
  for (let campaign = 0; campaign < campaigns; campaign++) {
    log(`campaign ${campaign + 1}`);
    all.push(await runCampaign({ mailing, sink, random, kills, log }));
    await sink.behave('forget');
  }
  return { ...sumOf(all), disturbance: `${kills * campaigns} kills while ${campaigns} campaigns were approved` };
}
