// Composed messages, read back by two parsers we did not write: what they find must be what was composed.
//
//     THIRD_PARTY_INSTALL=build/third_party node message_roundtrip.mjs build/compose_driver build/dkim_driver [random messages] [seed]
//
// Signed they must read the same.

import { Signer } from './dkim_signer.mjs';
import { Driver } from '../lib/driver.mjs';
import { packagesOf } from '../lib/packages.mjs';
import { fixedCorpus, randomCorpus } from './message_corpus.mjs';
import { Random } from '../lib/random.mjs';

const load = packagesOf('third_party');
const { simpleParser } = load('mailparser');
const { default: PostalMime } = await import(load.resolve('postal-mime'));

const [driverPath, signerPath, randomCount = '500', seed = '1'] = process.argv.slice(2);
if (!signerPath) throw new Error('usage: message_roundtrip.mjs COMPOSE_DRIVER DKIM_DRIVER [COUNT] [SEED]');

/** Every line break as the composer must write it, seen through a parser that hands out LF. */
function lines(text) {
  return text?.replace(/\r\n|\r|\n/g, '\n');
}

/** postal-mime hands out the line break of the delimiter too (RFC 2046 §5.1.1 gives it to the delimiter). */
function postalMimeBody(text) {
  return text?.replace(/\n$/, '');
}

async function readWithMailparser(bytes) {
  const mail = await simpleParser(bytes, { skipHtmlToText: true, skipTextToHtml: true, skipImageLinks: true, skipTextLinks: true });
  const mailbox = (header) => header?.value[0] ?? {};
  return {
    from: mailbox(mail.from), to: mailbox(mail.to), replyTo: mailbox(mail.replyTo).address,
    subject: mail.subject ?? '', text: mail.text, html: mail.html || undefined,
    messageId: mail.messageId, date: mail.date.toISOString(),
    header: (name) => mail.headerLines.find(({ key }) => key === name.toLowerCase())?.line,
  };
}

async function readWithPostalMime(bytes) {
  const mail = await PostalMime.parse(bytes);
  return {
    from: mail.from, to: mail.to[0], replyTo: mail.replyTo[0].address,
    subject: mail.subject ?? '', text: postalMimeBody(mail.text), html: postalMimeBody(mail.html),
    messageId: mail.messageId, date: new Date(mail.date).toISOString(),
  };
}

/** The rules of the composer that a lenient parser would not notice. */
function checkBytes(bytes, expect) {
  const body = bytes.indexOf('\r\n\r\n');
  expect('7-bit without controls', /^[\t\r\n\x20-\x7e]*$/.test(bytes), true);
  expect('line breaks', /(^|[^\r])\n|\r(?!\n)/.test(bytes), false);
  expect('end', bytes.endsWith('\r\n'), true);
  expect('longest header line', Math.max(...bytes.slice(0, body).split('\r\n').map((line) => line.length)) <= 998, true);
  expect('longest body line', Math.max(...bytes.slice(body + 4).split('\r\n').map((line) => line.length)) <= 76, true);
  expect('fragile body line', /\r\n(\.|From )/.test(bytes.slice(body + 2)), false);
}

function checkMail(request, mail, expect) {
  const single = request.text === undefined || request.html === undefined;
  // A message of one part ends with a line break of its own, and mailparser cannot tell an empty part from an empty line.
  const body = (text) => lines(text ?? '').replace(single ? /\n+$/ : /^\n$/, '');
  expect('from.name', mail.from.name, request.from.name);
  expect('from.address', mail.from.address, request.from.address);
  expect('to.name', mail.to.name, request.to.name);
  expect('to.address', mail.to.address, request.to.address);
  expect('replyTo', mail.replyTo, request.replyTo);
  expect('subject', mail.subject, request.subject);
  expect('text', body(mail.text), body(request.text));
  expect('html', body(mail.html), body(request.html));
  expect('messageId', mail.messageId, request.messageId);
  expect('date', mail.date, new Date(request.dateUs / 1000).toISOString());
  if (!mail.header) return;
  for (const [name, value] of request.headers) expect(name, mail.header(name).replaceAll('\r\n', ''), `${name}: ${value}`);
}

/** Both values from a little before the place where they part. */
function difference(actual, expected) {
  let at = 0;
  while (at < String(actual).length && String(actual)[at] === String(expected)[at]) at++;
  const shown = (value) => JSON.stringify(String(value).slice(Math.max(0, at - 20), at + 60));
  return `from character ${at}: ${shown(actual)} instead of ${shown(expected)}`;
}

const driver = new Driver(driverPath);
const signer = new Signer(signerPath);
const corpus = [...fixedCorpus(), ...randomCorpus(new Random(Number(seed)), Number(randomCount))];
let failed = 0;
for (const { name, request } of corpus) {
  const differences = [];
  const expectOf = (parser) => (what, actual, expected) => {
    if (actual !== expected) differences.push(`${parser}: ${what}: ${difference(actual, expected)}`);
  };
  const { bytes, error } = await driver.ask(request);
  if (error) {
    differences.push(`refused: ${error}`);
  } else {
    const signed = await signer.sign(bytes, request.dateUs);
    for (const [form, text] of [['', bytes], [' (signed)', signed]]) {
      checkBytes(text, expectOf(`bytes${form}`));
      checkMail(request, await readWithMailparser(text), expectOf(`mailparser${form}`));
      checkMail(request, await readWithPostalMime(text), expectOf(`postal-mime${form}`));
    }
  }
  if (differences.length === 0) continue;
  failed++;
  if (failed <= 10) console.log(`FAILED ${name}\n  ${differences.join('\n  ')}`);
}
driver.close();
signer.close();
console.log(`${corpus.length - failed} passed, ${failed} failed`);
process.exit(failed === 0 && corpus.length > 0 ? 0 : 1);
