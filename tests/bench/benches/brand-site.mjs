// A brand is read from a website of ours on loopback. The time is from the beginning of the extraction to its end: fetches, robots.txt, two
// pages in the browser, and the hosting of logo and pictures included. The peer is a bare load of each page that was read by Chromium, which
// is started once a page, as a script would do it, and prints the document.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { SiteServer, answersOf } from '../../lib/site_server.mjs';
import { DataFolder, ROUNDS, environment, interleaved } from '../programs.mjs';

const SITES = ['shop', 'company'];
const BOUND = { atMost: 3 };
const WAIT_MS = 120_000;
const execute = promisify(execFile);

export async function run(report) {
  const folder = new DataFolder({ POSTHORN_FETCH_ALLOW_LOOPBACK: '1' });
  await folder.command('call', 'get_capabilities', '{"topic":"account"}');
  const { database } = await folder.command('doctor');
  const psql = async (query) => {
    const { stdout } = await execute('psql', [database.url, '-qXAt', '-v', 'ON_ERROR_STOP=1', '-c', query],
      { env: { ...environment, PGOPTIONS: '-c search_path=posthorn' }, timeout: WAIT_MS });
    return stdout.trim();
  };
  for (const name of SITES) {
    const site = await new SiteServer(name).start();
    try {
      const pages = answersOf(name).read.filter((path) => !path.includes('.') && path !== '/products/fern');
      const { ours, bare } = await interleaved(ROUNDS, { ours: () => extract(folder, psql, site), bare: () => load(site, pages) });
      report.compare(`the website "${name}", a bare load of its ${pages.length} pages`, ours.ms, bare.ms, 'ms', BOUND);
    } finally {
      await site.stop();
    }
  }
}

async function extract(folder, psql, site) {
  await folder.command('call', 'create_brand', JSON.stringify({ url: site.base, domain: 'bench.example' }));
  const last = 'from brand_extractions order by brand_id desc limit 1';
  const until = performance.now() + WAIT_MS;
  while (await psql(`select ended_at is null ${last}`) === 't') {
    if (performance.now() > until) throw new Error('the extraction does not end');
    await new Promise((done) => { setTimeout(done, 50); });
  }
  const error = await psql(`select coalesce(error, '') ${last}`);
  if (error !== '') throw new Error(error);
  return { ms: Number(await psql(`select extract(epoch from ended_at - started_at) * 1000 ${last}`)) };
}

async function load(site, pages) {
  const begun = performance.now();
  for (const page of pages) {
    await execute('chromium-headless-shell', ['--no-sandbox', '--disable-gpu', '--dump-dom', site.base + page], { timeout: WAIT_MS, maxBuffer: 1 << 24 });
  }
  return { ms: performance.now() - begun };
}
