// What the tests of JSX share: a folder for the browsers of one file of tests, and renderers that no busy machine makes late.

import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

import { SharedBrowser } from '../../../src/render/sidecar/browser/shared_browser.mjs';
import { JsxRenderer } from '../../../src/render/sidecar/jsx/jsx.mjs';

/** No test waits for so long: where a deadline is not under test, it must not come first. */
export const NEVER_MS = 600_000;
const LOOKS = 2400;

/** The options are those of SharedBrowser. */
export const rendererOf = (options) => new JsxRenderer(new SharedBrowser(options), { renderMs: NEVER_MS });
export const fails = (message) => ({ code: 'EMAIL_IMPORT_FAILED', param: 'source.content', message });
export const isAlive = (pid) => existsSync(`/proc/${pid}`);

export async function until(holds) {
  for (let tries = 0; tries < LOOKS && !holds(); tries++) await new Promise((done) => { setTimeout(done, 25); });
  assert.ok(holds());
}

/** The browsers' folders are made here, by their user, and must all be gone at the end. */
const folder = mkdtempSync(join(tmpdir(), 'jsx-test-'));
chmodSync(folder, 0o1777);
process.env.TMPDIR = folder;
after(async () => {
  await until(() => readdirSync(folder).length === 0);
  rmSync(folder, { recursive: true });
});
