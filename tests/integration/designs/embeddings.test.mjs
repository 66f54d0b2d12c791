// With an embedding model of the operator, images are found by meaning. While the model is away, searches are by words and nothing
// else changes (R-176, R-187, R-188, D-24, D-152).

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { sql } from '../../lib/database.mjs';
import { EmbeddingServer } from '../../lib/embedding_server.mjs';
import { ImageServer } from '../../lib/image_server.mjs';
import { png } from '../../lib/images.mjs';
import { Installation } from '../../lib/installation.mjs';
import { until } from '../../lib/processes.mjs';

const MODEL = 'compatible/words-test';
const ALTS = ['A sailing boat', 'A yacht in the harbour', 'A loaf of bread', 'Rolls from the oven', 'A wooden chair'];

describe('an installation with an embedding model', { timeout: 300_000 }, () => {
  const model = new EmbeddingServer([['boat', 'yacht', 'ship', 'vessel'], ['bread', 'loaf', 'rolls', 'bakery'], ['chair', 'seat']]);
  const images = new ImageServer();
  const installation = new Installation({
    EMBEDDINGS_MODEL: 'words-test', PUBLIC_URL: 'https://mail.example', FETCH_ALLOW_LOOPBACK: 1,
  });
  let service;
  let rest;

  before(async () => {
    await images.start();
    await model.start();
    installation.environment.POSTHORN_EMBEDDINGS = `${model.url}/`;
    const keyFile = join(installation.folder, 'key');
    writeFileSync(keyFile, 'secret-key\n');
    assert.deepEqual(await installation.admin('model', 'set', model.url, '--secret-file', keyFile), { server: model.url, set: true });
    assert.deepEqual((await installation.admin('model', 'list')).data.map(({ server }) => server), [model.url]);
    await installation.stop(); // keys are read at the start
    service = await installation.serve();
    rest = service.client(await installation.key('--brand', await installation.brandId()));
  });
  after(async () => {
    const log = `${service.log.join('\n')}${installation.runnerLog}`;
    rest.close();
    await images.stop();
    await model.stop();
    assert.deepEqual(await installation.dispose(), []);
    assert.doesNotMatch(log, /secret-key|vessel|yacht/, 'the log has no texts, queries or keys');
  });

  const used = async () => (await rest.get('/v1/usage')).body.credits.used;
  const search = (query) => rest.get(`/v1/brand/images?${new URLSearchParams(query)}`);
  const alts = ({ status, body }) => {
    assert.equal(status, 200, JSON.stringify(body));
    return body.data.map(({ alt }) => alt);
  };
  const vectors = () => sql(installation, 'select count(*), count(distinct model), min(octet_length(vector)) from asset_vectors').then(([row]) => row);
  const openJobs = () => sql(installation, "select count(*) from jobs where kind = 'embed_images' and state in ('queued', 'running')").then(([row]) => row);
  const staleVectors = () => sql(installation, `select count(*) from assets a left join asset_vectors v using (brand_id, hash)
    where v.text_hash is distinct from sha256(convert_to(concat_ws(E'\\n', a.alt, a.description, a.heading, a.page_title), 'UTF8'))`).then(([row]) => row);
  const importAll = (named) => rest.post('/v1/emails/import', {
    title: 'Images', content: named.map((alt, place) => {
      const path = `/${alt.replaceAll(' ', '-')}.png`;
      images.files[path] = ['image/png', png(40, 30, 20 + alt.length * 3 + place)];
      return `<p><img src="${images.base}${path}" alt="${alt}"></p>`;
    }).join('') });

  test('a search while the images have no vectors is one by words; the images get theirs in batches', async () => {
    model.mode = 'away';
    assert.equal((await importAll(ALTS)).status, 201);
    assert.deepEqual(alts(await search({ q: 'vessel' })), []);
    assert.deepEqual(alts(await search({ q: 'yacht' })), [ALTS[1]]);
    model.mode = 'vectors';
    await sql(installation, "update jobs set run_after = now() where kind = 'embed_images' and state = 'queued'");
    await until('all images have vectors', async () => await vectors() === `${ALTS.length}|1|16`);
    await until('the job has ended', async () => await openJobs() === '0');
    const request = model.requests.at(-1);
    assert.equal(request.path, '/v1/embeddings');
    assert.equal(request.headers.authorization, 'Bearer secret-key');
    assert.deepEqual({ ...request.body, input: request.body.input.length }, { model: 'words-test', encoding_format: 'float', input: ALTS.length });
    assert.deepEqual(await sql(installation, 'select distinct model from asset_vectors'), [MODEL]);
  });

  test('images are found by meaning, the nearest first; the search is charged once and its model is recorded', async () => {
    const before = await used();
    assert.deepEqual(new Set(alts(await search({ q: 'vessel' }))), new Set(ALTS.slice(0, 2)));
    const price = await used() - before;
    assert.ok(price > 0);
    assert.deepEqual(await sql(installation, "select engine, tokens_in from audit_log where operation = 'brand.searchImages' and engine is not null"), [`${MODEL}|7`]);
    model.requests = [];
    assert.equal(alts(await search({ q: 'bakery with a loaf' }))[0], ALTS[2]);
    assert.equal(model.requests.length, 1);
    assert.deepEqual(alts(await search({ q: 'vessel', type: 'gif' })), []);
    assert.equal(model.requests.length, 1, 'the vector of a query is kept');
    assert.equal(await used(), before + 3 * price);
  });

  test('following pages are free, need no model, and are refused when the vector of the query is gone', async () => {
    const before = await used();
    const first = await search({ q: 'a ship', limit: 1 });
    assert.equal(first.body.pagination.hasMore, true);
    const price = await used() - before;
    model.mode = 'away';
    const second = await search({ q: 'a ship', limit: 1, cursor: first.body.pagination.cursor });
    assert.deepEqual(new Set([...alts(first), ...alts(second)]), new Set(ALTS.slice(0, 2)));
    assert.equal(await used(), before + price);
    const other = await search({ q: 'a yacht', limit: 1, cursor: first.body.pagination.cursor });
    assert.deepEqual([other.status, other.body.error.param], [400, 'cursor']);
    await sql(installation, 'delete from query_vectors');
    const gone = await search({ q: 'a ship', limit: 1, cursor: first.body.pagination.cursor });
    assert.deepEqual([gone.status, gone.body.error.code], [503, 'SERVICE_UNAVAILABLE']);
    assert.equal(await used(), before + price);
    model.mode = 'vectors';
  });

  test('a model that is away or answers nonsense leaves the search by words', async () => {
    const nonsense = [
      'away', 'refuses', () => [], () => ({ data: [] }), ({ data }) => ({ data: [{ ...data[0], index: 4 }] }),
      ({ data }) => ({ data: [{ ...data[0], embedding: [0, 0, 0, 0] }] }), ({ data }) => ({ data: [{ ...data[0], embedding: ['1', '2', '3', '4'] }] }),
      ({ data }) => ({ data: [{ ...data[0], embedding: Array(5000).fill(1) }] }), ({ data }) => ({ data: [{ ...data[0], embedding: [1] }] }),
    ];
    for (const [place, mode] of nonsense.entries()) {
      model.mode = mode;
      assert.deepEqual(alts(await search({ q: `chair or vessel ${place}` })), [ALTS[4]], String(mode));
    }
    assert.deepEqual(await sql(installation, `select count(*) from query_vectors where hash in
      (select sha256(convert_to('chair or vessel ' || n, 'UTF8')) from generate_series(0, ${nonsense.length}) n)`), ['0'], 'nonsense is not kept');
    model.mode = 'vectors';
    assert.equal(alts(await search({ q: 'chair or vessel 1' })).length, 3, 'the next search asks again');
  });

  test('vectors of very large and very small numbers count by their direction', async () => {
    for (const [place, scale] of [1e39, 1e300, 1e-40, 1e-300].entries()) {
      model.mode = ({ data }) => ({ data: data.map((entry) => ({ ...entry, embedding: entry.embedding.map((number) => number * scale) })) });
      assert.deepEqual(new Set(alts(await search({ q: `vessel ${'very '.repeat(place)}far` }))), new Set(ALTS.slice(0, 2)), String(scale));
    }
    model.mode = 'vectors';
  });

  test('an image whose texts change gets another vector, and only that image', async () => {
    model.requests = [];
    assert.equal((await rest.post('/v1/emails/import', {
      title: 'Again', content: `<h2>Our bakery</h2><p><img src="${images.base}/A-wooden-chair.png" alt=""></p><p>It stands in the bakery.</p>`,
    })).status, 201);
    // The new words alone find it, so its vector is what the test waits for.
    await until('the vector of the new texts is stored', async () => await staleVectors() === '0');
    await until('the job has ended', async () => await openJobs() === '0');
    assert.ok(alts(await search({ q: 'bakery' })).includes(ALTS[4]));
    const texts = model.texts.filter((text) => text !== 'bakery');
    assert.equal(texts.length, 1, JSON.stringify(texts));
    assert.match(texts[0], /^A wooden chair\n/);
  });

  test('an image that is saved while the model is asked for the others gets its vector from the same job', async () => {
    let release;
    const isReleased = new Promise((resolve) => { release = resolve; });
    model.requests = [];
    model.mode = async (answer) => { await isReleased; return answer; };
    assert.equal((await importAll(['A round loaf'])).status, 201);
    await until('the model is asked', async () => model.requests.length === 1);
    assert.equal((await importAll(['A small ship of oak'])).status, 201);
    assert.equal(await openJobs(), '1');
    model.mode = 'vectors';
    release();
    await until('both have vectors', async () => await staleVectors() === '0');
    assert.deepEqual(model.texts.map((text) => text.split('\n')[0]), ['A round loaf', 'A small ship of oak']);
  });
});
