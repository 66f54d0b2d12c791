// The spam check of a mail of 36 KB: our client of spamd, beside spamc. Both ask one spamd without network and learning for the report on
// the same message. drivers/spam_time.c calls the client; spamc is a process each time, as it is used.
//
// BENCH_CHECKS   checks of a round (20)

import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';

import { Spamd, missingSpamd } from '../../lib/spamd.mjs';
import { ROUNDS, interleaved, posthorn, runToEnd, sizedBy } from '../programs.mjs';

const CHECKS = sizedBy('BENCH_CHECKS', 20, 2);
const DRIVER = path.join(path.dirname(posthorn.binary), 'spam_time');
const MAIL_BYTES = 36 * 1024;
const LINE = '<p>The tide tables for the coming days, the ferries that run late, and the market hours of the harbour.</p>\r\n';

const HEAD = 'From: Harbour News <news@example.com>\r\nTo: Ada <ada@example.org>\r\nSubject: The tides of this week\r\n'
  + 'Date: Mon, 02 Nov 2026 10:00:00 +0000\r\nMessage-ID: <0123456789abcdef@example.com>\r\nMIME-Version: 1.0\r\n'
  + 'Content-Type: text/html; charset=utf-8\r\n\r\n<html><body>\r\n';
const MAIL = `${HEAD}${LINE.repeat(Math.ceil((MAIL_BYTES - HEAD.length) / LINE.length))}</body></html>\r\n`;

export async function run(report) {
  if (missingSpamd()) throw new Error(missingSpamd());
  const spamd = new Spamd();
  await spamd.start();
  try {
    const file = path.join(spamd.folder, 'mail.eml');
    writeFileSync(file, MAIL);
    const words = ['--filter', `spamd:127.0.0.1:${spamd.port}`, '--file', file, '--count', String(CHECKS)];
    const ours = async () => JSON.parse(await runToEnd([DRIVER, ...words]));
    const sides = await interleaved(ROUNDS, { ours, spamc: () => spamc(spamd) });
    report.compare('a check of 36 KB, spamc', sides.ours.us / 1000, sides.spamc.us / 1000, 'ms', { atMost: 1.1 });
  } finally {
    await spamd.dispose();
  }
}

function spamc(spamd) {
  const started = process.hrtime.bigint();
  for (let i = 0; i < CHECKS; i++) {
    const { status } = spawnSync('spamc', ['-R', '-d', '127.0.0.1', '-p', String(spamd.port)], { input: MAIL });
    if (status !== 0) throw new Error(`spamc has ended with the status ${status}`);
  }
  return { us: Number(process.hrtime.bigint() - started) / 1000 / CHECKS };
}
