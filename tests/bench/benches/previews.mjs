// Client previews in the renderer: twelve clients beside twelve pictures of the same mail as it is, in the same browser at the same widths
// and densities; and the first preview beside the first picture, each with the start of the browser. Both sides are timed in turns.

import { readFileSync } from 'node:fs';

import { prepareHtml } from '../../../src/render/sidecar/html/prepare.mjs';
import { renderMjml } from '../../../src/render/sidecar/mjml/mjml.mjs';
import { Painter } from '../../../src/render/sidecar/pictures/painter.mjs';
import { Preparer } from '../../../src/render/sidecar/preparer.mjs';
import { ROUNDS, median, sized } from '../programs.mjs';

const read = (path) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
const COUNT = sized(12, 2);
const AT_MOST = { all: 1.3, first: 2 };

async function timed(work) {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

const sizeOf = ({ width, density, zoomsOut, inversion }) => ({
  width, density, zoomsOut: zoomsOut === true, isDark: inversion === 'preferred', maxHeight: 16_000, files: {},
});

async function preview(preparer, painter, html, client) {
  const mail = await preparer.prepare({ op: 'dressMail', content: JSON.stringify({ html, text: null, client, types: {} }) });
  await painter.drawPage({ content: mail.html, ...sizeOf(client) });
}

const bare = (painter, html, client) => painter.drawPage({ content: html, ...sizeOf(client) });

/** The time of one picture with a browser of its own. */
async function first(draw) {
  const painter = new Painter();
  const ms = await timed(() => draw(painter));
  painter.close();
  return ms;
}

export async function run(report) {
  const { html: drawn } = await renderMjml(read('src/gallery/launch_halden.mjml'));
  const { html } = prepareHtml({ content: drawn, baseUrl: null });
  const clients = JSON.parse(read('schemas/clients.json')).filter(({ caniemail }) => caniemail).slice(0, COUNT);
  const preparer = new Preparer();
  const painter = new Painter();
  try {
    const [ours, theirs, firstOurs, firstTheirs] = [[], [], [], []];
    for (let round = 0; round < ROUNDS; round++) {
      firstOurs.push(await first((own) => preview(preparer, own, html, clients[0])));
      firstTheirs.push(await first((own) => bare(own, html, clients[0])));
    }
    for (let round = 0; round < ROUNDS; round++) {
      ours.push(await timed(async () => { for (const client of clients) await preview(preparer, painter, html, client); }));
      theirs.push(await timed(async () => { for (const client of clients) await bare(painter, html, client); }));
    }
    report.compare(`${COUNT} previews, ${COUNT} bare pictures`, median(ours), median(theirs), 'ms', { atMost: AT_MOST.all });
    report.compare('the first preview, one bare picture', median(firstOurs), median(firstTheirs), 'ms', { atMost: AT_MOST.first });
  } finally {
    painter.close();
    await preparer.close();
  }
}
