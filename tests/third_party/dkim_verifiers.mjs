// Signatures, verified by two implementations we did not write: npm mailauth and dkimpy (Debian python3-dkim). Every RSA and every
// Ed25519 signature must verify, and none when the message was tampered with.
//
//     THIRD_PARTY_INSTALL=build/third_party node dkim_verifiers.mjs build/compose_driver build/dkim_driver [random messages] [seed]

import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { publishedRecords, Signer } from './dkim_signer.mjs';
import { Driver } from '../lib/driver.mjs';
import { packagesOf } from '../lib/packages.mjs';
import { fixedCorpus, message, randomCorpus } from './message_corpus.mjs';
import { Random } from '../lib/random.mjs';

const load = packagesOf('third_party');
const { dkimVerify } = load('mailauth/lib/dkim/verify');

const [composePath, signPath, randomCount = '200', seed = '1'] = process.argv.slice(2);
if (!signPath) throw new Error('usage: dkim_verifiers.mjs COMPOSE_DRIVER DKIM_DRIVER [COUNT] [SEED]');

/** What the corpus of the composer lacks: addresses beyond ASCII, and header fields of every kind that is signed. */
function addressCorpus() {
  const parts = { text: 'x', html: '<p>x</p>' };
  return [
    message('IDN domains', {
      from: { name: 'B\u00fccher', address: 'news@xn--bcher-kva.example' },
      to: { name: '', address: 'bob@xn--p1ai.example' },
      ...parts,
    }),
    message('a local part beyond ASCII', { to: { name: 'J\u00f6rg', address: 'j\u00f6rg@example.org' }, ...parts }),
    message('a right-to-left sender', { from: { name: '\u05e9\u05dc\u05d5\u05dd', address: 'news@example.com' }, ...parts }),
    message('all headers of a campaign', {
      headers: [['List-Id', '<b1.example.com>'], ['Feedback-ID', 'a:b:c:d'], ['Precedence', 'bulk'],
        ['List-Unsubscribe', '<https://example.com/u/abc>'], ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click']],
      ...parts,
    }),
  ];
}

// ---- Verifiers ----

class Mailauth {
  name = 'mailauth';

  constructor(records) {
    this.resolver = async (name, type) => {
      if (type === 'TXT' && records[name]) return [records[name]];
      throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
    };
  }

  async verdicts(bytes) {
    const { results } = await dkimVerify(bytes, { resolver: this.resolver });
    return results.map(({ status }) => status.result === 'pass');
  }

  close() {}
}

class Dkimpy {
  name = 'dkimpy';
  #driver = new Driver('/usr/bin/python3', [join(dirname(fileURLToPath(import.meta.url)), 'dkim_verify.py')], 'ignore');

  constructor(records) {
    this.records = Object.fromEntries(Object.entries(records).map(([name, strings]) => [name, strings.join('')]));
  }

  async verdicts(bytes) {
    return (await this.#driver.ask({ message: bytes.toString('base64'), records: this.records })).verdicts;
  }

  close() {
    this.#driver.close();
  }
}

// ---- Tampering ----

function inBody(text, change) {
  const at = text.indexOf('\r\n\r\n') + 4;
  return text.slice(0, at) + change(text.slice(at));
}

function inSignatures(text, change) {
  const at = text.indexOf('\r\nDate: ');
  return change(text.slice(0, at)) + text.slice(at);
}

/** Replaces one letter or digit of the body, or adds a line where it has none. */
function flipByte(body, random) {
  const places = [...body.matchAll(/[A-Za-z0-9]/g)].map(({ index }) => index);
  if (places.length === 0) return `${body}added\r\n`;
  const at = random.pick(places);
  return body.slice(0, at) + (body[at] === 'x' ? 'y' : 'x') + body.slice(at + 1);
}

const TAMPERING = {
  'a byte of the body': (text, random) => inBody(text, (body) => flipByte(body, random)),
  'a line behind the body': (text) => `${text}added\r\n`,
  'a byte of the subject': (text) => text.replace(/\r\nSubject: ?/, '$&x'),
  'a byte of the date': (text) => text.replace(/\r\nDate: .../, '\r\nDate: Xyz'),
  'no Message-ID': (text) => text.replace(/\r\nMessage-ID: .*/, ''),
  'a second From before': (text) => text.replace(/\r\nDate: /, '\r\nFrom: Evil <evil@example.net>$&'),
  'both signatures': (text) =>
    inSignatures(text, (fields) => fields.replace(/ b=(.)/g, (_, first) => ` b=${first === 'A' ? 'B' : 'A'}`)),
  'both times of signing': (text) => inSignatures(text, (fields) => fields.replace(/ t=\d/g, ' t=9')),
  'a second From behind': (text) => text.replace('\r\n\r\n', '\r\nFrom: Evil <evil@example.net>\r\n\r\n'),
};

/** What relays do on the way changes nothing. */
const CARRYING = {
  nothing: (text) => text,
  'a field on top': (text) => `Received: from a.example by b.example; Sat, 21 Nov 2026 09:30:00 +0000\r\n${text}`,
  'empty lines at the end': (text) => `${text}\r\n\r\n`,
  'blanks at line ends': (text) => inBody(text, (body) => body.replaceAll('\r\n', ' \t\r\n')),
  'another fold of the subject': (text) => text.replace(/\r\nSubject: (\S)/, '\r\nSUBJECT:\r\n\t$1'),
};

// ---- The run ----

const composer = new Driver(composePath);
const signer = new Signer(signPath);
const records = publishedRecords(await signer.keys());
const verifiers = [new Mailauth(records), new Dkimpy(records)];
const random = new Random(Number(seed));
const corpus = [...fixedCorpus(), ...addressCorpus(), ...randomCorpus(random, Number(randomCount))];
let checks = 0;
let failed = 0;

async function verify(what, text, expected) {
  const bytes = Buffer.from(text, 'utf8');
  for (const verifier of verifiers) {
    const verdicts = await verifier.verdicts(bytes);
    checks++;
    if (verdicts.length === 2 && verdicts.every((verdict) => verdict === expected)) continue;
    failed++;
    if (failed <= 10) console.log(`FAILED ${what}: ${verifier.name} says ${JSON.stringify(verdicts)}`);
  }
}

for (const { name, request } of corpus) {
  const { bytes, error } = await composer.ask(request);
  if (error) throw new Error(`${name}: not composed: ${error}`);
  const text = await signer.sign(bytes, request.dateUs);
  for (const [what, change] of Object.entries(CARRYING)) await verify(`${name}, carried with ${what}`, change(text), true);
  for (const [what, change] of Object.entries(TAMPERING)) {
    const changed = change(text, random);
    if (changed === text) throw new Error(`${name}: "${what}" changed nothing`);
    await verify(`${name}, changed ${what}`, changed, false);
  }
}
composer.close();
signer.close();
for (const verifier of verifiers) verifier.close();
console.log(`signatures: ${corpus.length} messages, ${checks - failed} passed, ${failed} failed`);
process.exit(failed === 0 && checks > 0 ? 0 : 1);
