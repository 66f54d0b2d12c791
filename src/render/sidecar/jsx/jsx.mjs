// Renders JSX designs (React Email) to HTML: compiled here, run in a page of a headless browser that has no network, one
// design at a time, each in a fresh browser context with a deadline and a heap limit. The browser is started by the first
// design, replaced after a number of them and after every accident, and ended when there was nothing to do for a while.
// The next page is made ready while nobody waits for it.

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
  /** A page that has the modules already, or the promise of one. */
  #ready = null;
  #jobsOfBrowser = 0;
  #idleTimer = null;
  #last = Promise.resolve();
  #waiting = 0;

  /** @param {{renderMs?: number, idleMs?: number, jobs?: number, find?: () => string|null}} [options] for tests */
  constructor({ renderMs = LIMITS.jsxRenderMs, idleMs = LIMITS.browserIdleMs, jobs = LIMITS.browserJobs, find = findBrowser } = {}) {
    this.options = { renderMs, idleMs, jobs, find };
  }

  /** The browser's process, or null: for tests. */
  get browserPid() {
    return this.#browser?.isGone === false ? this.#browser.pid : null;
  }

  /** Resolves with the HTML that the design renders to; rejects with a RequestError. */
  render(source) {
    if (this.#waiting >= LIMITS.waitingRequests) {
      return Promise.reject(internalError('Too many requests are waiting; try again.'));
    }
    this.#waiting++;
    clearTimeout(this.#idleTimer);
    const rendered = this.#last.then(() => this.#renderNow(source)).finally(() => this.#onDone());
    this.#last = rendered.catch(() => {}); // its caller hears of it
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

  #onDone() {
    this.#waiting--;
    if (this.#waiting === 0) this.#idleTimer = setTimeout(() => this.close(), this.options.idleMs).unref();
  }

  async #renderNow(source) {
    const { renderMs } = this.options;
    // Once the names of the modules are known, a design that does not compile costs no page.
    const compiled = this.#names === null ? null : await compileDesign(source, this.#names);
    const page = await this.#takePage();
    try {
      const { script, lineOf } = compiled ?? await compileDesign(source, this.#names);
      const expression = `${script}\n;__designs.run(__design, ${LIMITS.contentChars})\n//# sourceURL=${SCRIPT_NAME}`;
      return htmlOf(await page.runWithin(expression, renderMs, renderMs * LIMITS.jsxWaitFactor), lineOf);
    } catch (error) {
      throw error instanceof BrowserGone ? this.#accident(error) : error;
    } finally {
      page.close();
      this.#prepareNext();
    }
  }

  /** What an accident in the page means for the design. */
  #accident({ reason }) {
    log('warn', 'browser_gone', { reason });
    this.#browser?.kill();
    const seconds = Math.round(this.options.renderMs / 1000);
    const messages = {
      deadline: `The JSX takes longer than ${seconds} seconds to render; look for a loop that does not end.`,
      crashed: 'The JSX takes too much memory to render; look for something that grows without end.',
      flood: 'The JSX renders too much output.',
      ended: 'The JSX brought its browser down.',
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

  /** Makes a page ready for the next design, in a new browser when this one has done its share. */
  #prepareNext() {
    if (this.#jobsOfBrowser >= this.options.jobs) this.#browser?.kill();
    if (this.#browser === null || this.#browser.isGone) return;
    this.#ready = this.#openPage();
    this.#ready.catch(() => { this.#ready = null; }); // the next design tries again and reports it
  }
}

/** Reads what the page gave. The design's code can give anything here, so nothing is taken for granted. */
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

/** The marks that React leaves for a browser: those between pieces of text would cut template expressions in two. */
function withoutReactMarks(html) {
  return html.replace(/<!--(?: |\/?\$|html|head|body)?-->/g, '');
}
