// Brands are read from their websites: four websites of ours against their answer sheets, websites that cannot be read, and processes
// that are killed meanwhile (R-066, R-183 to R-186, D-154).

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { SqlSession, sql } from '../../lib/database.mjs';
import { noisePng, png } from '../../lib/images.mjs';
import { Installation } from '../../lib/installation.mjs';
import { browsersOf, kill, until } from '../../lib/processes.mjs';
import { SiteServer, answersOf } from '../../lib/site_server.mjs';

const LIMIT = { timeout: 600_000 };
const PUBLIC_URL = 'https://mail.example/posthorn';
const DOMAINS = { shop: 'fernhill.example', magazine: 'lamarge.example', app: 'tidemark.example', company: 'hoffmann-dachbau.example' };

/** The lines "- Label: value" of a design text. */
const tokensOf = (design) => Object.fromEntries([...design.matchAll(/^- ([^:\n]+): (.+)$/gm)].map(([, label, value]) => [label, value]));

describe('with a public address', LIMIT, () => {
  const sites = [];
  let installation;
  let server;
  let rest;

  const serveSite = async (...args) => {
    const site = await new SiteServer(...args).start();
    sites.push(site);
    return site;
  };
  const create = async (fields) => {
    const made = await rest.post('/v1/brands', fields);
    assert.equal(made.status, 201, JSON.stringify(made.body));
    assert.deepEqual([made.body.status, made.body.ready], ['extracting', false], 'the call does not wait');
    return made.body.brandId;
  };
  /** A killed runner takes the database along; until the next one is there, calls answer 503. */
  const read = async (brandId) => {
    let answer;
    await until('the database is there', async () => (answer = await rest.get(`/v1/brands/${brandId}`)).status !== 503, 120_000);
    return answer.body;
  };
  const ended = async (brandId) => {
    let brand;
    await until('the website is read', async () => (brand = await read(brandId)).status !== 'extracting', 120_000);
    return brand;
  };
  const inBrand = (brandId) => server.client(rest.key, { 'x-brand-id': brandId });

  before(async () => {
    installation = new Installation({ PUBLIC_URL, FETCH_ALLOW_LOOPBACK: 1 });
    server = await installation.serve();
    const key = await installation.key();
    rest = Object.assign(server.client(key), { key });
  });

  after(async () => {
    rest.close();
    for (const site of sites) await site.stop();
    assert.deepEqual(await installation.dispose(), []);
  });

  test('R-183, R-184, D-22: each website gives what its answer sheet says', async (t) => {
    const made = await Promise.all(Object.entries(DOMAINS).map(async ([name, domain]) => {
      const site = await serveSite(name);
      return { name, site, brandId: await create({ url: site.base, domain, ...answersOf(name).request }) };
    }));
    for (const { name, site, brandId } of made) {
      await t.test(name, async () => {
        const answers = answersOf(name);
        const brand = await ended(brandId);
        const found = Object.fromEntries(Object.keys(answers.brand).map((member) => [member, brand[member]]));
        assert.deepEqual(found, answers.brand, JSON.stringify(brand));
        assert.equal(brand.error ?? brand.phase ?? brand.progress, undefined);
        assert.deepEqual((brand.socialLinks ?? []).map(({ network }) => network), answers.social);
        const tokens = tokensOf(brand.emailDesign);
        assert.deepEqual(Object.fromEntries(Object.keys(answers.design).map((label) => [label, tokens[label]])), answers.design);
        assert.deepEqual(answers.read.filter((path) => !site.hits.has(path)), [], 'pages that are read');
        assert.deepEqual(answers.unread.filter((path) => site.hits.has(path)), [], 'pages that are not read');
        assert.match(site.lastHeaders['user-agent'], /^Posthorn\/\S+ \(website reader\)$/);
        assert.ok(!JSON.stringify(brand).includes('{{') && !JSON.stringify(brand).includes('Pwned'), 'the page is data');
        const mine = inBrand(brandId);
        const logos = (await mine.get('/v1/brand/images?kind=logo')).body.data;
        assert.deepEqual(logos.map(({ type, aspectRatio, url }) => ({ type, aspectRatio, url })), [{ ...answers.logo, url: brand.logoUrl }]);
        const pictures = (await mine.get('/v1/brand/images?kind=brand')).body.data;
        assert.ok(pictures.length >= answers.pictures.length, JSON.stringify(pictures));
        mine.close();
      });
    }
  });

  test('R-066, R-186, D-154: a website that cannot be read fails with its reason, and a change makes the brand usable', async (t) => {
    const pour = (response) => {
      response.writeHead(200, { 'content-type': 'text/html', 'content-length': 50_000_000 });
      const more = () => { while (response.write('<p>more</p>'.repeat(6000))); };
      response.on('drain', more);
      more();
    };
    const round = (response) => response.writeHead(302, { location: '/' }).end();
    const elsewhere = (response) => response.writeHead(302, { location: 'http://10.0.0.1/' }).end();
    const broken = (response) => response.writeHead(503).end();
    const bad = [
      ['a page of 50 MB', { '/': pour }, /it is too large/],
      ['a redirect loop', { '/': round }, /it redirects too often/],
      ['a private address', { '/': elsewhere }, /not on the public internet/],
      ['rules that allow nothing', { '/robots.txt': 'User-agent: *\nDisallow: /\n', '/': '<p>Hello</p>' }, /robots\.txt/],
      ['rules that cannot be read', { '/robots.txt': broken, '/': '<p>Hello</p>' }, /robots\.txt/],
      ['a page that is no HTML', { '/': (response) => response.writeHead(200, { 'content-type': 'image/png' }).end('x') }, /not HTML/],
    ];
    const made = await Promise.all(bad.map(async ([name, pages, reason]) => {
      const site = await serveSite(null, pages);
      return { name, reason, brandId: await create({ url: site.base, name: 'Given', domain: 'bad.example' }) };
    }));
    for (const { name, reason, brandId } of made) {
      await t.test(name, async () => {
        const brand = await ended(brandId);
        assert.deepEqual([brand.status, brand.ready, brand.name], ['failed', false, 'Given']);
        assert.match(brand.error, reason);
      });
    }
    const mine = inBrand(made[0].brandId);
    const refused = await mine.post('/v1/emails', { prompt: 'Say hello.' });
    assert.deepEqual([refused.status, refused.body.error?.code ?? refused.body.code], [422, 'BRAND_NOT_READY']);
    const changed = await mine.request('PATCH', '/v1/brand', { emailDesign: '- Accent: #0a7f5a' });
    assert.deepEqual([changed.status, changed.body.status, changed.body.ready, changed.body.error], [200, 'completed', true, undefined], JSON.stringify(changed.body));
    assert.equal((await mine.post('/v1/contacts', { email: 'ann@example.com' })).status, 201, 'at once');
    mine.close();
  });

  test('a website with many large pictures is read, and all of them are hosted', async () => {
    const names = Array.from({ length: 16 }, (_, i) => `/rope-${i}.png`);
    const pages = Object.fromEntries(names.map((name, i) => [name, (response) =>
      response.writeHead(200, { 'content-type': 'image/png' }).end(noisePng(800, 780 + i))]));
    const pictures = names.map((name, i) => `<img src="${name}" alt="Rope ${i}">`).join('');
    const site = await serveSite(null, { '/robots.txt': '', '/': `<title>Ropes</title><h1>Ropes</h1><p>We make ropes.</p>${pictures}`, ...pages });
    const brandId = await create({ url: site.base, domain: 'many-ropes.example' });
    const brand = await ended(brandId);
    assert.deepEqual([brand.status, brand.error], ['completed', undefined], JSON.stringify(brand));
    const mine = inBrand(brandId);
    const { data } = (await mine.get('/v1/brand/images?kind=brand')).body;
    mine.close();
    assert.equal(data.length, names.length);
  });

  test('a killed server or renderer repeats the extraction, which ends once', async () => {
    const site = await serveSite(null, {
      '/robots.txt': '', '/': '<title>Held</title><p>Start</p><a href="/about">About</a>', '/about': (response, own) => own.hold(response),
    });
    const brandId = await create({ url: site.base, domain: 'held.example' });
    await until('the second page is asked for', () => site.held === 1, 60_000);
    const waiting = await read(brandId);
    assert.deepEqual([waiting.status, waiting.phase, waiting.progress], ['extracting', 'reading', 25]);
    const mine = inBrand(brandId);
    assert.equal((await mine.request('PATCH', '/v1/brand', { imageStyle: 'Ink.' })).status, 422, 'a change has to wait');
    mine.close();
    for (const { pid } of installation.renderers()) await kill(pid);
    for (const pid of [installation.runnerPid].filter(Boolean)) await kill(pid);
    site.release('<title>About</title><p>More words.</p>');
    await until('the page is asked for again, or not needed', async () => site.held > 0 || (await read(brandId)).status !== 'extracting', 120_000);
    site.release('<title>About</title><p>More words.</p>');
    const brand = await ended(brandId);
    assert.deepEqual([brand.status, brand.name, brand.error], ['completed', 'Held', undefined], JSON.stringify(brand));
  });

  test('a runner that is killed while an extraction is saved leaves one brand with one set of pictures', async () => {
    const site = await serveSite(null, {
      '/robots.txt': '', '/': '<title>Ropes</title><h1>Ropes</h1><p>We make ropes.</p><img src="/photo.png" alt="A rope">',
    });
    const locked = await SqlSession.open(installation);
    await locked.rows('begin');
    await locked.rows('lock table posthorn.assets in exclusive mode');
    const brandId = await create({ url: site.base, domain: 'ropes.example' });
    const waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query ~* 'assets' and pid <> pg_backend_pid()";
    await until('the extraction waits for the lock', async () => Number((await sql(installation, waiting))[0]) > 0, 120_000);
    assert.equal((await read(brandId)).phase, 'saving');
    await kill(installation.runnerPid);
    await locked.close();
    const brand = await ended(brandId);
    assert.deepEqual([brand.status, brand.name, brand.error], ['completed', 'Ropes', undefined], JSON.stringify(brand));
    const mine = inBrand(brandId);
    const { data } = (await mine.get('/v1/brand/images?kind=brand')).body;
    mine.close();
    assert.deepEqual(data.map(({ alt }) => alt), ['A rope']);
    const left = `select (select count(*) from jobs where kind = 'extract_brand' and state in ('queued', 'running')),
      (select count(*) from audit_log where operation = 'brands.create' and '${brandId}' = any(subjects))`;
    assert.deepEqual(await sql(installation, left), ['0|1']);
  });

  const ROPES = '<title>Ropes</title><h1>Ropes</h1><p>We make ropes.</p><img src="/photo.png" alt="A rope"><a href="/about">About us</a>';
  const ABOUT = '<title>About us</title><link rel="stylesheet" href="/about.css"><h1>About us</h1><p>Ropes since 1904.</p>';
  /** phase → the file whose request is held until the process has been killed, and its answer. */
  const HELD_FILES = {
    colours: ['/about.css', { 'content-type': 'text/css' }, 'h1 { color: #0a7f5a }'],
    pictures: ['/photo.png', { 'content-type': 'image/png' }, png(640, 480, 90)],
  };
  const VICTIMS = {
    runner: () => [installation.runnerPid],
    renderer: () => installation.renderers().map(({ pid }) => pid),
    browser: () => browsersOf(installation),
  };

  for (const [phase, [path, headers, bytes]] of Object.entries(HELD_FILES)) {
    for (const [victim, pidsOf] of Object.entries(VICTIMS)) {
      test(`a ${victim} that is killed in the phase ${phase} leaves one brand with one set of pictures`, async () => {
        const held = [];
        let isHeld = true;
        let brandId;
        const answer = (response) => response.writeHead(200, headers).end(bytes);
        const site = await serveSite(null, {
          '/robots.txt': '', '/': ROPES, '/about': ABOUT,
          [path]: async (response) => (isHeld && (await read(brandId)).phase === phase ? held.push(response) : answer(response)),
        });
        brandId = await create({ url: site.base, domain: `${victim}-${phase}.example` });
        await until('the file is asked for in its phase', () => held.length > 0, 120_000);
        const pids = pidsOf();
        assert.ok(pids.length > 0, 'it is there');
        for (const pid of pids) kill(pid);
        isHeld = false;
        for (const response of held.splice(0)) answer(response);
        const brand = await ended(brandId);
        assert.deepEqual([brand.status, brand.name, brand.error], ['completed', 'Ropes', undefined], JSON.stringify(brand));
        const mine = inBrand(brandId);
        const { data } = (await mine.get('/v1/brand/images?kind=brand')).body;
        mine.close();
        assert.deepEqual(data.map(({ alt }) => alt), ['A rope']);
        const left = `select (select count(*) from jobs where kind = 'extract_brand' and state in ('queued', 'running')),
          (select count(*) from audit_log where operation = 'brands.create' and '${brandId}' = any(subjects)), (select count(*) from credit_holds)`;
        assert.deepEqual(await sql(installation, left), ['0|1|0']);
      });
    }
  }
});
