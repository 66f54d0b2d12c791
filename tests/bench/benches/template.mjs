// Filling in a design for one recipient: a document of 20 KB with 15 merge fields, and one of the same size with a loop and
// conditions. Ours runs in C (the template driver of tests/third_party, release build). The peer is liquidjs with outputEscape. Both
// compile once and evaluate again and again on one core. Their outputs must be equal before anything is measured.

import { existsSync } from 'node:fs';
import path from 'node:path';

import { Driver } from '../../lib/driver.mjs';
import { DURATION_MS, ROUNDS, interleaved, posthorn } from '../programs.mjs';

const driverPath = path.join(path.dirname(posthorn.binary), 'template_driver');
const EXPECTED_BYTES = 20 * 1024;
const TARGET_US = 15;
const WARMUP_RUNS = 2000;

const VALUES = {
  firstName: 'Ada', lastName: 'O\'Neill & daughters', city: 'Z\u00fcrich', plan: 'Pro', vip: true, email: 'ada+news@example.com', count: 3,
  unsubscribeUrl: 'https://mail.example.com/u/0123456789abcdef0123456789abcdef',
  items: Array.from({ length: 8 }, (_, i) => ({ name: `Tea no. ${i + 1} <fresh>`, price: 3.5 + i })),
};

const FIELDS = ["{{ firstName | default: 'there' }}", '{{ lastName }}', '{{ city | upcase }}', '{{ plan }}', '{{ firstName | capitalize }}',
  "{{ missing | default: 'you' }}", '{{ count }}', '{{ email }}', '{{ plan | downcase }}', '{{ city }}', "{{ lastName | default: 'x' }}",
  '{{ firstName }}', '{{ plan }}', '{{ missing }}', '{{ unsubscribeUrl }}'];

const FILLER = '<tr><td style="padding:24px;border-bottom:1px solid #e4e7eb;font:16px/1.5 Georgia,serif;color:#334">The tide tables for '
  + 'the coming days, the ferries that run late, and the market hours of the harbour.</td></tr>';

function design(pieces) {
  const rows = pieces.map((piece) => `<tr><td>${piece}</td></tr>`);
  let length = rows.join('').length;
  for (let i = 0; length < EXPECTED_BYTES; i++, length += FILLER.length) rows.splice((i * 2 + 1) % (rows.length + 1), 0, FILLER);
  return `<!DOCTYPE html><html lang="en"><body><table>${rows.join('')}</table></body></html>`;
}

const DESIGNS = {
  '20 KB, 15 merge fields': design(FIELDS),
  '20 KB, a loop of 8 rows and conditions': design([...FIELDS.slice(0, 5), '{% if vip and count > 2 %}Thank you, {{ firstName }}{% else %}Hello{% endif %}',
    '<table>{% for item in items %}<tr><td>{{ forloop.index }}. {{ item.name }}</td><td>{{ item.price | times: 2 }}</td></tr>{% endfor %}</table>',
    '{% case plan %}{% when \'Free\' %}Upgrade{% when \'Pro\', \'Team\' %}You have {{ plan }}{% endcase %}']),
};

async function ours(driver, source) {
  const request = { kind: 'html', source, values: VALUES };
  const { nanoseconds: guess, error } = await driver.ask({ ...request, bench: 2000 });
  if (error) throw new Error(error);
  const { nanoseconds } = await driver.ask({ ...request, bench: Math.max(2000, Math.round((DURATION_MS * 1e6) / guess)) });
  return { us: nanoseconds / 1000 };
}

function peers(liquid, source) {
  const template = liquid.parse(source);
  for (let i = 0; i < WARMUP_RUNS; i++) liquid.renderSync(template, VALUES);
  const end = performance.now() + DURATION_MS;
  const from = performance.now();
  let count = 0;
  while (performance.now() < end) {
    for (let i = 0; i < 50; i++) liquid.renderSync(template, VALUES);
    count += 50;
  }
  return { us: ((performance.now() - from) * 1000) / count };
}

export async function run(report) {
  if (!existsSync(driverPath)) throw new Error(`${driverPath} is missing: build template_driver beside the release binary`);
  const load = (await import('../../lib/packages.mjs')).packagesOf('third_party');
  const { Liquid } = load('liquidjs');
  const liquid = new Liquid({ outputEscape: 'escape' });
  const driver = new Driver(driverPath);
  try {
    for (const [name, source] of Object.entries(DESIGNS)) {
      const { output, error } = await driver.ask({ kind: 'html', source, values: VALUES });
      if (output !== liquid.parseAndRenderSync(source, VALUES)) throw new Error(`${name}: the outputs differ ${error ?? ''}`);
      const { ours: own, peer } = await interleaved(ROUNDS, { ours: () => ours(driver, source), peer: () => peers(liquid, source) });
      report.limit(`${name}, a recipient`, own.us, 'µs', { atMost: TARGET_US }, peer.us);
      report.note(`  liquidjs takes ${(peer.us / own.us).toFixed(1)} times as long`);
    }
  } finally {
    driver.close();
  }
}
