// Images of imported designs are fetched through the guarded client, checked, and served from here. Hostile images are not stored,
// and the report names each with its reason (R-225).

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { RawConnection } from '../../lib/raw_http.mjs';
import { ImageServer } from '../../lib/image_server.mjs';
import { BINARY, Installation, installationFor } from '../../lib/installation.mjs';
import { png } from '../../lib/images.mjs';
import { residentKib, until } from '../../lib/processes.mjs';

const LIMIT = { timeout: 600_000 };
const PUBLIC_URL = 'https://mail.example/posthorn';
const ASSET = /https:\/\/mail\.example\/posthorn(\/assets\/[0-9a-z]{52}\.(?:png|jpg|gif|webp|avif))/g;
// A sanitizer keeps freed memory aside on purpose.
const COUNTS_MEMORY = !readFileSync(BINARY).includes('__asan_init');

const total = ({ rehosted, retained, stripped, dropped }) => rehosted + retained + stripped + dropped;

/** Every file below the asset folder. */
function storedFiles(installation) {
  const entries = readdirSync(join(installation.data, 'assets'), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** Imports a document; gives the report and the HTML as it was saved. */
async function importHtml(rest, content) {
  const imported = await rest.post('/v1/emails/import', { content });
  assert.equal(imported.status, 201, JSON.stringify(imported.body));
  const report = imported.body.assetReport;
  assert.equal(total(report), report.discovered, `the numbers add up: ${JSON.stringify(report)}`);
  const design = await rest.get(`/v1/emails/${imported.body.emailId}?include=html`);
  assert.equal(design.status, 200);
  return { report, html: design.body.html };
}

// A server with one worker, and images that do not answer.
test('images that do not answer hold no worker, and their credits are reserved (R-084, R-167)', LIMIT, async (t) => {
  const images = new ImageServer();
  await images.start();
  t.after(() => images.stop());
  const installation = installationFor(t, { PUBLIC_URL, FETCH_ALLOW_LOOPBACK: 1, THREADS: 1 });
  const server = await installation.serve();
  const rest = server.client(await installation.key('--brand', await installation.brandId()), {}, 8);
  const order = [];
  const slow = [1, 2, 3].map((number) => {
    const content = `<p>${number}</p><img src="${images.base}/held?${number}">`;
    return rest.post('/v1/emails/import', { content }).then((answer) => { order.push('images'); return answer; });
  });
  await until('the images are asked for', () => images.hits.get('/held') === 3, 60_000);
  assert.equal((await rest.get('/v1/usage')).body.credits.reserved, 3);
  const imported = await rest.post('/v1/contacts/import-csv', { csv: 'email\na@example.com\n' });
  order.push('contacts');
  assert.equal(imported.status, 200, JSON.stringify(imported.body));
  images.release();
  for (const { status, body } of await Promise.all(slow)) assert.equal(status, 201, JSON.stringify(body));
  assert.deepEqual(order, ['contacts', 'images', 'images', 'images']);
  const { reserved, used } = (await rest.get('/v1/usage')).body.credits;
  assert.deepEqual({ reserved, used }, { reserved: 0, used: 3 });
  const failed = await rest.post('/v1/emails/import', { content: '<script>alert(1)</script>' });
  assert.equal(failed.status, 422);
  assert.equal((await rest.get('/v1/usage')).body.credits.reserved, 0, 'a job that fails releases them');
  rest.close();
});

test('an import whose images take too long is answered before its caller leaves', LIMIT, async (t) => {
  const images = new ImageServer();
  await images.start();
  t.after(() => images.stop());
  const installation = installationFor(t, { PUBLIC_URL, FETCH_ALLOW_LOOPBACK: 1 });
  const server = await installation.serve();
  const rest = server.client(await installation.key('--brand', await installation.brandId()));
  // Eight images at a time, 15 s each: all of them would take longer than a caller waits.
  const content = `<p>Many</p>${Array.from({ length: 40 }, (_, number) => `<img src="${images.base}/held?${number}">`).join('')}`;
  const { report } = await importHtml(rest, content);
  assert.equal(report.retained, 40);
  assert.ok(report.warnings.some((warning) => /all of them together took too long/.test(warning)), JSON.stringify(report.warnings));
  rest.close();
});

describe('with a public address', LIMIT, () => {
  const images = new ImageServer();
  let installation;
  let server;
  let rest;

  before(async () => {
    await images.start();
    installation = new Installation({ PUBLIC_URL, FETCH_ALLOW_LOOPBACK: 1 });
    server = await installation.serve();
    rest = server.client(await installation.key('--brand', await installation.brandId()));
  });

  after(async () => {
    rest.close();
    await images.stop();
    assert.deepEqual(await installation.dispose(), []);
  });

  test('R-225: every place that names an image names a copy here', async () => {
    const { base } = images;
    const { report, html } = await importHtml(rest, `
      <style>@media (max-width:600px) { .hero { background-image: url('${base}/tile.webp') } }</style>
      <table background="${base}/dot.gif"><tr><td style="background: #fff url(${base}/hero.jpg) no-repeat">
      Hello {{ contact.first_name | default: "you < me" }}</td></tr></table>
      <img src="${base}/logo.png" alt="Logo"><img src="${base}/logo.png" alt="again"><img src="${base}/new.avif">
      <!--[if mso]><v:rect><v:fill type="frame" src="${base}/other.png"/></v:rect><![endif]-->
      <img src="${base}/same-as-logo.png"><img src="${base}/mislabelled.txt"><img src="{{ hero }}">
      <a href="${base}/hero.jpg">the picture itself</a>`);
    assert.deepEqual(report, { discovered: 9, rehosted: 8, retained: 1, stripped: 0, dropped: 0, warnings: [] });
    assert.equal(html.split(base).length - 1, 1, `only the link still leads there: ${html}`);
    assert.ok(html.includes('Hello {{ contact.first_name | default: "you < me" }}</td>'), html);
    assert.ok(html.includes('src="{{ hero }}"'), html);
    const paths = [...html.matchAll(ASSET)].map(([, path]) => path);
    assert.equal(new Set(paths).size, 7, 'equal bytes have one name');
    assert.equal(images.hits.get('/logo.png'), 1, 'each address is fetched once');
    assert.match(images.lastHeaders['user-agent'], /^Posthorn\//);
    assert.equal(images.lastHeaders.cookie, undefined);
    assert.equal(storedFiles(installation).length, 7);
  });

  test('the copies are served to anybody, to be kept for ever, and can do nothing', async () => {
    const { html } = await importHtml(rest, `<p>One</p><img src="${images.base}/logo.png">`);
    const [, path] = new RegExp(ASSET.source).exec(html);
    const anybody = server.client();
    const answer = await fetch(`http://127.0.0.1:${server.port}${path}`);
    const bytes = Buffer.from(await answer.arrayBuffer());
    assert.equal(answer.status, 200);
    assert.deepEqual(bytes, png(120, 40), 'the bytes are as they were');
    const { headers } = answer;
    assert.equal(headers.get('content-type'), 'image/png');
    assert.equal(headers.get('cache-control'), 'public, max-age=31536000, immutable');
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.match(headers.get('content-security-policy'), /sandbox/);
    assert.equal(headers.get('content-disposition'), 'inline');

    const head = await anybody.request('HEAD', path);
    assert.equal(head.status, 200);
    assert.equal(head.headers['content-length'], String(bytes.length));
    assert.equal(head.body, '');
    const again = await anybody.get(path, { 'if-none-match': headers.get('etag') });
    assert.equal(again.status, 304);
    assert.equal(again.body, '');
    assert.equal((await anybody.get(path, { 'if-none-match': '"another"' })).status, 200);
    assert.equal((await anybody.post(path, {})).status, 405);

    const wrong = [path.replace('.png', '.jpg'), path.replace(/.\.png/, '.png'), `${path}/`, '/assets/', '/assets/tmp', `${path}%00`,
      '/assets/..%2f..%2foutbox', '/assets/../runner.pid', path.toUpperCase(), `/assets/${'0'.repeat(52)}.png`, `/assets/${'a'.repeat(5000)}`];
    for (const other of wrong) assert.equal((await anybody.get(other)).status, 404, other);
    const raw = new RawConnection(server.port);
    await raw.send('GET /assets/../../../../etc/passwd HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    await raw.closed;
    assert.deepEqual(raw.statuses(), [404]);
    anybody.close();
  });

  test('R-187: the brand can browse its copies, each at an address that loads', async () => {
    await importHtml(rest, `<p>Browsed</p><img src="${images.base}/logo.png"><img src="${images.base}/dot.gif">`);
    const seen = [];
    for (let cursor = ''; cursor !== null;) {
      const page = await rest.get(`/v1/brand/images?limit=3${cursor && `&cursor=${cursor}`}`);
      assert.equal(page.status, 200, JSON.stringify(page.body));
      seen.push(...page.body.data);
      cursor = page.body.pagination.cursor;
    }
    assert.equal(seen.length, storedFiles(installation).length, 'every file is one row');
    assert.equal(new Set(seen.map(({ assetId }) => assetId)).size, seen.length, 'each once');
    const logo = seen.find(({ width, height }) => width === 120 && height === 40);
    assert.deepEqual([logo.kind, logo.type, logo.aspectRatio], ['brand', 'png', '3:1']);
    const answer = await fetch(logo.url.replace(PUBLIC_URL, `http://127.0.0.1:${server.port}`));
    assert.deepEqual(Buffer.from(await answer.arrayBuffer()), png(120, 40));
    const shown = await rest.get('/v1/brand/images?sort=oldest&type=gif');
    assert.deepEqual([...new Set(shown.body.data.map(({ type }) => type))], ['gif']);
  });

  test('R-187, R-188: a copy is found by what the design says about it', async () => {
    const embedded = (width, shade) => `data:image/png;base64,${png(width, 5, shade).toString('base64')}`;
    await importHtml(rest, `<title>Spring catalogue</title><h1>Café chairs</h1><img src="${embedded(17, 91)}" alt="A folding chair">
      <p>The <b>walnut</b> one, for terraces</p><img src="${embedded(18, 92)}" alt="Zebra crossing">`);
    const altsOf = async (q, more = '') => {
      const { status, headers, body } = await rest.get(`/v1/brand/images?q=${encodeURIComponent(q)}${more}`);
      assert.equal(status, 200, JSON.stringify(body));
      assert.equal(headers?.['x-credit-cost'] ?? headers?.get?.('x-credit-cost') ?? null, null, 'R-154: it is charged by use');
      return body.data.map(({ alt }) => alt);
    };
    assert.deepEqual(await altsOf('zebras'), ['Zebra crossing']);
    assert.deepEqual(await altsOf('a picture of a zebra', '&type=gif'), []);
    assert.deepEqual(await altsOf('zebbra'), ['Zebra crossing'], 'a wrong spelling');
    assert.deepEqual(await altsOf('walnut'), ['A folding chair'], 'the text after it');
    assert.deepEqual(new Set(await altsOf('cafe')), new Set(['A folding chair', 'Zebra crossing']), 'the heading above it');
    assert.deepEqual(new Set(await altsOf('catalogue')), new Set(['A folding chair', 'Zebra crossing']), 'the title of the design');
  });

  test('embedded images are hosted too', async () => {
    const data = png(11, 3, 77).toString('base64');
    const { report, html } = await importHtml(rest, `<p>Text</p><img src="data:image/png;base64,${data}">
      <div style="background-image:url('data:image/png;base64,${data}')">x</div>
      <img src="data:image/png;base64,${Buffer.from('<svg/>').toString('base64')}" alt="no image">`);
    assert.deepEqual({ ...report, warnings: [] }, { discovered: 2, rehosted: 1, retained: 0, stripped: 0, dropped: 1, warnings: [] });
    assert.match(report.warnings[0], /^The embedded image 2 was removed: it is an SVG/);
    assert.ok(!html.includes('data:') && !html.includes('embedded.invalid'), html);
    assert.equal([...html.matchAll(ASSET)].length, 2);
  });

  /** What stands at an address → its fate, and the words of the warning. */
  const hostile = ({ base, port }) => [
    [`${base}/script.svg`, 'dropped', /SVG, which can contain scripts/],
    [`${base}/svg-as.png`, 'dropped', /SVG/],
    [`${base}/page-as.png`, 'dropped', /a web page, not an image/],
    [`${base}/page-behind-a-signature.png`, 'dropped', /headers are damaged/],
    [`${base}/empty.png`, 'dropped', /it is empty/],
    [`${base}/huge.png`, 'dropped', /more than 40 million pixels/],
    [`${base}/many-frames.gif`, 'dropped', /more than 300 frames/],
    [`${base}/many-pixels.gif`, 'dropped', /more than 100 million pixels together/],
    ['http://10.1.2.3/a.png', 'stripped', /not on the public internet/],
    ['http://[::ffff:10.1.2.3]/a.png', 'stripped', /not on the public internet/],
    ['http://0x0a010203/a.png', 'stripped', /not on the public internet/],
    [`http://0.0.0.0:${port}/logo.png`, 'stripped', /not on the public internet/],
    ['http://169.254.169.254/latest/meta-data/', 'stripped', /not on the public internet/],
    [`${base}/to?url=${encodeURIComponent('http://192.168.0.1/a.png')}`, 'stripped', /not on the public internet/],
    [`${base}/to?url=${encodeURIComponent('http://[fd00:ec2::254]/')}`, 'stripped', /not on the public internet/],
    [`${base}/to?url=${encodeURIComponent('file:///etc/passwd')}`, 'retained', /only http and https/],
    [`${base}/to?url=${encodeURIComponent('gopher://127.0.0.1/')}`, 'retained', /only http and https|not valid/],
    [`http://user:secret@127.0.0.1:${port}/logo.png`, 'retained', /a user name or a password/],
    [`${base}/round`, 'retained', /redirects too often/],
    [`${base}/hops?left=6`, 'retained', /redirects too often/],
    [`${base}/missing.png`, 'retained', /answered 404/],
    [`${base}/endless`, 'retained', /too large/],
    [`${base}/declared-huge`, 'retained', /too large/],
    [`${base}/zip-bomb`, 'retained', /compressed/],
    [`${base}/cut-short`, 'retained', /cut short/],
    [`${base}/dribble`, 'retained', /took too long/],
    ['http://nowhere.invalid/a.png', 'retained', /name of its server cannot be resolved/],
    ['http://127.0.0.1:1/a.png', 'retained', /cannot be reached/],
    ['cid:logo', 'retained', /names an attachment/],
    ['images/relative.png', 'retained', /not complete/],
  ];

  test('hostile images stay outside, and the report says which and why', async (t) => {
    const table = hostile(images);
    const stored = storedFiles(installation).length;
    const before = residentKib(installation.runnerPid);
    const good = [`${images.base}/hops?left=5`, `${images.base}/endless-redirect`];
    const sources = [...table.map(([url]) => url), ...good];
    const { report, html } = await importHtml(rest, `<p>Text</p>${sources.map((url) => `<img src="${url}">`).join('\n')}`);
    const grownKib = residentKib(installation.runnerPid) - before;

    const count = (fate) => table.filter(([, expected]) => expected === fate).length;
    const { warnings, ...numbers } = report;
    assert.deepEqual(numbers, {
      discovered: sources.length, rehosted: good.length, retained: count('retained'), stripped: count('stripped'), dropped: count('dropped'),
    }, JSON.stringify(warnings, null, 1));
    for (const [url, fate, reason] of table) {
      const warning = warnings.find((text) => text.startsWith(`The image ${url} `));
      assert.match(warning ?? `no warning about ${url}`, reason);
      assert.equal(warning.includes('was removed'), fate !== 'retained', warning);
      assert.equal(html.includes(`src="${url.replaceAll('&', '&amp;')}"`), fate === 'retained', `${url} is ${fate}`);
    }
    assert.equal(storedFiles(installation).length, stored, 'nothing of it is stored; the good one was there before');
    t.diagnostic(`${grownKib} KiB more`);
    if (COUNTS_MEMORY) assert.ok(grownKib < 64 * 1024, `${grownKib} KiB more`);
  });

  test('what is stored is named by its bytes', () => {
    for (const file of storedFiles(installation)) {
      const hash = createHash('sha256').update(readFileSync(file)).digest();
      let digits = '';
      for (let word = 0; word < 4; word++) {
        for (let shift = 60n; shift >= 0n; shift -= 5n) {
          digits += '0123456789abcdefghjkmnpqrstvwxyz'[Number((hash.readBigUInt64BE(word * 8) >> shift) & 31n)];
        }
      }
      assert.equal(file.split('/').slice(-2).join(''), `${digits}${/\.\w+$/.exec(file)[0]}`);
    }
  });

  test('no more than 100 images are fetched for one design', async () => {
    const sources = Array.from({ length: 120 }, (_, i) => `<img src="${images.base}/logo.png?${i}">`);
    const { report } = await importHtml(rest, sources.join(''));
    assert.deepEqual([report.discovered, report.rehosted, report.retained], [120, 100, 20]);
    assert.equal(report.warnings.length, 20);
    assert.match(report.warnings[0], /only 100 images/);
  });
});

test('without a public address nothing is fetched, and a warning says what would help', LIMIT, async (t) => {
  const images = new ImageServer();
  await images.start();
  t.after(() => images.stop());
  const installation = installationFor(t, { FETCH_ALLOW_LOOPBACK: 1 });
  const server = await installation.serve();
  const rest = server.client(await installation.key('--brand', await installation.brandId()));
  const data = png(11, 3, 77).toString('base64');
  const { report, html } = await importHtml(rest, `<p>Text</p><img src="${images.base}/logo.png"><img src="data:image/jpeg;base64,${data}">`);
  assert.deepEqual({ ...report, warnings: [] }, { discovered: 2, rehosted: 0, retained: 2, stripped: 0, dropped: 0, warnings: [] });
  assert.match(report.warnings.at(-1), /--public-url/);
  assert.ok(html.includes(`${images.base}/logo.png`), html);
  assert.ok(html.includes(`src="data:image/png;base64,${data}"`), 'under its true type');
  assert.equal(images.hits.size, 0);
  rest.close();
});

test('this machine is not fetched from, unless a test says so', LIMIT, async (t) => {
  const images = new ImageServer();
  await images.start();
  t.after(() => images.stop());
  const installation = installationFor(t, { PUBLIC_URL });
  const server = await installation.serve();
  const rest = server.client(await installation.key('--brand', await installation.brandId()));
  const { report } = await importHtml(rest, `<p>Text</p><img src="http://127.0.0.1/a.png"><img src="http://localhost/b.png">
    <img src="http://[::1]:8080/c.png"><img src="${images.base}/logo.png">`);
  assert.deepEqual([report.stripped, report.retained], [3, 1], JSON.stringify(report));
  assert.match(report.warnings[3], /only the ports 80, 443, 8080 and 8443/);
  assert.equal(images.hits.size, 0);
  rest.close();
});

test('the public address of the called server counts, whichever process started the runner', LIMIT, async (t) => {
  const images = new ImageServer();
  await images.start();
  t.after(() => images.stop());
  const installation = installationFor(t, { FETCH_ALLOW_LOOPBACK: 1 });
  const key = await installation.key('--brand', await installation.brandId()); // starts a runner without a public address
  const server = await installation.serve('--public-url', PUBLIC_URL);
  const rest = server.client(key);
  const { report, html } = await importHtml(rest, `<p>Text</p><img src="${images.base}/logo.png">`);
  assert.deepEqual([report.rehosted, report.warnings], [1, []]);
  const [hosted] = html.match(ASSET);
  const again = await importHtml(rest, `<p>Text</p><img src="${hosted}">`);
  assert.deepEqual([again.report.retained, again.report.warnings], [1, []], 'what is hosted here already is left alone');
  rest.close();
});
