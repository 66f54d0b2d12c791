// Showing HTML in a page of a browser that is slow, or ends.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { showHtml } from '../../../src/render/sidecar/browser/shown_html.mjs';

/** A page that is asked for its state as often as there are `states`, and is loaded then. */
function slowPage(states) {
  return {
    async send(method) {
      if (method !== 'Page.getNavigationHistory') return {};
      const state = states.shift();
      if (states.length === 0) {
        this.onRequest({ requestId: '1', request: { url: 'http://page.invalid/' }, resourceType: 'Document' });
        this.onLoad();
      }
      if (state) throw new Error(state);
      return {};
    },
  };
}

const show = (states) => showHtml(slowPage(states), { content: '<p>Words</p>', files: {} });

test('a page is awaited while the browser has none for a moment', async () => {
  assert.equal((await show([null, 'Not attached to an active page', null, null])).size, 0);
});

test('another error of the browser is one of the caller', async () => {
  await assert.rejects(show([null, 'Target crashed', null]), /Target crashed/);
});
