// Previews through the process: the members of the request, hostile mails, and a mail that is too high.

import './patience.mjs';

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../../src/render/sidecar/main.mjs', import.meta.url));
const CLIENTS = JSON.parse(readFileSync(new URL('../../../schemas/clients.json', import.meta.url), 'utf8'));
const clientOf = (id) => CLIENTS.find((client) => client.id === id);
const GMAIL = clientOf('gmailcom-lm_chrcurrent_win10');
const WORD = clientOf('outlook2021_win11_lm_dt');

const child = spawn(process.execPath, [MAIN], { stdio: ['pipe', 'pipe', 'ignore'] });
const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
after(() => child.stdin.end());

async function ask(members) {
  child.stdin.write(`${JSON.stringify({ id: 1, op: 'drawClient', ...members })}\n`);
  const { ok, result, error } = JSON.parse((await lines.next()).value);
  return ok ? result : error;
}

test('a mail is drawn at the width of the client, with its transforms and the date of the data', async () => {
  const drawn = await ask({ html: '<p style="box-shadow:1px 1px red">Words</p>', client: GMAIL });
  assert.equal(drawn.width, 800);
  assert.equal(drawn.isCut, false);
  assert.deepEqual(drawn.transforms.map(({ id, places }) => [id, places]), [['css-box-shadow', 1]]);
  assert.match(drawn.transforms[0].testedOn, /^20\d\d-\d\d-\d\d$/);
  assert.match(drawn.dataDate, /^20\d\d-\d\d-\d\d$/);
  assert.equal(Buffer.from(drawn.png, 'base64').readUInt32BE(16), 800);
});

test('a small picture for assistants is narrow enough for its bytes', async () => {
  const widthOf = (small) => { // behind the start code of a lossy WebP (RFC 6386 §9.1)
    const bytes = Buffer.from(small, 'base64');
    return bytes.readUInt16LE(bytes.indexOf('9d012a', 0, 'hex') + 3) & 0x3fff;
  };
  const { small } = await ask({ html: '<p>Words</p>', client: GMAIL });
  assert.equal(widthOf(small), 320);
  const noise = Array.from({ length: 2_500 }, (_, i) => `<b style="color:hsl(${(i * 137) % 360} 90% 50%)">${i}</b> `).join('');
  const large = await ask({ html: noise, client: GMAIL });
  assert.ok(widthOf(large.small) < 320, String(widthOf(large.small)));
  assert.ok(Buffer.byteLength(large.small, 'base64') <= 30_000);
});

test('images come from the files only', async () => {
  const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAIAAAAmkwkpAAAAEElEQVR4nGP4z8AARwzEcQCukw/x0F8jngAAAABJRU5ErkJggg==';
  const mail = { html: '<img src="https://shop.example/a.png" width="99" height="99" alt="">', client: GMAIL };
  const without = await ask(mail);
  const withFile = await ask({ ...mail, files: { 'https://shop.example/a.png': { type: 'image/png', data: DOT } } });
  assert.notEqual(withFile.png, without.png);
  assert.equal((await ask({ ...mail, client: clientOf('images_off'), files: { 'https://shop.example/a.png': { type: 'image/png', data: DOT } } })).png,
    (await ask({ ...mail, client: clientOf('images_off') })).png);
});

test('a picture ends at 16,000 pixels', async () => {
  const { height, isCut } = await ask({ html: '<div style="height:30000px">High</div>', client: GMAIL });
  assert.deepEqual([height, isCut], [16_000, true]);
});

test('hostile mails have a result', async () => {
  const mails = {
    'only Liquid': '{% if a %}{{ b }}{% endif %}',
    nothing: '',
    'a comment without an end': '<p>x</p><!--[if mso]><p>y</p>',
    'broken images': '<img src="data:image/png;base64,AAAA"><img src="">',
    'deep nesting': '<div>'.repeat(500),
    'many elements': '<b>x</b>'.repeat(40_000),
    '5 MB': `<p>${'word '.repeat(1_000_000)}</p>`,
  };
  for (const [name, html] of Object.entries(mails)) {
    const answer = await ask({ html, client: WORD });
    assert.ok(answer.png || ['INVALID_REQUEST', 'EMAIL_IMPORT_FAILED'].includes(answer.code), `${name}: ${JSON.stringify(answer)}`);
    if (!['deep nesting', '5 MB', 'many elements'].includes(name)) assert.ok(answer.png, name);
  }
  assert.ok((await ask({ html: '<p>Next</p>', client: GMAIL })).png);
});

test('a mail that is deeper or larger than the bounds is refused', async () => {
  assert.equal((await ask({ html: '<div>'.repeat(2_000), client: GMAIL })).code, 'EMAIL_IMPORT_FAILED');
  assert.equal((await ask({ html: 'x'.repeat(6_000_001), client: GMAIL })).code, 'PAYLOAD_TOO_LARGE');
  assert.equal((await ask({ html: 'x', client: { id: 'a' } })).code, 'INVALID_REQUEST');
});
