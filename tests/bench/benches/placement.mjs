// A look into a seed mailbox on a real Dovecot: the message is among others in INBOX, or in the spam folder of a mailbox with several
// folders. The peer is one bare search of the same folder by the program curl. Both are processes that connect, log in, and end.
//
// BENCH_LOOKS   looks of one measurement (20)

import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import { Dovecot, missingDovecot } from '../../lib/dovecot.mjs';
import { BINARY } from '../../lib/installation.mjs';
import { ROUNDS, interleaved, runToEnd, sizedBy } from '../programs.mjs';
import path from 'node:path';

const LOOKS = sizedBy('BENCH_LOOKS', 20, 2);
const OTHERS = sizedBy('BENCH_OTHERS', 200, 5);
const ID = 'token@letters.example';
const message = (id) => `From: news@letters.example\r\nSubject: Letter\r\nMessage-ID: <${id}>\r\n\r\nHello\r\n`;

async function timed(work) {
  const started = process.hrtime.bigint();
  for (let look = 0; look < LOOKS; look++) await work();
  return { ms: Number(process.hrtime.bigint() - started) / 1e6 / LOOKS };
}

export async function run(out) {
  const missing = missingDovecot() ?? (existsSync('/usr/bin/curl') ? undefined : 'curl is not installed');
  if (missing !== undefined) throw new Error(missing);
  const dovecot = await Dovecot.start({ isOfUsers: true });
  try {
    for (const user of ['inbox', 'junk+Junk']) {
      for (let other = 0; other < OTHERS; other++) await dovecot.deliverTo(`${user}@seeds.example`, message(`other${other}@letters.example`));
      await dovecot.deliverTo(`${user}@seeds.example`, message(ID));
    }
    await sleep(100);
    for (const [user, folder] of [['inbox', 'INBOX'], ['junk', 'Junk']]) await measure(out, dovecot, user, folder);
  } finally {
    await dovecot.stop();
  }
}

async function measure(out, dovecot, user, folder) {
  const at = `127.0.0.1:${dovecot.port}`;
  const look = () => runToEnd([path.join(path.dirname(BINARY), 'look_time'), `imap://${user}%40seeds.example:secret@${at}/?tls=none`, ID]);
  const curl = () => runToEnd(['/usr/bin/curl', '-s', `imap://${at}/${folder}`, '-u', `${user}@seeds.example:secret`, '-X', `SEARCH HEADER Message-ID "${ID}"`]);
  await look();
  await curl();
  const found = await interleaved(ROUNDS, { ours: () => timed(look), curl: () => timed(curl) });
  out.compare(`look that finds it in ${folder}, search by curl`, found.ours.ms, found.curl.ms, 'ms', { atMost: 1.5 });
}
