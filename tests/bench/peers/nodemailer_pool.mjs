// Nodemailer's pool sends a letter with slots to as many readers as wanted, and prints { perSecond }.
//
//   nodemailer_pool.mjs --port N --messages N --connections N --letter FILE [--private-key FILE]
//
// The file of the letter is JSON: { html, text, readers }; slots are {{ name }}. With a key (PEM) messages are signed with DKIM.

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

import nodemailer from 'nodemailer';

const WAITING = 100; // messages handed to the pool beyond its connections

const { values: options } = parseArgs({
  options: Object.fromEntries(['port', 'messages', 'connections', 'letter', 'private-key'].map((name) => [name, { type: 'string' }])),
});
const count = Number(options.messages);
const connections = Number(options.connections);
const { html, text, readers } = JSON.parse(readFileSync(options.letter, 'utf8'));

// As quick as it gets in JavaScript: the text between the slots is cut once.
function compile(source) {
  const pieces = source.split(/\{\{\s*(\w+)[^}]*\}\}/);
  return (reader) => pieces.map((piece, index) => (index % 2 === 0 ? piece : reader[piece] ?? '')).join('');
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
  const reader = readers[index % readers.length];
  const unsubscribeUrl = `https://bench.example/u/${index}-0123456789abcdef0123456789abcdef0123456789abcdef`;
  const values = { ...reader, unsubscribeUrl };
  await transport.sendMail({
    from: '"Harbour letter" <letter@bench.example>', to: reader.email, subject: `News for ${reader.firstName}`,
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
