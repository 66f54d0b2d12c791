// Designs for the tests: the composer makes a document of each brief and brand (design_driver), and the renderer draws it. A design is
// then filled as a recipient gets it.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { Liquid } from 'liquidjs';

import { drawDocument } from '../../../src/render/sidecar/document/draw.mjs';
import { Driver } from '../../lib/driver.mjs';

const read = (name) => JSON.parse(readFileSync(join(import.meta.dirname, name), 'utf8'));

/** {id, lang, expect: the category, category: when the caller gives it, pages, prompt} */
export const briefs = read('briefs.json');
export const brands = read('brands.json');

export const CATEGORIES = ['welcome', 'newsletter', 'promotional', 'product-launch', 'product-update', 'cart-abandonment', 'event-invitation',
  'event-reminder', 'feedback-request', 're-engagement', 'referral', 'business', 'internal', 'general'];

const NOW_S = 1795392000; // 23 November 2026: relative dates begin there
const BUILD = join(import.meta.dirname, '../../../build');

const ITEMS = [{ name: 'Sidamo, whole beans, 1 kg', price: '£28.00' }, { name: 'Oat & Rye mug', price: '£24.00' }];
const valuesOf = (brand) => ({
  contact: { firstName: 'Maya' }, unsubscribeUrl: 'https://mail.example/u/1', payload: { items: ITEMS }, brand: { name: brand.name, address: brand.address },
});

const escaping = new Liquid({ outputEscape: 'escape' });
const plain = new Liquid();

/** A design as the recipient of the tests gets it. */
export const fill = (html, brand) => escaping.parseAndRenderSync(html, valuesOf(brand));

export class Designs {
  /** @param {string} build the folder of the build: debug or release */
  constructor(build = 'debug') {
    this.driver = new Driver(join(BUILD, build, 'design_driver'));
  }

  /** What the composer answers: {document, look, warnings, inventions}. */
  async compose(brief, brand, more = {}) {
    const { prompt, category, pages } = brief;
    const reply = await this.driver.ask({ prompt, category, pages, brand, now: NOW_S, ...more });
    if (reply.error !== undefined) throw new Error(`${brief.id}, ${brand.id}: ${reply.param}: ${reply.error}`);
    return reply;
  }

  /** A composed and drawn design: {name, brief, brand, document, look, warnings, inventions, html, text, subject, filled; long: filled, as mjml writes it}. */
  async make(brief, brand, more) {
    const composed = await this.compose(brief, brand, more);
    const locale = { locale: brand.locale, timeZone: brand.timeZone };
    const { html, text, report } = await drawDocument(composed.document, composed.look, locale);
    const { html: long } = await drawDocument(composed.document, composed.look, locale, (written) => written);
    return { ...composed, name: `${brief.id}, ${brand.id}`, brief, brand, html, text, report, subject: plain.parseAndRenderSync(composed.document.subjectLine ?? '', valuesOf(brand)), filled: fill(html, brand), long: fill(long, brand) };
  }

  close() {
    this.driver.close();
  }
}
