// The templates of the gallery: the service imports each as a user would, and the result is checked with an HTML validator and
// with rules for email. gallery_accessibility.test.mjs checks it in a browser.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BARE, FOLDER, FULL, GalleryDesigns, gallery, installChecks, sourceOf } from './gallery_fixture.mjs';

const MAX_HTML_BYTES = 60_000;
const MAX_PICTURE_BYTES = 40_000;
const CATEGORIES = ['welcome', 'newsletter', 'promotional', 'product-launch', 'product-update', 'cart-abandonment',
  'event-invitation', 'event-reminder', 'feedback-request', 're-engagement', 'referral', 'business', 'internal', 'general'];

// What html-validate recommends for web pages and what mail clients forbid; everything else of its set holds.
const RULES = {
  'no-conditional-comment': 'off', // Outlook for Windows lays out by them
  'no-inline-style': 'off', // clients remove or ignore <style>
  'no-deprecated-attr': 'off', // Outlook reads align, bgcolor and width, and few know their CSS
  'presentation-role-style': 'off', // role="none" came with ARIA 1.1: older screen readers beside mail clients know only this one
  'prefer-native-element': 'off', // clients rename <article> and its like to <div>, and keep the role
  'no-trailing-whitespace': 'off', // nobody reads the source, and quoted-printable encodes it
};

const EXPRESSION = /\{\{([^]*?)\}\}/g;
const ADDRESS = /<a\b[^>]* href="([^"]*)"/g;

const all = (text, pattern) => [...text.matchAll(pattern)].map(([, found]) => found.trim());

test('there is a template for each category, and three sequences of at least three steps', () => {
  const { templates, flows } = gallery;
  assert.deepEqual([...new Set(templates.map(({ category }) => category))].sort(), CATEGORIES.toSorted());
  assert.ok(flows.length >= 3);
  for (const { slug, steps, brand } of flows) {
    assert.ok(steps.length >= 3 && steps.length <= 5, slug);
    for (const step of steps) {
      const template = templates.find(({ id }) => id === step.template);
      assert.equal(template.brand, brand.name, `${slug} shows one brand`);
      assert.equal(step.subject, template.subjectLine, `${slug}, step ${step.order}`);
    }
  }
});

test('the source of a template names nothing outside, has a value for every slot and a way out', () => {
  for (const template of gallery.templates) {
    const source = sourceOf(template);
    assert.match(source, /^<mjml lang="[a-z]{2}" dir="(?:ltr|rtl)">/, template.id);
    assert.match(source, /<meta name="color-scheme" content="light dark" \/>/, template.id);
    assert.match(source, /@media \(prefers-color-scheme: dark\)/, template.id);
    assert.doesNotMatch(source, /<mj-image|<img|url\(/, `${template.id} is complete with pictures off`);
    for (const slot of [...all(source, EXPRESSION), ...all(template.subjectLine, EXPRESSION)]) {
      assert.match(slot, /^unsubscribeUrl$|\| default: '[^']+'|\| default: \d+/, `${template.id}: {{ ${slot} }} can be empty`);
    }
    assert.match(source, /href="\{\{ unsubscribeUrl \}\}"/, template.id);
    assert.match(source, /\{\{ brand\.address \| default: /, template.id);
    for (const href of all(source, / href="([^"]*)"/g)) assert.match(href, /^(?:https:\/\/example\.com\/\S+|\{\{ unsubscribeUrl \}\})$/, template.id);
  }
});

describe('every template, through the service', { timeout: 600_000 }, () => {
  let designs;
  let browser;
  let checks;

  before(async () => {
    installChecks();
    checks = { ...(await import('../../gallery/browser.mjs')), ...(await import('../../gallery/validator.mjs')) };
    browser = await checks.openBrowser();
    designs = await GalleryDesigns.importAll();
  });

  after(async () => {
    await browser?.close();
    assert.deepEqual(await designs?.dispose(), []);
  });

  test('R-189: what the gallery serves is what an import of the source makes, and small enough for every inbox', async () => {
    for (const template of gallery.templates) {
      const { body: served } = await designs.client.tool('get_template', { emailId: template.id, include: ['html'] });
      const { body: imported } = await designs.client.tool('get_email', { emailId: designs.idOf(template), include: ['html'] });
      assert.equal(imported.status, 'ready', template.id);
      assert.equal(imported.html, served.html, template.id);
      assert.ok(Buffer.byteLength(served.html) < MAX_HTML_BYTES, template.id);
      assert.ok((served.previewText ?? imported.previewText)?.length >= 40, `${template.id} has a preview text`);
    }
  });

  test('every recipient gets a complete text, and the text part can be read alone', async () => {
    for (const template of gallery.templates) {
      for (const values of [FULL, BARE]) {
        const { html, text, subject } = await designs.personalized(template, values);
        for (const part of [html.replace(/<style[^]*?<\/style>/g, ''), text, subject]) assert.doesNotMatch(part, /\{\{|\{%|undefined|\bnull\b/, template.id);
        for (const href of all(html, ADDRESS)) assert.match(href, /^https:\/\//, `${template.id}: ${href}`);
        assert.ok(text.length > 400 && text.length < 4000, `${template.id} says it in ${text.length} characters`);
        assert.doesNotMatch(text, /<\/|&nbsp;|&amp;|@media|\n{3}/, template.id);
        assert.ok(text.includes('https://example.com/'), template.id);
      }
    }
  });

  test('an HTML validator has nothing to say', async () => {
    for (const template of gallery.templates) {
      const { html } = await designs.personalized(template, FULL);
      assert.deepEqual(await checks.validateHtml(html, RULES), [], template.id);
    }
  });

  test('every picture is small, and 600 by 800', async () => {
    for (const { id, preview } of gallery.templates) {
      const bytes = readFileSync(join(FOLDER, preview));
      assert.ok(bytes.length <= MAX_PICTURE_BYTES, id);
      assert.deepEqual(await checks.pictureSize(browser, bytes, 'image/webp'), { width: 600, height: 800 }, id);
    }
  });
});
