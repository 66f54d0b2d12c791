// The browser is killed while it draws, and while a design is generated: an answer with one charge and one picture, or a refusal with
// none, and the next call succeeds.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../lib/database.mjs';
import { installationFor } from '../../lib/installation.mjs';
import { browsersOf, kill, until } from '../../lib/processes.mjs';

const LIMIT = { timeout: 600_000 };
const PUBLIC_URL = 'https://mail.example/posthorn';

const html = (word) => `<p style="font-size:40px">${word}</p>`;
/** name → the call and its price. */
const DRAWINGS = {
  'a page': ['/v1/content/html-to-png', (word) => ({ html: html(word) }), 1],
  'an animation': ['/v1/content/gif', (word) => ({ from: 'prompt', prompt: `Reveal the text "${word} starts today"`, width: 200 }), 10],
};

test('the browser is killed in the middle of its work', LIMIT, async (t) => {
  const installation = installationFor(t, { PUBLIC_URL });
  const server = await installation.serve();
  const rest = server.client(await installation.key('--brand', await installation.brandId()), {}, 2);
  const used = async () => (await rest.get('/v1/usage')).body.credits.used;
  const pictures = async () => (await rest.get('/v1/brand/images?kind=generated')).body.data.length;
  const isRunning = async (kind) => (await sql(installation, `select count(*) from jobs where kind = '${kind}' and state = 'running'`))[0] !== '0';
  const open = async () => assert.equal((await rest.post('/v1/content/html-to-png', { html: html('Ready') })).status, 200);
  /** Stops the browser, which is open and idle, so that it cannot finish what comes. */
  const freeze = () => {
    const pids = browsersOf(installation);
    assert.ok(pids.length > 0, 'a browser is open');
    for (const pid of pids) kill(pid, 'SIGSTOP');
    return { kill: () => { for (const pid of pids) kill(pid); } };
  };
  const nothingHeld = async () => assert.deepEqual(await sql(installation, 'select count(*) from credit_holds'), ['0']);

  for (const [name, [path, argsOf, price]] of Object.entries(DRAWINGS)) {
    await t.test(`while it draws ${name}`, async () => {
      await open();
      const before = [await used(), await pictures()];
      const browser = freeze();
      const call = rest.post(path, argsOf('Killed'));
      await until('the job runs', () => isRunning(path.endsWith('gif') ? 'make_gif' : 'draw_page'), 60_000);
      browser.kill();
      const { status, body } = await call;
      assert.ok([200, 503].includes(status), JSON.stringify(body));
      const made = status === 200 ? 1 : 0;
      assert.deepEqual([await used(), await pictures()], [before[0] + made * price, before[1] + made], `the answer is ${status}`);
      const next = await rest.post(path, argsOf('Next'));
      assert.equal(next.status, 200, JSON.stringify(next.body));
      assert.deepEqual([await used(), await pictures()], [before[0] + (made + 1) * price, before[1] + made + 1]);
      await nothingHeld();
    });
  }

  await t.test('while a design is generated', async () => {
    await open();
    const before = await used();
    const browser = freeze();
    const { status, body } = await rest.post('/v1/emails', { prompt: 'A newsletter.\n---\n# Tea\n\nFresh leaves.' });
    assert.equal(status, 201);
    browser.kill();
    let email;
    await until('the generation has ended', async () => (email = (await rest.get(`/v1/emails/${body.emailId}?include=versions`)).body).status !== 'generating', 120_000);
    assert.deepEqual([email.status, email.versions.length], ['ready', 1], JSON.stringify(email));
    await until('its picture is drawn', async () => (await rest.get(`/v1/emails/${body.emailId}`)).body.previewImage != null, 120_000);
    assert.equal(await used(), before + 1);
    assert.deepEqual(await sql(installation, "select count(*) from generations where status = 'completed'"), ['1']);
    await nothingHeld();
  });
  rest.close();
});
