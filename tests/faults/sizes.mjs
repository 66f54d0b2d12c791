// Campaigns whose runner is killed while the data is large: a journal of many records, and contacts with large custom fields.

import { closeSync, openSync, readFileSync, readdirSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { awaitRestart, killCounted, killEverything, runKills, untilSent } from './kills.mjs';
import { Mailing, addressesOf } from './mailing.mjs';
import { verify } from './verify.mjs';

const CAMPAIGN_LIMIT_MS = 600_000;
const SUFFIX = '.journal';
const HEAD_BYTES = 16;
const OLDEST = 0; // the number of a file in front of all that the process wrote
const RECORD = { head: 8, body: 188 }; // bytes of a record without text
const CHUNK = 16 * 1024; // records that are written at once
const KIND = { dot: 1, reply: 2 };
const NOT_SENT = 1;

// ---- A large journal ----

/** FNV-1a, as in src/sender/journal.c. */
function checksum(bytes) {
  let hash = 2166136261;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 16777619);
  return hash >>> 0;
}

function record(kind, ids, ordinal) {
  const bytes = Buffer.alloc(RECORD.head + RECORD.body);
  [ids.organization, ids.brand, ids.send, ordinal, 0].forEach((id, index) => bytes.writeBigInt64LE(BigInt(id), RECORD.head + 8 * index));
  bytes[RECORD.head + 40] = kind;
  bytes[RECORD.head + 41] = kind === KIND.reply ? NOT_SENT : 0;
  bytes.writeUInt32LE(RECORD.body, 0);
  bytes.writeUInt32LE(checksum(bytes.subarray(RECORD.head)), 4);
  return bytes;
}

/**
 * Adds `count` records to the journal of the process that was killed, older than its own: messages whose sessions were lost, so they
 * say of nobody that a message may have arrived.
 */
function enlargeJournal(folder, ids, recipients, count) {
  const names = readdirSync(folder).filter((name) => name.endsWith(SUFFIX));
  const newest = names.sort().at(-1);
  const owner = newest.slice(0, newest.slice(0, -SUFFIX.length).lastIndexOf('.'));
  const head = readFileSync(join(folder, newest)).subarray(0, HEAD_BYTES);
  const fd = openSync(join(folder, `${owner}.${OLDEST}${SUFFIX}`), 'w', 0o600);
  writeSync(fd, head);
  for (let from = 0; from < count; from += CHUNK) {
    const parts = [];
    for (let i = from; i < Math.min(count, from + CHUNK); i++) {
      parts.push(record(i % 2 === 0 ? KIND.dot : KIND.reply, ids, Math.floor(i / 2) % recipients + 1));
    }
    writeSync(fd, Buffer.concat(parts));
  }
  closeSync(fd);
}

/** The next runner reads a journal of many records before it goes on. */
export async function largeJournal({ recipients, random, startSink, log, records = 1_000_000 }) {
  const sink = await startSink();
  const mailing = await Mailing.prepare({ addresses: addressesOf(recipients), sinks: [sink] });
  await sink.behave('delay 2');
  const send = await mailing.start();
  const [organization, brand] = (await mailing.sql(`select organization_id, b.id from sends s join brands b on b.id = s.brand_id
    where s.id = ${send.key}`)).split('|');
  const blows = [];
  for (let kill = 1; kill <= 2; kill++) {
    await untilSent(sink, 0, Math.floor((recipients * (kill - 1 + random.below(100) / 100)) / 3) + 1);
    let killed;
    blows.push(await killCounted(sink, () => { killed = killEverything(mailing.installation, false); }));
    enlargeJournal(join(mailing.installation.data, 'journal'), { organization, brand, send: send.key }, recipients, records);
    log(`  killed at ${blows.at(-1).messages} messages, ${records} records added to the journal`);
    await awaitRestart(mailing, send, killed);
  }
  await mailing.ended(send, CAMPAIGN_LIMIT_MS);
  const figures = verify({ addresses: mailing.addresses, records: sink.takeRecords(), outcome: await mailing.outcome(send), kills: blows });
  const left = readdirSync(join(mailing.installation.data, 'journal')).filter((name) => name.endsWith(`.${OLDEST}${SUFFIX}`));
  if (left.length > 0) figures.breaches.push(`${left.length} files of the journal were not read`);
  return { ...figures, disturbance: `${blows.length} kills, ${records} records` };
}

// ---- Wide recipients ----

const WIDE_LETTER = `<!doctype html><html><head><title>Letter</title></head><body>
<p>Dear {{ firstName }}, your story has {{ customFields.story | size }} letters.</p></body></html>`;

/** A part of the contacts has 800,000 bytes each; the runner is killed as in the first row. */
export async function wideRecipients({ recipients, kills = 10, wide = 180, ...context }) {
  const widen = async (mailing) => {
    mailing.letter = WIDE_LETTER;
    await mailing.sql(`update contacts set custom_fields = jsonb_build_object('story', repeat(md5(email), 25000))
      where id in (select id from contacts order by id limit ${wide})`);
  };
  const figures = await runKills({ ...context, recipients, kills, onReady: widen });
  return { ...figures, disturbance: `${figures.disturbance}, ${wide} wide` };
}
