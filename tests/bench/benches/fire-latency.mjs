// The time from a fire to the final dot of its message: from the request of the client to the record of the sink, with 100 fires a second,
// each for a new address. First alone, then beside a campaign that is being sent.
//
// BENCH_RECIPIENTS     recipients of the campaign (100,000)
// BENCH_FIRES          fires a second (100)
// BENCH_FIRE_SECONDS   seconds without the campaign (15)

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { Automations, link, over } from '../automations.mjs';
import { ROUNDS, interleaved, percentile, sizedBy } from '../programs.mjs';

const RECIPIENTS = sizedBy('BENCH_RECIPIENTS', 100_000, 2_000);
const FIRES = sizedBy('BENCH_FIRES', 100, 100);
const SECONDS = sizedBy('BENCH_FIRE_SECONDS', 15, 1);
const CAMPAIGN_WAIT_S = 300;
const MAIL_WAIT_MS = 60_000;

export async function run(report) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'phb-record-'));
  try {
    await measure(report, path.join(folder, 'record'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function measure(report, record) {
  const automations = await Automations.prepare({ recipients: RECIPIENTS, record });
  const trigger = await automations.trigger('Order placed');
  await automations.publish('Thanks', [automations.triggerNode(trigger), automations.mailNode('thanks')], [link('start', 'thanks')]);
  await automations.fire(trigger, FIRES, over(1));
  await automations.ended('Thanks');
  const found = await interleaved(ROUNDS, {
    alone: () => latencies(automations, record, trigger, over(SECONDS)),
    beside: () => besideCampaign(automations, record, trigger),
  });
  report.limit(`p99 from ${FIRES} fires a second to the final dot`, found.alone.p99Ms, 'ms', { atMost: 250 });
  report.limit(`  beside a campaign of ${RECIPIENTS.toLocaleString('en-US')}`, found.beside.p99Ms, 'ms', { atMost: 1000 });
  report.note(`p50 ${found.alone.p50Ms.toFixed(1)} ms alone, ${found.beside.p50Ms.toFixed(1)} ms beside; the fire itself takes p99 `
    + `${found.alone.fireP99Ms.toFixed(1)} ms and ${found.beside.fireP99Ms.toFixed(1)} ms; ${found.alone.fires} and ${found.beside.fires} fires a round`);
}

async function latencies(automations, record, trigger, isOver) {
  const fires = await automations.fire(trigger, FIRES, isOver);
  const dots = await finalDots(record, fires);
  const took = fires.map(({ email, sentNs }) => Number(dots.get(email) - sentNs) / 1e6);
  const found = {
    fires: fires.length,
    p50Ms: percentile(took, 0.5),
    p99Ms: percentile(took, 0.99),
    fireP99Ms: percentile(fires.map(({ tookMs }) => tookMs), 0.99),
  };
  await automations.ended('Thanks');
  return found;
}

/** The time of the final dot by recipient. The sink records the clock that process.hrtime reads. */
async function finalDots(record, fires) {
  for (const deadline = Date.now() + MAIL_WAIT_MS; ; await sleep(100)) {
    const lines = readFileSync(record, 'latin1').split('\n').map((line) => line.split(' '));
    const dots = new Map(lines.filter((words) => words.length > 2).map(([at, , recipient]) => [recipient, BigInt(at)]));
    const missing = fires.filter(({ email }) => !dots.has(email)).length;
    if (missing === 0) return dots;
    if (Date.now() > deadline) throw new Error(`${missing} of ${fires.length} messages did not come`);
  }
}

/** Fires as long as the campaign is sent. */
async function besideCampaign(automations, record, trigger) {
  const { campaign } = automations;
  let isOver = over(CAMPAIGN_WAIT_S);
  await campaign.start();
  const ending = ended(campaign).then(() => { isOver = () => true; });
  const found = await latencies(automations, record, trigger, () => isOver());
  await ending;
  await automations.forget();
  return found;
}

async function ended(campaign) {
  while (await campaign.psql("select status from sends where not is_carrier") !== 'completed') await sleep(50);
}
