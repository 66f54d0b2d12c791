// Checks of a shown mail: the mail is shown in a page of the shared browser, light and dark, at the widths of a desktop and of a phone. In
// each view axe-core and our own measures look at it, in a JavaScript world of their own, while scripts of the mail are off. The report has
// every check of schemas/checks/browser.json once; the same mail gives the same bytes.

import { readFileSync } from 'node:fs';

import { BrowserGone } from '../../browser/browser.mjs';
import { BrowserMissing, BrowserNotStarted, SharedBrowser } from '../../browser/shared_browser.mjs';
import { showHtml } from '../../browser/shown_html.mjs';
import { invalidRequest, unavailable } from '../../errors.mjs';
import { LIMITS } from '../../limits.mjs';
import { log } from '../../log.mjs';
import { AXE_SCRIPT, AXE_VERSION, RULES, checkOfRule } from './axe_rules.mjs';
import { checksInPage } from './in_page.mjs';
import { shownMeasures } from './measures.mjs';
import { reportOf } from './report.mjs';

const VIEW_HEIGHT = 800;

/** The views, in the order in which they are looked at; `bit` marks a view in a finding. */
export const VIEWS = [
  { bit: 1, scheme: 'light', width: 600, isPhone: false },
  { bit: 2, scheme: 'dark', width: 600, isPhone: false },
  { bit: 4, scheme: 'light', width: 375, isPhone: true },
  { bit: 8, scheme: 'dark', width: 375, isPhone: true },
];

const SOURCE_CHARS = 200;
const FINDINGS_MAX = 50;

/** Where scripts are off, timers never fire; axe-core uses them only to go on later. */
const TIMERS = 'globalThis.setTimeout = (then, ms, ...values) => { queueMicrotask(() => then(...values)); return 0; };';

const rules = RULES.map((rule) => ({ rule, check: checkOfRule(rule) }));
const bounds = { rules, findingsMax: FINDINGS_MAX, sourceChars: SOURCE_CHARS, textsMax: LIMITS.checkTexts, textCharsMax: LIMITS.checkTextChars };
/** The module that inverts colours, as an expression: the same arithmetic runs inside of the page. */
const INVERT = `(() => { ${readFileSync(new URL('../inversion.mjs', import.meta.url), 'utf8').replaceAll(/^export /gm, '')}\nreturn invertColour; })()`;
const CHECKS = `globalThis.posthornChecks = (${checksInPage})({ measure: (${shownMeasures})(), invertColour: ${INVERT}, ...${JSON.stringify(bounds)} }); 0`;

export class ShownChecker {
  #browsers;

  /**
   * @param {SharedBrowser} [browsers]
   * @param {{checkMs?: number}} [options] for tests
   */
  constructor(browsers = new SharedBrowser(), { checkMs = LIMITS.checkMs } = {}) {
    this.#browsers = browsers;
    this.options = { checkMs };
  }

  /**
   * Resolves with the report of the engine "browser" (docs/modules/browser-checks.md). Rejects with a RequestError.
   * @param {{content: string, files: Object<string, {type: string, data: string}>}} request
   */
  check(request) {
    return this.#browsers.take(() => this.#checkNow(request)).catch(refuse);
  }

  /** Ends the browser; the next mail starts it again. */
  close() {
    this.#browsers.end();
  }

  async #checkNow(request) {
    const page = await this.#browsers.openPage('images');
    const { browser } = page;
    const endWatch = browser.limitWork(this.options.checkMs);
    const latestMs = this.options.checkMs * LIMITS.checkWaitFactor;
    const late = setTimeout(() => browser.kill('deadline'), latestMs);
    try {
      return await checkPage(page, request, latestMs);
    } finally {
      clearTimeout(late);
      endWatch();
      page.close();
    }
  }
}

async function checkPage(page, { content, files }, latestMs) {
  const run = (expression) => runOwn(page, expression, latestMs);
  await page.send('Emulation.setScriptExecutionDisabled', { value: true });
  await page.send('Emulation.setScrollbarsHidden', { hidden: true });
  await setView(page, VIEWS[0]);
  await showHtml(page, { content, files });
  const elements = await run('document.getElementsByTagName("*").length');
  if (elements > LIMITS.checkElements) throw invalidRequest('html', `The HTML has ${elements} elements; at most ${LIMITS.checkElements} can be checked.`);
  await run(`${TIMERS}\n${AXE_SCRIPT}\n;${CHECKS}`);
  const isLarge = elements > LIMITS.checkElementsOfAllViews;
  for (const [at, view] of VIEWS.entries()) {
    await setView(page, view);
    await run(`posthornChecks.checkView(${JSON.stringify({ ...view, hasAxe: at === 0 || !isLarge })})`);
  }
  const found = await run('posthornChecks.report()');
  return reportOf({ found, checks: rules.map(({ check }) => check), views: VIEWS, version: AXE_VERSION, elements, isLarge });
}

/** An error of our own script is a bug. */
async function runOwn(page, expression, ms) {
  const { value, thrown } = await page.runApart(expression, ms);
  if (thrown !== undefined) throw new Error(`the checks of a shown mail failed: ${thrown}`);
  return value;
}

async function setView(page, { width, scheme }) {
  await page.send('Emulation.setDeviceMetricsOverride', { width, height: VIEW_HEIGHT, deviceScaleFactor: 1, mobile: false });
  await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
}

/** Throws the error for the caller. */
function refuse(error) {
  if (error instanceof BrowserMissing) throw unavailable('The checks of the shown mail need a browser: install the Debian package chromium-headless-shell.');
  const hasStopped = error instanceof BrowserNotStarted || (error instanceof BrowserGone && error.reason === 'ended');
  if (hasStopped) throw unavailable('The browser that checks mails stopped. Try again.');
  if (!(error instanceof BrowserGone)) throw error;
  log('warn', 'browser_gone', { reason: error.reason });
  const messages = {
    deadline: 'The HTML takes too long to check.',
    crashed: 'The HTML takes too much memory to check.',
    flood: 'The checks of the HTML find too much.',
  };
  throw invalidRequest('html', messages[error.reason]);
}
