// Checks of a shown mail: large and hostile mails have a result or a clear refusal, and a browser that ends is replaced.

import './patience.mjs';

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';

import { SharedBrowser } from '../../../src/render/sidecar/browser/shared_browser.mjs';
import { readRequest } from '../../../src/render/sidecar/request.mjs';
import { ShownChecker } from '../../../src/render/sidecar/quality/browser/check_shown.mjs';

const browsers = new SharedBrowser();
const checker = new ShownChecker(browsers, { checkMs: 120_000 });
after(() => checker.close());

const START = '<!DOCTYPE html><html lang="en"><body style="margin:0">';
const check = (body) => checker.check({ content: START + body, files: {} });
const outcome = ({ checks }, id) => checks.find((entry) => entry.id === id);

describe('bounds of the checks of a shown mail', { timeout: 300_000 }, () => {
  test('of more than 12,000 elements axe-core looks at one view, and says so; our own measures look at all', async () => {
    const report = await check(`${'<p>Words</p>'.repeat(12_100)}<p style="width:500px" class="w">Wide</p><style>@media (prefers-color-scheme: dark) { .w { color: #111; background: #000 } }</style>`);
    const { status, reason } = outcome(report, 'axeColorContrast');
    assert.equal(status, 'unavailable');
    assert.equal(reason, 'The mail has 12105 elements, so only the view light at 600 px was checked. Only 5000 of 12101 texts were judged.');
    assert.match(outcome(report, 'sidewaysScroll').findings[0].message, /reaches to 500 px/);
    assert.equal(outcome(report, 'sidewaysScroll').findings[0].selector, '.w');
  });

  test('a text of 2 MB, 505 levels, broken pictures and a mail that never rests have a result', async () => {
    const long = await check(`<p>${'words and '.repeat(200_000)}</p>`);
    assert.equal(outcome(long, 'axeColorContrast').reason, 'Only 0 of 1 texts were judged.');
    assert.equal(outcome(long, 'axeColorContrast').status, 'not_applicable');
    const deep = await check(`${'<div>'.repeat(505)}<p style="color:#aaa">Deep words${'</div>'.repeat(505)}`);
    assert.equal(outcome(deep, 'axeColorContrast').findings.length, 1);
    const broken = await check(`${'<img src="https://a.example/1.png" alt="One" width="50" height="50">'.repeat(300)}<img src="data:image/png;base64,AAAA" alt="Two">`);
    assert.equal(outcome(broken, 'sidewaysScroll').status, 'passed');
    const moving = await check('<style>@keyframes a { from { opacity: 0 } to { transform: rotate(1turn) } } p { animation: a 1ms infinite }</style><p style="color:#aaa">Moving words</p>');
    assert.equal(outcome(moving, 'axeColorContrast').findings.length, 1);
  });

  test('too many elements and too many characters are refused with their number', async () => {
    await assert.rejects(check('<p></p>'.repeat(60_001)), { code: 'INVALID_REQUEST', param: 'html', message: 'The HTML has 60004 elements; at most 60000 can be checked.' });
    const { error } = readRequest(JSON.stringify({ id: 1, op: 'checkShown', content: 'x'.repeat(5_000_001), files: {} }));
    assert.deepEqual([error.code, error.param], ['PAYLOAD_TOO_LARGE', 'html']);
    assert.equal(readRequest('{"id":1,"op":"checkShown","content":5}').error.message, 'The HTML must be a string.');
    assert.match(readRequest('{"id":1,"op":"checkShown","content":"x","files":{"a":1}}').error.message, /^The files must be/);
  });

  test('a mail that takes too long is refused, and the next one is checked', async () => {
    const impatient = new ShownChecker(browsers, { checkMs: 300 });
    const heavy = '<div style="position:absolute;top:0;left:0;width:500px;height:500px;background:rgba(0,0,0,.01)">words</div>'.repeat(3000);
    await assert.rejects(impatient.check({ content: START + heavy, files: {} }), { code: 'INVALID_REQUEST', param: 'html', message: 'The HTML takes too long to check.' });
    assert.equal(outcome(await check('<p>Words</p>'), 'textCut').status, 'passed');
  });

  test('a browser that is killed in the middle fails this mail only', async () => {
    const killed = new SharedBrowser();
    const one = new ShownChecker(killed);
    const { openPage } = killed;
    killed.openPage = async (...options) => {
      const page = await openPage.apply(killed, options);
      const { send } = page;
      page.send = (method, ...more) => {
        if (method === 'Page.createIsolatedWorld') process.kill(-killed.pid, 'SIGKILL');
        return send.call(page, method, ...more);
      };
      return page;
    };
    await assert.rejects(one.check({ content: `${START}<p>Words</p>`, files: {} }), { code: 'SERVICE_UNAVAILABLE', message: 'The browser that checks mails stopped. Try again.' });
    killed.openPage = openPage;
    assert.equal(outcome(await one.check({ content: `${START}<p>Words</p>`, files: {} }), 'textCut').status, 'passed');
    one.close();
  });

  test('without a browser the answer names the package', async () => {
    const none = new ShownChecker(new SharedBrowser({ find: () => null }));
    await assert.rejects(none.check({ content: '<p>x</p>', files: {} }), { code: 'SERVICE_UNAVAILABLE', message: /install the Debian package chromium-headless-shell/ });
  });

  test('scripts, frames and the network of a mail do nothing', async () => {
    const report = await check(`<p id="p">Words</p><script>document.getElementById('p').style.color = '#aaa'</script><img src="x" onerror="document.body.remove()" alt="">
      <iframe srcdoc="<p style='color:#aaa'>Inner words</p>"></iframe><meta http-equiv="refresh" content="0;url=https://a.example/"><link rel="stylesheet" href="https://a.example/a.css">`);
    assert.deepEqual([outcome(report, 'axeColorContrast').status, outcome(report, 'axeColorContrast').findings], ['passed', []]);
  });
});
