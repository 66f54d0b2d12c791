// Checks of a shown mail: each planted fault is found by its check, axe-core finds the same when it runs alone, and the report is the same
// each time. The checks and their declarations (schemas/checks/browser.json) agree.

import './patience.mjs';

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, describe, test } from 'node:test';

import { SharedBrowser } from '../../../src/render/sidecar/browser/shared_browser.mjs';
import { showHtml } from '../../../src/render/sidecar/browser/shown_html.mjs';
import { AXE_SCRIPT, LEFT_OUT, RULES, checkOfRule } from '../../../src/render/sidecar/quality/browser/axe_rules.mjs';
import { ShownChecker, VIEWS } from '../../../src/render/sidecar/quality/browser/check_shown.mjs';
import { OWN_CHECKS, SEVERITIES } from '../../../src/render/sidecar/quality/browser/report.mjs';

const declared = JSON.parse(readFileSync(new URL('../../../schemas/checks/browser.json', import.meta.url), 'utf8'));
const axe = createRequire(new URL('../../../src/render/sidecar/main.mjs', import.meta.url))('axe-core');

const browsers = new SharedBrowser();
const checker = new ShownChecker(browsers);
after(() => checker.close());

const mail = (body, head = '') => `<!DOCTYPE html><html lang="en" dir="ltr"><head><meta charset="utf-8">${head}</head><body style="margin:0">${body}</body></html>`;
const check = (body, head, files = {}) => checker.check({ content: mail(body, head), files });
const found = ({ checks }) => checks.filter(({ status }) => status === 'issues').map(({ id }) => id);
const outcome = ({ checks }, id) => checks.find((entry) => entry.id === id);

const SECTION = 'style="display:block;padding:10px 0"';
const tiny = (name) => `<a href="https://${name}.example/" style="display:block;width:16px;font-size:10px;line-height:12px">${name}</a>`;

const WIDE = 'Wide words in a part that scrolls. '.repeat(5);

