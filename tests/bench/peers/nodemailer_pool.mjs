// Sends an email with merge fields through the pool of nodemailer, and prints { perSecond }.
//
//   nodemailer_pool.mjs --port N --messages N --connections N --email FILE [--private-key FILE]
//
// The file is JSON: { html, text, recipients }. A merge field is {{ name }}. With a key (PEM) each message is signed with DKIM.

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

import nodemailer from 'nodemailer';

const WAITING = 100; // messages handed to the pool beyond its connections

const { values: options } = parseArgs({
  options: Object.fromEntries(['port', 'messages', 'connections', 'email', 'private-key'].map((name) => [name, { type: 'string' }])),
});
const count = Number(options.messages);
const connections = Number(options.connections);
const { html, text, recipients } = JSON.parse(readFileSync(options.email, 'utf8'));

// The text is split at its merge fields once, which is the fastest way in JavaScript.
function compile(source) {
  const pieces = source.split(/\{\{\s*(\w+)[^}]*\}\}/);
  return (recipient) => pieces.map((piece, index) => (index % 2 === 0 ? piece : recipient[piece] ?? '')).join('');
}
const [fillHtml, fillText] = [compile(html), compile(text)];

const signing = options['private-key'] && {
  domainName: 'bench.example', keySelector: 'bench', privateKey: readFileSync(options['private-key'], 'utf8'),
};
const transport = nodemailer.createTransport({
  pool: true, host: '127.0.0.1', port: Number(options.port), ignoreTLS: true, maxConnections: connections, maxMessages: Infinity,
  ...(signing && { dkim: signing }),
});

async function send(index) {
  const recipient = recipients[index % recipients.length];
  const unsubscribeUrl = `https://bench.example/u/${index}-0123456789abcdef0123456789abcdef0123456789abcdef`;
  const values = { ...recipient, unsubscribeUrl };
  await transport.sendMail({
    from: '"Harbour letter" <letter@bench.example>', to: recipient.email, subject: `News for ${recipient.firstName}`,
    html: fillHtml(values), text: fillText(values), messageId: `<${index}.bench@bench.example>`,
    headers: { Precedence: 'bulk', 'List-Unsubscribe': `<${unsubscribeUrl}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' },
  });
}

let next = 0;
async function sender() {
  while (next < count) await send(next++);
}

const began = performance.now();
await Promise.all(Array.from({ length: connections + WAITING }, sender));
const seconds = (performance.now() - began) / 1000;
transport.close();
console.log(JSON.stringify({ perSecond: count / seconds }));
