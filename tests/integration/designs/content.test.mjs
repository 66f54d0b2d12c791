// Pictures are made by the real programs of libvips and the real browser, hosted here, and charged once, when they exist. gifsicle
// and vipsheader judge the files (R-156, R-157, R-158, R-388, R-389, R-390, R-391, D-91, A-22).

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { sql } from '../../lib/database.mjs';
import { ImageServer } from '../../lib/image_server.mjs';
import { colourPng, gif } from '../../lib/images.mjs';
import { Installation } from '../../lib/installation.mjs';
import { until } from '../../lib/processes.mjs';
import { MP4, WEBM } from '../../lib/videos.mjs';

const LIMIT = { timeout: 600_000 };
const PUBLIC_URL = 'https://mail.example/posthorn';

const photo = colourPng(640, 400, (x, y) => [x % 256, (y * 2) % 256, (x * y) % 251]);
const squares = colourPng(300, 200, (x, y) => ((x >> 5) + (y >> 5)) % 2 ? [190, 20, 40] : [250, 250, 240]);

/** Programs of libvips that a test can kill and hold: by a folder that the wrapper removes, or that it waits for. */
class Programs {
  folder = mkdtempSync(join(tmpdir(), 'posthorn-vips-'));

  constructor() {
    chmodSync(this.folder, 0o777); // the wrapper may run as nobody
    for (const name of ['vips', 'vipsthumbnail']) {
      const real = execFileSync('/bin/sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
      const script = `#!/bin/sh
[ -d ${this.folder}/hold ] && touch ${this.folder}/held
while [ -d ${this.folder}/hold ]; do sleep 0.05; done
if rmdir ${this.folder}/kill 2>/dev/null || [ -d ${this.folder}/kill-all ]; then kill -9 $$; fi
exec ${real} "$@"\n`;
      writeFileSync(join(this.folder, name), script, { mode: 0o755 });
    }
  }

  set(state) {
    mkdirSync(join(this.folder, state));
  }

  clear(state) {
    rmSync(join(this.folder, state), { recursive: true, force: true });
  }

  has(state) {
    return existsSync(join(this.folder, state));
  }
}

describe('content operations', LIMIT, () => {
  const images = new ImageServer();
  const programs = new Programs();
  let installation;
  let server;
  let rest;

  before(async () => {
    await images.start();
    Object.assign(images.files, {
      '/photo.png': ['image/png', photo],
      '/squares.png': ['image/png', squares],
      '/cut.png': ['image/png', photo.subarray(0, photo.length / 2)],
    });
    installation = new Installation({ PUBLIC_URL, FETCH_ALLOW_LOOPBACK: 1 });
    installation.environment.PATH = `${programs.folder}:${installation.environment.PATH}`;
    server = await installation.serve();
    rest = server.client(await installation.key('--brand', await installation.brandId()), {}, 4);
  });

  after(async () => {
    rest.close();
    await images.stop();
    const left = await installation.dispose();
    rmSync(programs.folder, { recursive: true });
    assert.deepEqual(left, []);
  });

  const used = async () => (await rest.get('/v1/usage')).body.credits.used;

  /** The bytes of a hosted picture. */
  async function bytesAt(url) {
    const answer = await fetch(url.replace(PUBLIC_URL, `http://127.0.0.1:${server.port}`));
    assert.equal(answer.status, 200);
    return Buffer.from(await answer.arrayBuffer());
  }

  /** What vipsheader says about it: "600 400 3 pngload". */
  function header(bytes) {
    const file = join(programs.folder, 'judged');
    writeFileSync(file, bytes);
    const line = execFileSync('vipsheader', [file], { encoding: 'utf8' });
    const [, width, height, bands, loader] = /(\d+)x(\d+) \w+, (\d) bands?, [\w-]+, (\w+)load/.exec(line) ?? assert.fail(line);
    return [Number(width), Number(height), Number(bands), loader];
  }

  /** Waits until no program takes the colours of images, so that the next program that runs is the test's. */
  const coloured = () => until('the colours of all images are taken', async () =>
    (await sql(installation, "select count(*) from jobs where kind = 'colour_images' and state in ('queued', 'running')"))[0] === '0', 60_000);

  async function transform(args, status = 200) {
    const answer = await rest.post('/v1/content/transform', args);
    assert.equal(answer.status, status, JSON.stringify(answer.body));
    return { ...answer.body, cost: answer.headers['x-credit-cost'] };
  }

  test('R-390, R-158: an image is resized for 2 credits; the other side follows, both sides crop', async () => {
    const before = await used();
    const imageUrl = `${images.base}/photo.png`;
    const narrow = await transform({ operation: 'resize', imageUrl, width: 320 });
    assert.deepEqual([narrow.width, narrow.height, narrow.cost, narrow.originalBytes], [320, 200, '2', photo.length]);
    const bytes = await bytesAt(narrow.url);
    assert.deepEqual([header(bytes), bytes.length], [[320, 200, 3, 'png'], narrow.bytes]);
    const low = await transform({ operation: 'resize', imageUrl, height: 100 });
    assert.deepEqual([low.width, low.height], [160, 100]);
    const square = await transform({ operation: 'resize', imageUrl, width: 128, height: 128 });
    assert.deepEqual(header(await bytesAt(square.url)).slice(0, 2), [128, 128]);
    const wide = await transform({ operation: 'resize', imageUrl, width: 1280 });
    assert.deepEqual([wide.width, wide.height], [1280, 800]);
    const hits = images.hits.get('/photo.png');
    const own = await transform({ operation: 'resize', imageUrl: wide.url, width: 64 });
    assert.deepEqual([own.width, own.height, images.hits.get('/photo.png')], [64, 40, hits], 'a hosted image is not fetched');
    assert.equal(await used(), before + 10);
    const listed = (await rest.get('/v1/brand/images?kind=generated&limit=10')).body.data;
    assert.deepEqual(listed.map(({ width }) => width), [64, 1280, 128, 160, 320]);
  });

  test('R-390: optimizing loses nothing that is visible, and never makes a file larger', async () => {
    const made = await transform({ operation: 'optimize', imageUrl: `${images.base}/squares.png` });
    assert.deepEqual([made.width, made.height, made.kept, made.cost], [300, 200, false, '1']);
    assert.ok(made.bytes < squares.length, `${made.bytes} of ${squares.length}`);
    const pixels = (bytes) => execFileSync('vips', ['copy', 'stdin', '.ppm'], { input: bytes }).subarray(-300 * 200 * 3);
    assert.ok(pixels(await bytesAt(made.url)).equals(pixels(squares)), 'every pixel of a PNG stays');
    const again = await transform({ operation: 'optimize', imageUrl: made.url });
    assert.deepEqual([again.kept, again.url, again.bytes], [true, made.url, made.bytes]);
  });

  test('R-391, A-22: images are added to the library, one at once, several in the background', async () => {
    const before = await used();
    const one = await rest.post('/v1/content/add-image', { imageUrl: `${images.base}/squares.png` });
    assert.deepEqual([one.status, one.body.width, one.body.height, one.body.aspectRatio, one.headers['x-credit-cost']],
      [200, 300, 200, '3:2', '0'], JSON.stringify(one.body));
    const urls = ['/photo.png', '/logo.png', '/photo.png', '/missing.png'].map((path) => images.base + path);
    const several = await rest.post('/v1/content/add-image', { imageUrls: [...urls, 'mailto:a@example.com'] });
    assert.deepEqual([several.status, several.body], [202, { accepted: 3, skipped: 2 }]);
    const library = async () => (await rest.get('/v1/brand/images?kind=brand&limit=10')).body.data;
    await until('they are in the library', async () => (await library()).length === 3, 60_000);
    assert.deepEqual((await library()).map(({ width }) => width).sort(), [120, 300, 640], 'the squares are no generated picture any more');
    assert.equal(await used(), before);
    const both = await rest.post('/v1/content/add-image', { imageUrl: urls[0], imageUrls: urls });
    assert.deepEqual([both.status, both.body.error.param], [400, 'imageUrl']);
  });

  test('R-388, R-156: HTML is drawn without scripts and network; its images come through the guarded client', async () => {
    const before = await used();
    const { base, port } = images;
    const html = `<body style="margin:0;background:#fff"><script>document.body.style.background = '#f00'</script>
      <img src="${base}/squares.png" style="display:block"><img src="http://0.0.0.0:${port}/secret.png" width=9 height=9>
      <iframe src="${base}/frame.html" style="display:none"></iframe><link rel="stylesheet" href="${base}/style.css">
      <div style="height:500px;width:20px;background:#00f"></div>`;
    const drawn = await rest.post('/v1/content/html-to-png', { html, width: 320 });
    assert.deepEqual([drawn.status, drawn.body.width, drawn.headers['x-credit-cost']], [200, 320, '1'], JSON.stringify(drawn.body));
    assert.match(drawn.body.notes.join(), /secret\.png is not shown: its server is not on the public internet/);
    assert.deepEqual([images.hits.get('/secret.png'), images.hits.get('/frame.html'), images.hits.get('/style.css')], [undefined, undefined, undefined]);
    const bytes = await bytesAt(drawn.body.url);
    assert.deepEqual(header(bytes).slice(0, 2), [320, drawn.body.height]);
    assert.ok(drawn.body.height >= 700 && drawn.body.height < 740, `${drawn.body.height}`);
    const pixels = execFileSync('vips', ['copy', 'stdin', '.ppm'], { input: bytes }).subarray(-320 * drawn.body.height * 3);
    const at = (x, y) => [...pixels.subarray(3 * (y * 320 + x)).subarray(0, 3)];
    assert.deepEqual([at(40, 5), at(310, 5), at(5, drawn.body.height - 20)], [[190, 20, 40], [255, 255, 255], [0, 0, 255]]);
    const cut = await rest.post('/v1/content/html-to-png', { html: '<p style="height:900px">x</p>', maxHeight: 300 });
    assert.deepEqual([cut.body.width, cut.body.height, cut.body.notes.length], [600, 300, 1]);
    assert.equal(await used(), before + 2);
  });

  /** Makes a GIF and judges it by gifsicle: frames, delays in seconds, whether it repeats, and the bytes of `gifsicle -O3`. */
  async function animate(args) {
    const answer = await rest.postToEnd('/v1/content/gif', args);
    assert.deepEqual([answer.status, answer.headers['x-credit-cost']], [200, '10'], JSON.stringify(answer.body));
    const bytes = await bytesAt(answer.body.gifUrl);
    const file = join(programs.folder, 'judged.gif');
    writeFileSync(file, bytes);
    const said = execFileSync('gifsicle', ['--info', file], { encoding: 'utf8' });
    assert.doesNotMatch(said, /local color table/, 'the frames share one palette');
    assert.equal(Number(/ (\d+) images?/.exec(said)[1]), answer.body.frames);
    assert.ok(bytes.length === answer.body.bytes && bytes.length <= 1_000_000, `${bytes.length}`);
    const delays = [...said.matchAll(/delay ([\d.]+)s/g)].map(([, seconds]) => Number(seconds));
    assert.equal(delays.length, answer.body.frames);
    const best = execFileSync('gifsicle', ['-O3', file], { maxBuffer: 1 << 24 }).length;
    return { ...answer.body, delays, repeats: /loop forever/.test(said), best };
  }

  test('R-389, R-157, D-91: animations of an image, a video, a text, a countdown and the library, with one palette and at most 1 MB', async (t) => {
    const before = await used();
    const zoom = await animate({ from: 'image', imageUrl: `${images.base}/squares.png`, prompt: 'zoom in slowly', width: 240 });
    assert.deepEqual([zoom.width, zoom.height, zoom.frames, zoom.colours, zoom.repeats, zoom.notes], [240, 160, 24, 256, true, undefined]);
    assert.deepEqual(new Set(zoom.delays), new Set([0.1]));
    const text = await animate({ from: 'prompt', prompt: 'Reveal the text "Spring <sale> starts today"', width: 300 });
    assert.deepEqual([text.width, text.height, text.frames], [300, 120, 5]);
    assert.deepEqual(text.delays, [0.35, 0.35, 0.35, 0.35, 2.5]);
    const countdown = await animate({ from: 'prompt', prompt: 'A countdown to 2099-12-24 18:00', width: 300 });
    assert.deepEqual([countdown.frames, countdown.repeats, countdown.delays[7]], [30, false, 1]);
    assert.match(countdown.notes.join(), /plays once/);
    const slides = await animate({ from: 'prompt', prompt: 'A slideshow of our pictures', width: 200 });
    assert.deepEqual([slides.width, slides.height, slides.frames], [200, 133, 2]);
    let state = 1;
    const noise = colourPng(320, 240, () => [0, 8, 16].map((bits) => ((state = (state * 1103515245 + 12345) % 2147483648) >> bits) & 255));
    images.files['/noise.png'] = ['image/png', noise];
    const lossy = await animate({ from: 'image', imageUrl: `${images.base}/noise.png`, prompt: 'pan left', width: 320 });
    assert.ok(lossy.frames === 12 && lossy.colours === 64 && lossy.notes.length >= 2, JSON.stringify(lossy));
    Object.assign(images.files, { '/red-blue.webm': ['video/webm', WEBM], '/red-blue.mp4': ['video/mp4', MP4] });
    for (const path of ['/red-blue.webm', '/red-blue.mp4']) {
      const video = await animate({ from: 'video', videoUrl: images.base + path, width: 120 });
      assert.deepEqual([video.width, video.height, video.repeats], [120, 68, true]);
      assert.ok(video.frames >= 8 && video.frames <= 12 && video.delays.every((delay) => delay >= 0.12 && delay <= 0.14), JSON.stringify(video));
    }
    for (const { bytes, best } of [zoom, text, countdown, slides, lossy]) {
      t.diagnostic(`${bytes} bytes, ${(bytes / best).toFixed(3)} of gifsicle -O3`);
      assert.ok(bytes <= best * 1.15, `${bytes} and ${best}`);
    }
    assert.equal(await used(), before + 70);
    const refused = [
      [{ from: 'video', videoUrl: `${images.base}/photo.png` }, 400, 'INVALID_REQUEST', 'videoUrl'],
      [{ from: 'video', videoUrl: `http://0.0.0.0:${images.port}/red-blue.mp4` }, 400, 'INVALID_REQUEST', 'videoUrl'],
      [{ from: 'prompt', prompt: 'A dancing cat' }, 503, 'SERVICE_UNAVAILABLE', 'prompt'],
      [{ from: 'image', imageUrl: `${images.base}/photo.png`, prompt: 'make it rain' }, 503, 'SERVICE_UNAVAILABLE', 'prompt'],
      [{ from: 'prompt', prompt: 'A countdown to 2001-01-01' }, 400, 'INVALID_REQUEST', 'prompt'],
      [{ from: 'image', imageUrl: `${images.base}/cut.png` }, 400, 'INVALID_REQUEST', 'imageUrl'],
    ];
    for (const [args, status, code, param] of refused) {
      const { status: given, body } = await rest.post('/v1/content/gif', args);
      assert.deepEqual([given, body.error?.code, body.error?.param], [status, code, param], JSON.stringify(body));
    }
    assert.equal(await used(), before + 70);
  });

  test('bad input gets an error that names the argument, and nothing is charged', async () => {
    const { base, port } = images;
    const before = await used();
    const refused = [
      [{ imageUrl: `${base}/cut.png` }, 'imageUrl', /damaged|incomplete/],
      [{ imageUrl: `${base}/huge.png` }, 'imageUrl', /40 million pixels/],
      [{ imageUrl: `${base}/many-pixels.gif` }, 'imageUrl', /100 million pixels/],
      [{ imageUrl: `${base}/script.svg` }, 'imageUrl', /SVG/],
      [{ imageUrl: `${base}/page-as.png` }, 'imageUrl', /web page/],
      [{ imageUrl: `${base}/declared-huge` }, 'imageUrl', /too large/],
      [{ imageUrl: `${base}/round` }, 'imageUrl', /redirects too often/],
      [{ imageUrl: `${base}/missing.png` }, 'imageUrl', /404/],
      [{ imageUrl: `http://0.0.0.0:${port}/photo.png` }, 'imageUrl', /public internet/],
      [{ imageUrl: 'http://192.168.0.1/a.png' }, 'imageUrl', /public internet/],
      [{ imageUrl: 'ftp://a.example/a.png' }, 'imageUrl', /http/],
      [{ imageUrl: `${PUBLIC_URL}/assets/${'0'.repeat(52)}.png` }, 'imageUrl', /any more/],
      [{ imageUrl: `${base}/photo.png`, width: 0 }, 'width', /./],
      [{ imageUrl: `${base}/photo.png`, width: undefined }, 'width', /./],
      [{ imageUrl: `${base}/thin.png`, width: 4096 }, 'width', /too large/],
    ];
    images.files['/thin.png'] = ['image/png', colourPng(1, 30, () => [9, 9, 9])];
    for (const [args, param, message] of refused) {
      const { error } = await transform({ operation: 'resize', width: 50, ...args }, 400);
      assert.deepEqual([error.code, error.param], ['INVALID_REQUEST', param], JSON.stringify(error));
      assert.match(error.message, message);
    }
    images.files['/frames.gif'] = ['image/gif', gif(3, 30, 20)];
    const cropped = await transform({ operation: 'resize', imageUrl: `${base}/frames.gif`, width: 10, height: 10 }, 400);
    assert.equal(cropped.error.param, 'height');
    assert.equal((await transform({ operation: 'blur', imageUrl: `${base}/photo.png` }, 400)).error.param, 'operation');
    assert.equal(await used(), before);
  });

  test('the colours of added images are taken in the background, also when the program is killed, and images are found by them', async () => {
    await coloured();
    images.files['/flag.png'] = ['image/png', colourPng(90, 60, (x) => (x < 60 ? [30, 95, 200] : [255, 215, 0]))];
    images.files['/moss.png'] = ['image/png', colourPng(90, 60, () => [46, 139, 87])];
    const found = async (q) => (await rest.get(`/v1/brand/images?q=${q}`)).body.data.filter(({ width }) => width === 90).map(({ colours }) => colours.length);
    programs.set('hold');
    const added = await rest.post('/v1/emails/import', { title: 'Flag', content: ['flag', 'moss'].map((name) => `<img src="${images.base}/${name}.png">`).join('') });
    assert.equal(added.status, 201, 'an import does not wait for colours');
    await until('the program runs', () => programs.has('held'), 60_000);
    assert.deepEqual(await found('gold'), []);
    programs.set('kill');
    programs.clear('hold');
    await coloured();
    programs.clear('held');
    assert.deepEqual([await found('yellow'), await found('blue'), await found('vert')], [[2], [2], [1]]);
    assert.deepEqual(await sql(installation, 'select count(*) from assets where not colours_known'), ['0']);
    await sql(installation, "update assets set colours_known = false, colours = '{}', words = '' where width = 90");
    await rest.post('/v1/content/add-image', { imageUrl: `${images.base}/photo.png` });
    await coloured();
    assert.deepEqual(await found('blue'), [2], 'images of before are caught up with');
  });

  test('a killed program is repeated once, then the call fails unbilled; a killed worker charges once', async () => {
    const before = await used();
    const args = { operation: 'resize', imageUrl: `${images.base}/photo.png`, width: 77 };
    await coloured();
    programs.set('kill');
    assert.equal((await transform(args)).width, 77);
    assert.equal(await used(), before + 2);
    await coloured();
    for (const [make, cost] of [
      [() => rest.post('/v1/content/add-image', { imageUrl: `${images.base}/squares.png` }), 0],
      [() => rest.post('/v1/content/gif', { from: 'image', imageUrl: `${images.base}/squares.png`, prompt: 'zoom in', width: 96 }), 10],
    ]) {
      const charged = await used();
      programs.set('kill');
      const made = await make();
      assert.ok(made.status < 300 && !programs.has('kill'), JSON.stringify(made.body));
      assert.equal(await used(), charged + cost, 'a repeated job is charged once');
      await coloured();
    }
    const afterKills = await used();
    programs.set('kill-all');
    const library = async () => (await rest.get('/v1/brand/images?limit=100')).body.data.map(({ url }) => url);
    const pictures = await library();
    images.files['/killed.png'] = ['image/png', colourPng(200, 150, (x, y) => [x, y, (x * y) % 97])];
    for (const [path, body] of [
      ['transform', { ...args, width: 78 }],
      ['gif', { from: 'image', imageUrl: `${images.base}/squares.png`, prompt: 'zoom out', width: 98 }],
      ['add-image', { imageUrl: `${images.base}/killed.png` }],
    ]) {
      const { status, body: { error } } = await rest.post(`/v1/content/${path}`, body);
      assert.deepEqual([status, error?.code], [503, 'SERVICE_UNAVAILABLE'], path);
    }
    programs.clear('kill-all');
    assert.deepEqual([await used(), await library()], [afterKills, pictures], 'nothing is charged, and no picture is added');

    programs.set('hold');
    const headers = { 'idempotency-key': 'resize-once' };
    const first = rest.post('/v1/content/transform', { ...args, width: 79 }, headers);
    await until('the program runs', () => programs.has('held'), 60_000);
    process.kill(installation.runnerPid, 'SIGKILL');
    programs.clear('hold');
    const answered = await first;
    assert.deepEqual([answered.status, answered.body.width], [200, 79], JSON.stringify(answered.body));
    const again = await rest.post('/v1/content/transform', { ...args, width: 79 }, headers);
    assert.deepEqual([again.status, again.body], [200, answered.body]);
    assert.equal(await used(), afterKills + 2);
  });
});
