// Designs of briefs. A brief becomes a ready design in two steps: the composer makes a document (tests/drivers/design_driver.c, release
// build), and the renderer, which keeps running, draws it and prepares the HTML. The peer is the command line of mjml on the same MJML;
// it starts for each file and prepares nothing. Composing alone is compared with mjml in a process that keeps running.
// Both sides are timed in turns, on one core each.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';

import { Driver } from '../../lib/driver.mjs';
import { ROUNDS, interleaved, posthorn, sized } from '../programs.mjs';

const driverPath = path.join(path.dirname(posthorn.binary), 'design_driver');
const sidecar = path.join(import.meta.dirname, '../../../src/render/sidecar');
const COMPOSE_ROUNDS = sized(300, 20);
const MJML_ROUNDS = sized(12, 2);
const READY = { atMost: 0.35, aim: 0.2 };
const COMPOSE = { atMost: 0.1 };

const BRAND = { name: 'Kaffee Nord', address: 'Hafenstraße 12, 20359 Hamburg', website: 'https://kaffee-nord.example', locale: 'en',
  emailDesign: '- Accent: #0b6b4a\n- Heading font: Georgia, serif\n' };
const PROMPT = `Newsletter for May.

# What we learned in spring

The workshop is open again, the garden is ahead of schedule, and we have three stories for you.

## The long way to a short supply chain

We stopped buying from two wholesalers this year. Most of our flour now comes from a mill eleven kilometres away.

## Dates

- 9 May: open bakery
- 16 May: bread course

## In the shop

- Sidamo – 12,90 €
- Yirgacheffe – 14,50 € (was 16,50 €)
- Guji – 15,20 €

> Good bread needs time. Everything else is a detail.
> — Jonas Petersen, baker

[Read all stories](https://kaffee-nord.example/may)`;

const REQUEST = { prompt: PROMPT, brand: BRAND, now: 1795392000, choice: 1 };

/** The renderer as the service runs it: JSON lines in, JSON lines out. */
class Renderer {
  #driver = new Driver(process.execPath, [path.join(sidecar, 'main.mjs')]);
  #next = 1;

  async draw({ document, look }) {
    const { ok, result, error } = await this.#driver.ask({ id: this.#next++, op: 'drawDocument', document, look, brand: { locale: 'en', timeZone: 'Europe/Berlin' } });
    if (!ok) throw new Error(JSON.stringify(error));
    return result;
  }

  close() {
    this.#driver.close();
  }
}

const timed = async (work) => {
  const from = performance.now();
  await work();
  return { ms: performance.now() - from };
};

async function ready(driver, renderer) {
  return timed(async () => renderer.draw(await driver.ask(REQUEST)));
}

function commandLine(source, folder) {
  const output = path.join(folder, 'out.html');
  const { status, stderr } = spawnSync(process.execPath, [path.join(sidecar, 'node_modules/mjml/bin/mjml'), source, '-o', output]);
  if (status !== 0 || !existsSync(output)) throw new Error(`mjml: ${stderr}`);
}

async function inProcess(mjml2html, source) {
  const { ms } = await timed(async () => {
    for (let i = 0; i < MJML_ROUNDS; i++) await mjml2html(source, { validationLevel: 'soft' });
  });
  return { ms: ms / MJML_ROUNDS };
}

async function composing(driver) {
  const { nanoseconds } = await driver.ask({ ...REQUEST, rounds: COMPOSE_ROUNDS });
  return { ms: nanoseconds / 1e6 };
}

export async function run(report) {
  if (!existsSync(driverPath)) throw new Error(`${driverPath} is missing: build design_driver beside the release binary`);
  const { documentMjml } = await import(path.join(sidecar, 'document/draw.mjs'));
  const mjml = createRequire(path.join(sidecar, 'package.json'))('mjml');
  const folder = mkdtempSync(path.join(os.tmpdir(), 'posthorn-designs-'));
  const driver = new Driver(driverPath);
  const renderer = new Renderer();
  try {
    const composed = await driver.ask(REQUEST);
    if (composed.error) throw new Error(composed.error);
    const source = documentMjml(composed.document, composed.look, { locale: 'en', timeZone: 'Europe/Berlin' });
    const file = path.join(folder, 'design.mjml');
    writeFileSync(file, source);
    for (let i = 0; i < 5; i++) await ready(driver, renderer); // the renderer has loaded its code
    const whole = await interleaved(ROUNDS, { ours: () => ready(driver, renderer), peer: () => timed(() => commandLine(file, folder)) });
    report.compare(`brief to ready design of ${composed.document.blocks.length} blocks, mjml command line`, whole.ours.ms, whole.peer.ms, 'ms', READY);
    const alone = await interleaved(ROUNDS, { ours: () => composing(driver), peer: () => inProcess(mjml.default ?? mjml, source) });
    report.compare('composing alone, mjml in the process', alone.ours.ms, alone.peer.ms, 'ms', COMPOSE);
  } finally {
    renderer.close();
    driver.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
