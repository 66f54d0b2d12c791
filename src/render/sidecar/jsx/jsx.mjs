// JSX renderer: renders React Email designs to HTML. This process compiles a design and runs it in a page of a headless
// browser without network. One design runs at a time, in its own browser context, with a deadline and a heap limit. The
// first design starts the browser. The browser is replaced after jobs designs and after every failure, and ended when it
// was idle for idleMs. The next page is opened in advance, after each design.

import { Browser, BrowserGone, findBrowser } from './browser.mjs';
import { compileDesign, placed, SCRIPT_NAME } from './compile.mjs';
import { stopCompiler } from './compiler.mjs';
import { importFailed, internalError, quote, unavailable } from '../errors.mjs';
import { LIMITS } from '../limits.mjs';
import { log } from '../log.mjs';
import { buildModules } from './modules.mjs';

export class JsxRenderer {
  #modules = null;
  #names = null;
  #browser = null;
  /** The promise of a page, opened in advance, that has loaded the modules; or null. */
  #ready = null;
  #jobsOfBrowser = 0;
  #idleTimer = null;
  #last = Promise.resolve();
  #waiting = 0;

  /** @param {{renderMs?: number, idleMs?: number, jobs?: number, find?: () => string|null}} [options] for tests */
  constructor({ renderMs = LIMITS.jsxRenderMs, idleMs = LIMITS.browserIdleMs, jobs = LIMITS.browserJobs, find = findBrowser } = {}) {
    this.options = { renderMs, idleMs, jobs, find };
  }

  /** The process id of the browser or null, for tests. */
  get browserPid() {
    return this.#browser?.isGone === false ? this.#browser.pid : null;
  }

  /** Resolves with the HTML of the design; rejects with a RequestError. */
  render(source) {
    if (this.#waiting >= LIMITS.waitingRequests) {
      return Promise.reject(internalError('Too many requests are waiting; try again.'));
    }
    this.#waiting++;
    clearTimeout(this.#idleTimer);
    const rendered = this.#last.then(() => this.#renderNow(source)).finally(() => this.#onRendered());
    this.#last = rendered.catch(() => {}); // the caller gets the error from `rendered`
    return rendered;
  }

  /** Ends the browser and the compiler; the next design starts them again. */
  close() {
    clearTimeout(this.#idleTimer);
    this.#ready = null;
    this.#browser?.kill();
    this.#browser = null;
    stopCompiler();
  }

  #onRendered() {
    this.#waiting--;
    if (this.#waiting === 0) this.#idleTimer = setTimeout(() => this.close(), this.options.idleMs).unref();
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
    } catch (error) {
      throw error instanceof BrowserGone ? this.#browserFailure(error) : error;
    } finally {
      page.close();
      this.#prepareNext();
    }
  }

  /** The error of a design whose page or browser has ended. */
  #browserFailure({ reason }) {
    log('warn', 'browser_gone', { reason });
    this.#browser?.kill();
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
    for (let attempt = 1; ; attempt++) {
      try {
        const taken = this.#ready ?? this.#openPage();
        this.#ready = null;
        const page = await taken;
        if (!page.browser.isGone) return page;
      } catch (error) {
        if (!(error instanceof BrowserGone) || attempt === 2) throw this.#cannotStart(error);
      }
      if (attempt === 2) throw this.#cannotStart(null);
    }
  }

  #cannotStart(error) {
    if (error && !(error instanceof BrowserGone)) return error;
    log('error', 'browser_start', { reason: error?.reason ?? 'gone' });
    return unavailable('The browser that renders JSX could not be started; HTML and MJML can be imported.');
  }

  async #openPage() {
    const path = this.options.find();
    if (path === null) {
      throw unavailable('JSX needs a browser to render: install the Debian package chromium-headless-shell. HTML and MJML can be imported without it.');
    }
    const modules = this.#modules ??= await buildModules();
    if (this.#browser === null || this.#browser.isGone) {
      this.#browser = await Browser.start(path);
      this.#jobsOfBrowser = 0;
    }
    this.#jobsOfBrowser++;
    const page = await this.#browser.openPage();
    const wanted = this.#names === null ? '__designs.names()' : 'null';
    const { value, thrown } = await page.run(`${modules}\n;${wanted}`, LIMITS.jsxStartMs);
    if (thrown !== undefined) throw new Error(`the modules of designs cannot be loaded: ${thrown}`);
    this.#names ??= value;
    return page;
  }

  /** Opens the page for the next design. When the browser has rendered its number of designs, it is ended instead. */
  #prepareNext() {
    if (this.#jobsOfBrowser >= this.options.jobs) this.#browser?.kill();
    if (this.#browser === null || this.#browser.isGone) return;
    this.#ready = this.#openPage();
    this.#ready.catch(() => { this.#ready = null; }); // the next design tries again and reports it
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
    case 'threw': throw renderError(value.message, String(value.stack), lineOf, value.around);
    default: throw importFailed('The JSX did not render to HTML.');
  }
}

function renderError(text, stack, lineOf, around) {
  const words = quote(String(text).split(/\n\s+at /)[0].replace(/^Error: /, '')).replace(/[.\s]+$/, '');
  const inside = Array.isArray(around) && around.length > 0 ? `, in ${quote(around.join(' in '))}` : '';
  return importFailed(`${placed(lineOf(stack), `The JSX fails when it is rendered${inside}`)}: ${words}.`);
}

/** Removes the marker comments of React. A marker between two text nodes would split a template expression. */
function withoutReactMarks(html) {
  return html.replace(/<!--(?: |\/?\$|html|head|body)?-->/g, '');
}
