// Mail of automations whose runner is killed at random moments. Each message has a payload of its own, and no payload is left in the end.

import { dirname, join } from 'node:path';
import { Driver } from '../lib/driver.mjs';
import { BINARY } from '../lib/installation.mjs';
import { pause, until } from '../lib/processes.mjs';
import { awaitRestart, killCounted, killEverything, untilSent } from './kills.mjs';
import { Mailing, addressesOf } from './mailing.mjs';
import { outcomeOf, verify } from './verify.mjs';

const BATCH = 37; // messages of one stepping transaction, and so of one range
const END_LIMIT_MS = 120_000;
const LETTER = `<!doctype html><html><head><title>Letter</title></head><body><p>Your code is {{ payload.code }}.</p></body></html>`;

/** Appends a message for each address, as steppers do. */
async function append(mailing) {
  const { emailId } = await mailing.installation.call('import_email', { content: LETTER, title: 'Letter' });
  const url = JSON.parse((await mailing.installation.run('doctor')).stdout).database.url;
  const driver = new Driver(join(dirname(BINARY), 'carrier_driver'), [mailing.installation.data, url]);
  const messages = mailing.addresses.map((email, index) => ({ email, payload: { code: `code-${index}` } }));
  const { sendIds, carrier } = await driver.ask({ emailId, domainId: mailing.domainId, subject: 'Your code', node: 'mail', batch: BATCH, messages });
  driver.close();
  return { sendId: sendIds[0], key: carrier };
}

/** The outcome as that of a campaign, but that events name the messages. */
async function outcome(mailing, send) {
  const found = await mailing.outcome(send);
  found.events = JSON.parse(await mailing.sql(`select coalesce(json_agg(json_build_array(e.event_type, e.recipient_email)), '[]')
    from events e join automation_sends m on m.brand_id = e.brand_id and m.id = e.send_id where m.carrier_id = ${send.key}`));
  return found;
}

export async function runAutomationKills({ kills, recipients, random, startSink, log }) {
  const sink = await startSink();
  const mailing = await Mailing.prepare({ addresses: addressesOf(recipients, (index) => (index % 20 === 0 ? '+550' : '')), sinks: [sink] });
  await sink.behave('delay 2');
  const send = await append(mailing);
  const willTake = mailing.addresses.filter((address) => outcomeOf(address) === 'delivered').length;
  const targets = Array.from({ length: kills }, () => random.below(willTake)).sort((a, b) => a - b);
  const blows = [];
  for (const target of targets) {
    await untilSent(sink, 0, target);
    let killed;
    blows.push(await killCounted(sink, () => { killed = killEverything(mailing.installation, random.below(2) === 0); }));
    await awaitRestart(mailing, send, killed);
    log(`  killed at ${target} messages, ${blows.at(-1).sessions} sessions open`);
  }
  const open = () => mailing.sql(`select ${recipients} - (select count(*) from send_results)
    + (select count(*) from send_ranges where next_ordinal <= to_ordinal) + (select count(*) from send_retries)`);
  await until('every message has a result', async () => {
    await pause(100);
    return await open() === '0';
  }, END_LIMIT_MS);
  const figures = verify({
    addresses: mailing.addresses, records: sink.takeRecords(), outcome: await outcome(mailing, send), kills: blows, isCarrier: true,
  });
  const payloads = await mailing.sql('select count(*) from trigger_payloads');
  if (payloads !== '0') figures.breaches.push(`${payloads} payloads are left`);
  const read = await mailing.sql('select count(*) from automation_sends where payload_id is not null');
  if (read !== '0') figures.breaches.push(`${read} messages with a result have a payload`);
  return { disturbance: `mail of automations, ${kills} kills`, ...figures };
}
