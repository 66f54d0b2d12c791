// A mail is checked as it is shown: axe-core and the measures of our own in four views, the report included. The peer is axe-core alone with
// the same rules in the same views and the same browser, injected once a mail. Both start with an empty page.
// The times are processor times.

import { SharedBrowser } from '../../../src/render/sidecar/browser/shared_browser.mjs';
import { showHtml } from '../../../src/render/sidecar/browser/shown_html.mjs';
import { AXE_SCRIPT, RULES } from '../../../src/render/sidecar/quality/browser/axe_rules.mjs';
import { ShownChecker, VIEWS } from '../../../src/render/sidecar/quality/browser/check_shown.mjs';
import { prepareTemplate, readGallery } from '../../gallery/templates.mjs';
import { ROUNDS, interleaved, sized } from '../programs.mjs';

const BOUND = { atMost: 1.3 };
const TIMEOUT_MS = 120_000;
const MAILS = sized(4, 1);
const WITH_SCRIPTS = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
const OPTIONS = JSON.stringify({ runOnly: { type: 'rule', values: RULES } });

export async function run(report) {
  const browsers = new SharedBrowser();
  const checker = new ShownChecker(browsers);
  try {
    const mails = await Promise.all(readGallery().templates.slice(0, MAILS).map(async (template) => (await prepareTemplate(template)).html));
    const rows = [['templates of the gallery', mails], ['a mail of 1,000 elements', [`<!DOCTYPE html><html lang="en"><body>${'<p>Some words <a href="https://a.example/">shop</a></p>'.repeat(sized(500, 50))}</body></html>`]]];
    for (const [name, list] of rows) {
      await timed(browsers, list, (html) => checker.check({ content: html, files: {} })); // the browser has started
      const { ours, alone } = await interleaved(ROUNDS, {
        ours: () => timed(browsers, list, (html) => checker.check({ content: html, files: {} })),
        alone: () => timed(browsers, list, (html) => browsers.take(() => runAlone(browsers, html))),
      });
      report.compare(`${name}, axe-core alone in the same four views`, ours.ms, alone.ms, 'ms', BOUND);
    }
  } finally {
    browsers.end();
  }
}

/** Processor time of the pages, a mail: what else the machine does is not counted. */
async function timed(browsers, list, work) {
  const { openPage } = browsers;
  let seconds = 0;
  for (const html of list) {
    let page;
    let close;
    browsers.openPage = async (...options) => {
      page = await openPage.apply(browsers, options);
      close = page.close.bind(page);
      page.close = () => {}; // its time is read first
      await page.send('Performance.enable', { timeDomain: 'threadTicks' });
      return page;
    };
    await work(html);
    const { metrics } = await page.send('Performance.getMetrics');
    seconds += metrics.find(({ name }) => name === 'TaskDuration').value;
    close();
  }
  browsers.openPage = openPage;
  return { ms: (1000 * seconds) / list.length };
}

async function runAlone(browsers, html) {
  const page = await browsers.openPage('images');
  await setView(page, VIEWS[0]);
  await showHtml(page, { content: html, files: {}, policy: WITH_SCRIPTS });
  await page.run(`${AXE_SCRIPT};0`, TIMEOUT_MS);
  for (const view of VIEWS) {
    await setView(page, view);
    const { thrown } = await page.run(`axe.run(document, ${OPTIONS}).then(({ violations }) => violations)`, TIMEOUT_MS);
    if (thrown !== undefined) throw new Error(thrown);
  }
  page.close();
}

async function setView(page, { width, scheme }) {
  await page.send('Emulation.setDeviceMetricsOverride', { width, height: 800, deviceScaleFactor: 1, mobile: false });
  await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
}
