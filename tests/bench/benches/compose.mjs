// Composing a message of a campaign: three templates, the marketing headers, the link of the recipient, quoted-printable. The message
// is a personalised newsletter of 10 KB. Ours runs in C (the driver of tests/third_party, release build). The peer is nodemailer's
// MailComposer; it gets the same texts with the values already replaced, so it does less. Each runs on one core.
// The same message with tracked links, ten in each part, is compared with itself by processor time.

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

import { Driver } from '../../lib/driver.mjs';
import { campaignEmail } from '../campaign_email.mjs';
import { DURATION_MS, ROUNDS, interleaved, posthorn } from '../programs.mjs';

const driverPath = path.join(path.dirname(posthorn.binary), 'composer_driver');
const peers = path.join(import.meta.dirname, '../../../build/bench/peers');
const TARGET_US = 15;
const TRACKED = { atLeast: 0.85, aim: 0.95 };
const PUBLIC_URL = 'https://mail.shop.example';
const SUBJECT = "{{ firstName | default: 'Hello' }}, the news of the harbour";
const TEXT = `Hello {{ firstName }},\n\n${'The tide tables for the coming days, the ferries that run late, and the market hours.\n'.repeat(20)}\nLeave: {{ unsubscribeUrl }}\n`;

async function ours(driver, request) {
  const { nanoseconds: guess, error } = await driver.ask({ ...request, bench: 2000 });
  if (error) throw new Error(error);
  const { nanoseconds, size } = await driver.ask({ ...request, bench: Math.max(2000, Math.round((DURATION_MS * 1e6) / guess)) });
  return { us: nanoseconds / 1000, size };
}

async function processorUs(driver, request) {
  const { processorNs, error } = await driver.ask({ ...request, bench: 5000 });
  if (error) throw new Error(error);
  return { us: processorNs / 1000 };
}

async function theirs(MailComposer, html) {
  const end = performance.now() + DURATION_MS;
  const from = performance.now();
  let count = 0;
  let size = 0;
  while (performance.now() < end) {
    const fill = (text) => text.replaceAll('{{ firstName }}', 'Ada').replaceAll('{{ unsubscribeUrl }}', `${PUBLIC_URL}/u/${count}`);
    const mail = new MailComposer({
      from: '"The Harbour Shop" <news@shop.example>', replyTo: 'hello@shop.example', to: `reader${count}@example.com`,
      subject: 'Ada, the news of the harbour', html: fill(html), text: fill(TEXT), date: new Date(0), messageId: `<${count}@shop.example>`,
      headers: { Precedence: 'bulk', 'List-Unsubscribe': `<${PUBLIC_URL}/u/${count}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' },
    });
    size = (await mail.compile().build()).length;
    count++;
  }
  return { us: ((performance.now() - from) * 1000) / count, size };
}

export async function run(report) {
  if (!existsSync(driverPath)) throw new Error(`${driverPath} is missing: build composer_driver beside the release binary`);
  const MailComposer = createRequire(path.join(peers, 'package.json'))('nodemailer/lib/mail-composer');
  const request = { html: campaignEmail().content, text: TEXT, subject: SUBJECT, publicUrl: PUBLIC_URL };
  const driver = new Driver(driverPath);
  try {
    const { ours: own, peer } = await interleaved(ROUNDS, { ours: () => ours(driver, request), peer: () => theirs(MailComposer, request.html) });
    report.limit(`a message of ${Math.round(own.size / 100) / 10} KB`, own.us, 'µs', { atMost: TARGET_US }, peer.us);
    const stories = Array.from({ length: 10 }, (_, index) => `Read https://example.com/stories/${index}?from=letter\n`).join('');
    const linked = { ...request, text: TEXT + stories };
    const links = await interleaved(ROUNDS, {
      plain: () => processorUs(driver, linked), tracked: () => processorUs(driver, { ...linked, tracked: true }),
    });
    report.compare('the same with 20 tracked links, without', 1e6 / links.tracked.us, 1e6 / links.plain.us, 'messages/s of processor time', TRACKED);
    report.note(`  nodemailer takes ${(peer.us / own.us).toFixed(1)} times as long for one of ${Math.round(peer.size / 100) / 10} KB`);
  } finally {
    driver.close();
  }
}
