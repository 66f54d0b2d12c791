// A ranked search of the gallery, and a search of a brand with 10,000 described images, as JSON over HTTP on one connection. The peer of
// the second is a handwritten full text search over the same rows, sent over libpq to the same server; it has neither rarity of words nor
// wrong spellings nor charges.
//
// BENCH_IMAGES   images of the brand (10,000)

import { spawnSync } from 'node:child_process';
import http from 'node:http';
import path from 'node:path';
import { performance } from 'node:perf_hooks';

import { DURATION_MS, DataFolder, ROUNDS, interleaved, percentile, sizedBy } from '../programs.mjs';

const IMAGES = sizedBy('BENCH_IMAGES', 10_000, 500);

export async function run(report) {
  const folder = new DataFolder();
  const server = await folder.serve();
  const database = (await folder.command('doctor')).database.url;
  const brand = fill(database);
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const call = (target) => latency(agent, server, target);

  const found = await interleaved(ROUNDS, {
    templates: () => call('/v1/templates?semantic=someone%20left%20without%20paying&limit=1'),
    images: () => call('/v1/brand/images?q=a%20red%20chair%20in%20the%20garden&limit=20'),
    typo: () => call('/v1/brand/images?q=a%20red%20chiar%20in%20the%20garden&limit=20'),
    sql: () => query(database, `select id from assets where brand_id = ${brand} and words @@ 'red | chair | garden'
      order by ts_rank(words, 'red | chair | garden') desc, id desc limit 20`),
  });
  report.note(`a ranked search of the gallery: p50 ${Math.round(found.templates.p50Us)} µs`);
  report.compare(`${IMAGES.toLocaleString('en-US')} images, handwritten SQL`, found.images.p50Us, found.sql.p50Us, 'µs', { atMost: 6 });
  report.compare('  with a wrong spelling', found.typo.p50Us, found.sql.p50Us, 'µs');
}

function psql(database, sql) {
  const { status, stdout, stderr } = spawnSync('psql', [database, '-qXAt', '-v', 'ON_ERROR_STOP=1', '-c', 'set search_path to posthorn',
    '-c', sql], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return stdout.trim();
}

/** Every image has nine words of a vocabulary of 400; one in 8 is red. */
function fill(database) {
  const brand = psql(database, 'select min(id) from brands');
  psql(database, `insert into assets (brand_id, hash, type, bytes, width, height, frames, words, created_at)
    select ${brand}, sha256(n::text::bytea), 'png', 9, 4, 3, 1, w.words, now()
      from generate_series(1, ${IMAGES}) n,
           lateral (select string_agg(w, ' ')::tsvector as words
                      from (select 'word' || (n * 7919 + i * 104729) % 400 || ':' || i || 'B' as w from generate_series(1, 6) i
                            union all select (array['red', 'blue', 'green', 'black', 'white', 'grey', 'pink', 'brown'])[1 + n % 8] || ':7A'
                            union all select (array['chair', 'table', 'lamp', 'sofa', 'desk'])[1 + n % 5] || ':8A'
                            union all select (array['garden', 'room', 'street'])[1 + n % 3] || ':9C') as v (w)) w`);
  psql(database, 'vacuum analyze assets');
  return brand;
}

async function latency(agent, { port, header }, target) {
  const [name, value] = header.split(/:\s*/, 2);
  const times = [];
  const end = performance.now() + DURATION_MS;
  while (performance.now() < end || times.length < 5) {
    const begin = performance.now();
    await get({ agent, port, path: target, headers: { [name]: value } });
    times.push((performance.now() - begin) * 1000);
  }
  return { p50Us: percentile(times, 0.5) };
}

function get(options) {
  return new Promise((resolve, reject) => {
    http.get({ host: '127.0.0.1', ...options }, (answer) => {
      answer.resume();
      answer.on('end', () => (answer.statusCode === 200 ? resolve() : reject(new Error(`the search was answered ${answer.statusCode}`))));
    }).on('error', reject);
  });
}

function query(database, statement) {
  const { status, stdout, stderr } = spawnSync(path.resolve(import.meta.dirname, '../../../build/bench/sql_time'),
    ['--database', database, '--duration-ms', String(DURATION_MS)], { input: statement, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}
