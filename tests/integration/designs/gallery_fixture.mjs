// The fixture of the gallery's tests: its templates, imported as designs of an installation.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Installation } from '../../lib/installation.mjs';

const ROOT = join(import.meta.dirname, '../../..');
export const FOLDER = join(ROOT, 'src/gallery');

export const gallery = JSON.parse(readFileSync(join(FOLDER, 'gallery.json'), 'utf8'));
export const sourceOf = ({ source }) => readFileSync(join(FOLDER, source), 'utf8');

/** Who has everything, who has nothing: no brand of the tests has an address. */
export const FULL = { sample: { firstName: 'Zoë <b>', company: 'Ropes & Sons', referralCode: 'ZOE-5', newLeaves: 3 },
  payload: { items: [{ name: 'House mug', quantity: 2, price: '£24.00' }], total: '£24.00' } };
export const BARE = { sample: {} };

/** Installs the validator, the browser's driver and axe-core below tests/gallery; does nothing when they are there. */
export function installChecks() {
  execFileSync('bash', ['-c', '. tests/node22.sh && npm_tree tests/gallery tests/gallery'], { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
}

export class GalleryDesigns {
  #installation = new Installation();
  #ids = new Map();

  static async importAll() {
    const designs = new GalleryDesigns();
    try {
      await designs.#fill();
    } catch (problem) {
      await designs.dispose();
      throw problem;
    }
    return designs;
  }

  async #fill() {
    this.client = this.#installation.stdio('--response-budget', '1000000'); // whole designs are compared
    await this.client.initialize();
    for (const template of gallery.templates) await this.#import(template);
  }

  async #import(template) {
    const { ok, body } = await this.client.toolToEnd('import_email', { format: 'mjml', content: sourceOf(template), subjectLine: template.subjectLine });
    assert.ok(ok, `${template.id}: ${JSON.stringify(body)}`);
    assert.deepEqual(body.assetReport.warnings, [], template.id);
    this.#ids.set(template.id, body.emailId);
  }

  idOf(template) {
    return this.#ids.get(template.id);
  }

  /** The design as a recipient with these values gets it. */
  async personalized(template, values) {
    const { ok, body } = await this.client.tool('get_email', { emailId: this.idOf(template), include: ['html'], ...values });
    assert.ok(ok, `${template.id}: ${JSON.stringify(body)}`);
    return body;
  }

  dispose() {
    return this.#installation.dispose();
  }
}
