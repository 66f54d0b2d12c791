// JSX renderer: renders React Email designs to HTML. This process compiles a design and runs it in a page of the shared
// browser, without images and network, with a deadline and a heap limit. The page for the next design is opened in advance,
// after each design.

import { BrowserGone } from '../browser/browser.mjs';
import { BrowserMissing, BrowserNotStarted, SharedBrowser } from '../browser/shared_browser.mjs';
import { compileDesign, placed, SCRIPT_NAME } from './compile.mjs';
import { stopCompiler } from './compiler.mjs';
import { importFailed, quote, unavailable } from '../errors.mjs';
import { LIMITS } from '../limits.mjs';
import { log } from '../log.mjs';
import { buildModules } from './modules.mjs';

export class JsxRenderer {
  #browsers;
  #modules = null;
  #names = null;
  /** The promise of a page, opened in advance, that has loaded the modules; or null. */
  #ready = null;

  /**
   * @param {SharedBrowser} [browsers]
   * @param {{renderMs?: number}} [options] for tests
   */
  constructor(browsers = new SharedBrowser(), { renderMs = LIMITS.jsxRenderMs } = {}) {
    this.#browsers = browsers;
    this.options = { renderMs };
    browsers.whenIdle(() => this.#forget());
  }

  /** The process id of the browser or null, for tests. */
  get browserPid() {
    return this.#browsers.pid;
  }

  /** Resolves with the HTML of the design; rejects with a RequestError. */
  render(source) {
    return this.#browsers.take(() => this.#renderNow(source)).catch((error) => { throw this.#explained(error); });
  }

  /** Ends the browser and the compiler; the next design starts them again. */
  close() {
    this.#browsers.end();
    this.#forget();
  }

  #forget() {
    this.#ready = null;
    stopCompiler();
  }

  async #renderNow(source) {
    const { renderMs } = this.options;
    // When the names of the modules are known, the design is compiled first, so that a compile error uses no page.
    const compiled = this.#names === null ? null : await compileDesign(source, this.#names);
    const page = await this.#takePage();
    try {
      const { script, lineOf } = compiled ?? await compileDesign(source, this.#names);
      const expression = `${script}\n;__designs.run(__design, ${LIMITS.contentChars})\n//# sourceURL=${SCRIPT_NAME}`;
      return htmlOf(await page.runWithin(expression, renderMs, renderMs * LIMITS.jsxWaitFactor), lineOf);
    } finally {
      page.close();
      this.#prepareNext();
    }
  }

  /** The error for the caller. */
  #explained(error) {
    if (error instanceof BrowserMissing) {
      return unavailable('JSX needs a browser to render: install the Debian package chromium-headless-shell. HTML and MJML can be imported without it.');
    }
    if (error instanceof BrowserNotStarted) return unavailable('The browser that renders JSX could not be started; HTML and MJML can be imported.');
    return error instanceof BrowserGone ? this.#browserFailure(error) : error;
  }

  /** The error of a design whose page or browser has ended. */
  #browserFailure({ reason }) {
    log('warn', 'browser_gone', { reason });
    const seconds = Math.round(this.options.renderMs / 1000);
    const messages = {
      deadline: `The JSX takes longer than ${seconds} seconds to render; look for a loop that does not end.`,
      crashed: 'The JSX takes too much memory to render; look for data that grows without end.',
      flood: 'The JSX renders too much output.',
      ended: 'The browser ended while it rendered the JSX.',
    };
    return importFailed(messages[reason]);
  }

  async #takePage() {
    const taken = this.#ready;
    this.#ready = null;
    const page = await taken;
    return page?.browser.isGone === false ? page : this.#openPage().catch((error) => this.#openAgain(error));
  }

  async #openPage() {
    const modules = this.#modules ??= await buildModules();
    return this.#withModules(await this.#browsers.openPage('code'), modules);
  }

  async #openAgain(error) {
    if (!(error instanceof BrowserGone)) throw error;
    return this.#openPage().catch((second) => { throw second instanceof BrowserGone ? new BrowserNotStarted(second.reason) : second; });
  }

  async #withModules(page, modules) {
    const wanted = this.#names === null ? '__designs.names()' : 'null';
    const { value, thrown } = await page.run(`${modules}\n;${wanted}`, LIMITS.jsxStartMs);
    if (thrown !== undefined) throw new Error(`the modules of designs cannot be loaded: ${thrown}`);
    this.#names ??= value;
    return page;
  }

  /** Opens the page for the next design. When that fails, the next design tries again and reports it. */
  #prepareNext() {
    this.#ready = this.#browsers.openPageAhead('code')
      .then((page) => (page === null ? null : this.#withModules(page, this.#modules)))
      .catch(() => null);
  }
}

/** Reads the result of the page. It comes from untrusted code, so every member is checked. */
function htmlOf({ value, thrown }, lineOf) {
  if (thrown !== undefined) throw renderError(thrown, thrown, lineOf);
  if (typeof value?.html === 'string' && value.html.length <= LIMITS.contentChars) return withoutReactMarks(value.html);
  switch (value?.failure) {
    case 'no default': throw importFailed('The JSX has no default export; export the email component as default.');
    case 'no component': throw importFailed('The default export of the JSX is not a component; export a function that returns the email.');
    case 'too long': throw importFailed(`The JSX renders more than ${LIMITS.contentChars} characters.`);
    case 'threw': throw renderError(value.message, value.stack, lineOf, value.around);
    default: throw importFailed('The JSX did not render to HTML.');
  }
}

/** A text of the page is cut before it is searched, because this thread has no deadline. The frames are at the end of a stack. */
function renderError(text, stack, lineOf, around) {
  const words = quote(beginningOf(text).split(/\n\s+at /)[0].replace(/^Error: /, '')).replace(/[.\s]+$/, '');
  const inside = Array.isArray(around) && around.length > 0 ? `, in ${quote(beginningOf(around.join(' in ')))}` : '';
  const line = lineOf(String(stack).slice(-LIMITS.jsxStackChars));
  return importFailed(`${placed(line, `The JSX fails when it is rendered${inside}`)}: ${words}.`);
}

function beginningOf(text) {
  return String(text).slice(0, LIMITS.jsxMessageChars);
}

/** Removes the marker comments of React. A marker between two text nodes would split a template expression. */
function withoutReactMarks(html) {
  return html.replace(/<!--(?: |\/?\$|html|head|body)?-->/g, '');
}