/** Body → the only check that finds something, and words of its message. */
const PLANTED = [
  ['axeAreaAlt', '<img src="data:," alt="Map of the shop" usemap="#m"><map name="m"><area shape="rect" coords="0,0,90,90" href="https://a.example/"></map>', /\(in all views\)\.$/],
  ['axeAriaAllowedAttr', '<p role="note" aria-checked="true">Words</p>', /aria-checked/],
  ['axeAriaHiddenFocus', '<p aria-hidden="true">See <a href="https://a.example/">the shop</a></p>', /focusable/i],
  ['axeAriaRequiredChildren', '<div role="table" aria-label="Prices"><p>Words</p></div>', /./],
  ['axeAriaRoles', '<table role="layout"><tr><td>Words</td></tr></table>', /role.*layout/i],
  ['axeAriaValidAttr', '<p aria-labeled="x">Words</p>', /aria-labeled/],
  ['axeAvoidInlineSpacing', '<p style="letter-spacing:1px !important">Words</p>', /letter-spacing/],
  ['axeColorContrast', '<p style="color:#999">Grey words</p>', /^The contrast of #999999 on #ffffff is 2\.84:1 instead of 4\.5:1 \(in all views\)\.$/],
  ['axeColorContrast', '<p class="d">Dark words</p>', /^The contrast of #444444 on #222222 is 1\.63:1 instead of 4\.5:1 \(in dark mode\)\.$/, '<style>@media (prefers-color-scheme: dark) { .d { color: #444; background: #222 } }</style>'],
  ['axeColorContrast', '<p class="p">Words on a phone</p>', /\(at 375 px\)\.$/, '<style>@media (max-width: 480px) { .p { color: #aaa } }</style>'],
  ['axeColorContrast', '<p class="p">Words on a dark phone</p>', /\(dark at 375 px\)\.$/, '<style>@media (max-width: 480px) and (prefers-color-scheme: dark) { .p { color: #aaa } }</style>'],
  ['axeDlitem', '<dt>Term</dt>', /<dl>/],
  ['axeHtmlXmlLangMismatch', '<p>Words</p>', /lang/, null, '<html lang="en" xml:lang="fr">'],
  ['axeImageRedundantAlt', '<a href="https://a.example/" style="display:block;padding:15px"><img src="data:," alt="Summer sale">Summer sale</a>', /Summer sale|duplicates/],
  ['axeLinkInTextBlock', '<p style="color:#333">Read all of it <a href="https://a.example/" style="color:#336;text-decoration:none">in our shop</a> today.</p>', /contrast|underline|styling/i],
  ['axeList', '<ul><p>Words</p></ul>', /p/],
  ['axeListitem', '<li>Words</li>', /parent/],
  ['axeMetaViewport', '<p>Words</p>', /user-scalable/, '<meta name="viewport" content="width=device-width, user-scalable=no">'],
  ['axeRoleImgAlt', '<div role="img" style="height:20px"></div>', /aria-label/],
  ['axeValidLang', '<p lang="qqqqq">Words</p>', /lang/],
  ['axeAriaAllowedRole', '<h1 role="note">Words</h1>', /note/],
  ['axeAriaCommandName', '<p>Words <span role="link"></span></p>', /aria-label|text/],
  ['axeAriaConditionalAttr', '<table><tr aria-level="1"><th scope="row">Tea</th><td>4</td></tr></table>', /aria-level/],
  ['axeAriaDeprecatedRole', '<div role="directory">Words</div>', /directory/],
  ['axeAriaHiddenBody', '<p>Words</p>', /aria-hidden/, null, '<html lang="en" dir="ltr"><body aria-hidden="true">'],
  ['axeAriaProhibitedAttr', '<p aria-label="Others"></p>', /aria-label/],
  ['axeAriaRequiredAttr', '<p role="heading">Words</p>', /aria-level/],
  ['axeAriaRequiredParent', '<p role="listitem">Words</p>', /list/],
  ['axeAriaText', '<p role="text">See <a href="https://a.example/">the shop</a> today</p>', /focusable/],
  ['axeAriaValidAttrValue', '<p aria-live="loud">Words</p>', /aria-live/],
  ['axeDefinitionList', '<dl><p>Words</p></dl>', /p/],
  ['axeEmptyTableHeader', '<table><tr><th scope="row"></th><td>Words</td></tr></table>', /text/],
  ['axeLabelContentNameMismatch', '<p>See <a href="https://a.example/" aria-label="Our prices">the shop</a> today</p>', /accessible name/],
  ['axeNestedInteractive', '<p>See <span role="button">all of <a href="https://a.example/">the shop</a></span> today</p>', /focusable/],
  ['axePresentationRoleConflict', '<h1 role="none" aria-live="polite">Words</h1>', /./],
  ['axeScopeAttrValid', '<table><tr><th scope="columns">Tea</th></tr><tr><td>4</td></tr></table>', /scope/],
  ['axeScrollableRegionFocusable', `<div style="overflow-x:auto;width:300px"><p style="width:900px">${WIDE}</p></div>`, /focus/],
  ['axeTableDuplicateName', '<table summary="Prices"><caption>Prices</caption><tr><th scope="row">Tea</th><td>4</td></tr></table>', /summary/],
  ['axeTdHeadersAttr', '<table><tr><th id="h">Tea</th><td headers="x">4</td></tr></table>', /headers/],
  ['contrastInverted', '<p style="color:#000;background:#757575">Words on grey</p>', /^The contrast becomes 4\.\d+:1 instead of 4\.5:1 where a mail client inverts all colours: #ffffff on #7[0-9a-f]{5} \(in light mode\)\.$/],
  ['pageHeight', '<p style="height:30000px">Words</p>', /^The mail is 30\d{3} px tall at 600 px; its pictures end at 16000 px \(in all views\)\.$/],
  ['sidewaysScroll', `<table role="presentation" width="560"><tr><td><p ${SECTION}>Words</p></td></tr></table>`, /^The mail is 560 px wide on a screen of 375 px, because this element reaches to 560 px \(at 375 px\)\.$/],
  ['sidewaysScroll', '<div><div><p>Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenfarbe</p></div></div>', /^The mail is \d+(\.\d)? px wide on a screen of 375 px/],
  ['targetComfort', '<a href="https://a.example/" style="display:block;width:90px;line-height:30px">Shop</a>', /^The target is 90 × 30 px; 44 × 44 suits a finger \(at 375 px\)\.$/],
  ['targetSize', `<div>${tiny('a')}${tiny('b')}</div>`, /^The target is 16 × 12 px instead of 24 × 24, and the centre of the next one is 12 px away \(in all views\)\.$/],
  ['textCut', '<div style="overflow:hidden;height:20px;width:200px;line-height:20px">These words are too many for one line of this narrow box, so that the rest is lost.</div>', /^\d+ px of a text are cut off below or above \(in all views\)\.$/],
  ['textCut', '<div style="overflow:hidden;white-space:nowrap;text-overflow:ellipsis;width:100px">One line that is longer than its box</div>', /cut off at the side/],
];

const contentOf = ([, body, , head, html]) => mail(body, head ?? '').replace('<html lang="en" dir="ltr">', html ?? '$&');

/** Bodies without a fault, each near to one. */
const SOUND = [
  '<p style="color:#767676">Grey words that are dark enough</p>',
  '<div style="display:none;max-height:0;overflow:hidden">The words before the mail, which are hidden</div><p>Words</p>',
  '<div style="max-height:0;overflow:hidden;font-size:1px;color:#fff">The words before the mail, which are hidden</div><p>Words</p>',
  `<div style="line-height:20px;font-size:12px"><p>Some words, <a href="https://a.example/">one</a> and <a href="https://b.example/">two</a>,<br>and more, <a href="https://c.example/">three</a>.</p></div>`,
  '<div style="padding:15px"><a href="https://a.example/" style="display:inline-block;padding:15px 20px">Shop</a></div>',
  '<div style="overflow:hidden;width:300px"><p>Words that fit</p></div>',
  '<table role="presentation" width="100%" style="max-width:600px"><tr><td><img src="data:," width="560" alt="Shop" style="width:100%"></td></tr></table>',
  `<div style="overflow-x:auto;width:300px" tabindex="0"><p style="width:900px">${WIDE}</p></div>`,
];

describe('checks of a shown mail', { timeout: 300_000 }, () => {
  for (const [id, body, message, head, html] of PLANTED) {
    test(`${id}: ${body.slice(0, 60)}`, async () => {
      const report = await checker.check({ content: contentOf([id, body, message, head, html]), files: {} });
      assert.deepEqual(found(report), [id]);
      const [finding] = outcome(report, id).findings;
      assert.match(finding.message, message);
      assert.ok(finding.selector.length > 0 && finding.source.length > 0 && finding.source.length <= 200 && finding.key.length > 0);
    });
  }

  test('mails without a fault have no finding', async () => {
    for (const body of SOUND) assert.deepEqual(found(await check(body)), [], body);
  });

  test('every rule of axe-core is a declared check, or left out for a reason', () => {
    const ruleIds = axe.getRules().map(({ ruleId }) => ruleId);
    assert.deepEqual(ruleIds.filter((rule) => !LEFT_OUT.has(rule)).sort(), RULES);
    assert.deepEqual([...LEFT_OUT.keys()].filter((rule) => !ruleIds.includes(rule)), []);
    const impacts = new Map(axe._audit.rules.map(({ id, impact }) => [id, impact]));
    const ofAxe = declared.filter(({ rule }) => rule !== undefined);
    assert.deepEqual(ofAxe.map(({ id, rule, severity }) => [id, rule, severity]).sort(), RULES.map((rule) => [checkOfRule(rule), rule, SEVERITIES[impacts.get(rule)]]).sort());
    assert.deepEqual(declared.filter(({ rule }) => rule === undefined).map(({ id }) => id).sort(), OWN_CHECKS);
  });

  test('every declared check has a planted mail', () => {
    assert.deepEqual([...new Set(PLANTED.map(([id]) => id))].sort(), declared.map(({ id }) => id).sort());
  });

  test('the report has every declared check once, in order', async () => {
    const { engine, checks } = await check('<p>Words</p>');
    assert.deepEqual(engine, { name: 'axe-core', version: axe.version });
    assert.deepEqual(checks.map(({ id }) => id), declared.map(({ id }) => id));
    assert.equal(checks.find(({ id }) => id === 'axeAreaAlt').status, 'not_applicable');
    assert.equal(checks.find(({ id }) => id === 'targetSize').status, 'not_applicable', 'no link');
    assert.equal(checks.find(({ id }) => id === 'textCut').status, 'passed');
  });

  test('what axe-core cannot judge is told', async () => {
    const report = await check('<p style="background:linear-gradient(#fff,#000)">Words on a gradient</p>');
    assert.deepEqual([outcome(report, 'axeColorContrast').status, outcome(report, 'axeColorContrast').reason], ['not_applicable', '1 element could not be judged.']);
  });

  test('fifty findings of a check are told, in order, and the others counted; equal ones differ by their key', async () => {
    const { findings, more } = outcome(await check('<p style="color:#aaa">Grey</p>'.repeat(60)), 'axeColorContrast');
    assert.deepEqual([findings.length, more], [50, 10]);
    assert.deepEqual([findings[0].key, findings[1].key, findings[49].key], ['p Grey', 'p Grey #2', 'p Grey #50']);
  });

  test('the same mail gives the same bytes, whatever moves', async () => {
    const body = `${PLANTED.map((planted) => planted[1]).join('')}<style>@keyframes k { from { color: #eee } to { color: #ddd } } .k { animation: k 1ms infinite alternate } .t { transition: color 9s }
      @media (prefers-color-scheme: dark) { .t { color: #ccc } }</style><p class="k">Moving</p><p class="t">Words</p>`;
    const [one, two] = [await check(body), await check(body)];
    assert.equal(JSON.stringify(one), JSON.stringify(two));
    assert.match(JSON.stringify(one), /#cccccc on #ffffff/, 'a transition is at its end');
  });

  test('a mail keeps its key when its links and its place change', async () => {
    const keyOf = async (body) => outcome(await check(body), 'axeColorContrast').findings[0].key;
    assert.equal(await keyOf('<a style="color:#aaa" href="https://t.example/c/abc">Read more</a>'), await keyOf('<h1>New</h1><div><a style="color:#aaa" href="https://t.example/c/xyz">Read more</a></div>'));
  });

  test('axe-core alone finds the same, for the rules that are kept', async () => {
    const planted = PLANTED.filter(([id]) => id.startsWith('axe'));
    const contents = [mail(planted.map(([, body]) => body).join('\n').repeat(2)), ...planted.filter(([, , , head, html]) => head || html).map(contentOf)];
    for (const content of contents) {
      const report = await checker.check({ content, files: {} });
      const ours = report.checks.filter(({ id }) => id.startsWith('axe'))
        .flatMap(({ id, findings, more }) => { assert.equal(more, 0); return findings.map(({ selector }) => `${id} ${selector}`); });
      assert.ok(ours.length > 0);
      assert.deepEqual(ours.sort(), await alone(content));
    }
  });
});

/** "check selector" of what axe-core finds in a page with scripts, in any of the four views. */
async function alone(html) {
  return browsers.take(async () => {
    const page = await browsers.openPage('images');
    await showHtml(page, { content: html, files: {}, policy: "default-src 'none'; style-src 'unsafe-inline'; img-src data:" });
    await page.run(`${AXE_SCRIPT};0`, 60_000);
    const all = new Set();
    for (const { width, scheme } of VIEWS) {
      await page.send('Emulation.setDeviceMetricsOverride', { width, height: 800, deviceScaleFactor: 1, mobile: false });
      await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
      const { value } = await page.run('axe.run(document).then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.map(({ target }) => target[0])]))', 60_000);
      for (const [rule, targets] of value) if (RULES.includes(rule)) for (const target of targets) all.add(`${checkOfRule(rule)} ${target}`);
    }
    page.close();
    return [...all].sort();
  });
}
