// Mails as mail clients show them (R-232, D-41): each feature that a client lacks changes the picture of a mail that uses it, and no other.

import './patience.mjs';

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, describe, test } from 'node:test';

import { Painter } from '../../../src/render/sidecar/pictures/painter.mjs';
import { dressMail } from '../../../src/render/sidecar/quality/clients/dress.mjs';
import { rulesOf, simulatedFeatures } from '../../../src/render/sidecar/quality/clients/rules.mjs';
import { FEATURES, IN_PART } from './client_features.mjs';

const CLIENTS = JSON.parse(readFileSync(new URL('../../../schemas/clients.json', import.meta.url), 'utf8'));
const MAPPED = JSON.parse(readFileSync(new URL('../../../src/render/sidecar/quality/clients/features.json', import.meta.url), 'utf8'));
/** One client of each column of caniemail. */
const COLUMNS = [...new Map(CLIENTS.filter(({ caniemail, scheme }) => caniemail && scheme === 'light').map((client) => [client.caniemail, client])).values()];
const BARE = { id: 'bare', engine: 'browser', width: 400, density: 1, inversion: 'none' };

const painter = new Painter();
after(() => painter.close());

/** A mail; its style sheets are in the head. */
const page = (inner) => {
  const styles = inner.match(/<style>[^]*?<\/style>/g) ?? [];
  const rest = styles.reduce((text, style) => text.replace(style, ''), inner);
  return `<!DOCTYPE html><html><head>${styles.join('')}</head><body style="color:#222222">${rest}</body></html>`;
};
const dress = (html, client = BARE, more = {}) => dressMail({ html, text: 'Plain words', client, types: {}, ...more });
const places = (dressed) => Object.fromEntries(dressed.transforms.map(({ id, places: count }) => [id, count]));
const clientOf = (id) => CLIENTS.find((client) => client.id === id);

async function draw(html, { isDark = false, files = {}, width = 400, zoomsOut = false, density = 1, maxHeight = 600 } = {}) {
  return painter.drawPage({ content: html, width, density, maxHeight, isDark, zoomsOut, files });
}

const picture = async (html, client, options) => (await draw(dress(html, client).html, options)).png;

/** A mail that no client changes. */
const PLAIN = page('<table width="300" bgcolor="#eeeeee"><tr><td style="padding:10px;color:#cc0000"><p>Words</p><a href="https://shop.example">Link</a></td></tr></table>');
const inBrowser = (client) => ({ ...client, engine: 'browser' });

/** A feature of each kind of rule. POSTHORN_ALL_FEATURES=1 draws all of them. */
const DRAWN = ['css-box-shadow', 'css-display-grid', 'css-linear-gradient', 'css-unit-vw', 'css-at-media', 'css-at-media-prefers-reduced-motion',
  'css-pseudo-class-nth-child', 'css-selector-child', 'css-nesting', 'css-margin', 'css-width', 'css-background', 'html-semantics', 'html-svg',
  'html-background', 'html-input-text', 'html-style', 'image-base64'];

const lackingClient = (slug) => COLUMNS.find(({ caniemail }) => simulatedFeatures(caniemail).includes(slug)
  && places(dress(page(FEATURES[slug]), { ...BARE, caniemail }))[slug]);

describe('features', () => {
  test('every rule has a mail in which a client misses the feature', () => {
    const slugs = Object.keys(MAPPED).filter((slug) => !MAPPED[slug].listed);
    assert.deepEqual(slugs.filter((slug) => FEATURES[slug] === undefined), []);
    assert.deepEqual(slugs.filter((slug) => FEATURES[slug] !== null && !lackingClient(slug)), []);
  });

  test('a mail without these features has the same picture in all clients, byte for byte', async () => {
    const bare = await picture(PLAIN, BARE);
    for (const client of COLUMNS) {
      assert.equal(await picture(PLAIN, inBrowser(client)), bare, client.id);
      assert.deepEqual(dress(PLAIN, inBrowser(client)).transforms, []);
    }
  });

  for (const slug of process.env.POSTHORN_ALL_FEATURES === '1' ? Object.keys(FEATURES).filter((one) => FEATURES[one]) : DRAWN) {
    test(`${slug} changes the picture`, async () => {
      const html = page(FEATURES[slug]);
      assert.notEqual(await picture(html, { ...BARE, caniemail: lackingClient(slug).caniemail }), await picture(html, BARE));
    });
  }
});

describe('features that a client supports in part', () => {
  for (const [slug, caniemail, lost, kept] of IN_PART) {
    test(`${slug} in ${caniemail}`, async () => {
      const client = { ...BARE, caniemail };
      assert.equal(places(dress(page(lost), client))[slug], 1);
      assert.notEqual(await picture(page(lost), client), await picture(page(lost), BARE));
      assert.equal(places(dress(page(kept), client))[slug], undefined);
      assert.equal(await picture(page(kept), client), await picture(page(kept), BARE));
    });
  }

  test('a long selector costs no more than its length', () => {
    const sheets = (many) => page(`<style>${'.a'.repeat(many)}:hover{color:red}</style><p>x</p>`);
    assert.match(dress(sheets(50_000), { ...BARE, caniemail: 'outlook.outlook-com' }).html, /<p>x<\/p>/);
  });
});

describe('limits of elements', () => {
  test('Word keeps padding on cells and loses it elsewhere, in attributes and in style sheets', () => {
    const word = { ...BARE, engine: 'word', caniemail: 'outlook.windows' };
    const { html } = dress('<style>.a{padding:9px;color:red}</style><p class="a" style="padding:8px">A</p><table><tr><td class="a" style="padding:8px">B</td></tr></table>', word);
    assert.match(html, /<p class="a">/);
    assert.match(html, /<td class="a" style="padding:8px">/);
    assert.match(html, /\.a:where\(td, th\)\s*\{[^}]*padding:9px/);
    assert.doesNotMatch(html, /\.a\s*\{[^}]*padding/);
  });

  test('a background of Word is its colour', () => {
    const word = { ...BARE, engine: 'word', caniemail: 'outlook.windows' };
    assert.match(dress('<p style="background:#ccddee url(https://shop.example/a.png)">A</p>', word).html, /style="background:#ccddee"/);
  });
});

describe('Word', () => {
  const WORD = clientOf('outlook2021_win11_lm_dt');
  const SHOWN = page('<p>Before</p><p>Inside</p><p>After</p>');

  test('conditional comments are opened and closed as Word does it', async () => {
    const mail = page('<p>Before</p><!--[if mso]><p>Inside</p><![endif]--><!--[if !mso]><!--><p>Not in Word</p><!--<![endif]--><p>After</p>');
    const dressed = dress(mail, WORD);
    assert.equal(dressed.html, dress(SHOWN, WORD).html);
    assert.deepEqual(dressed.transforms, [{ id: 'word-comments', label: 'Conditional comments for Outlook', places: 2 }]);
    assert.notEqual(await picture(mail, WORD), await picture(mail, BARE));
    assert.equal(await picture(SHOWN, WORD), await picture(SHOWN, BARE));
  });

  test('conditions are those of Word', () => {
    const holds = (condition) => dress(page(`<!--[if ${condition}]><p>x</p><![endif]-->`), WORD).html.includes('<p>x</p>');
    assert.deepEqual(['mso', 'gte mso 9', '(gte mso 9)|(IE)', 'mso | IE', 'vml', '(mso)&(!IE)', 'mso 16', 'true', '!(IE)'].map(holds), Array(9).fill(true));
    assert.deepEqual(['!mso', 'lt mso 12', 'IE', 'gt mso 16', '!vml', 'mso 15', '((((', 'nothing'].map(holds), Array(8).fill(false));
  });

  test('settings and elements of Office are removed, and what they hold stays', async () => {
    const xml = '<!--[if gte mso 9]><xml><o:OfficeDocumentSettings><o:PixelsPerInch>96</o:PixelsPerInch></o:OfficeDocumentSettings></xml><![endif]-->';
    const held = '<!--[if mso]><v:group><w:anchorlock/><p>Button</p></v:group><![endif]-->';
    const dressed = dress(page(xml + held), WORD);
    assert.match(dressed.html, /<body style="color:#222222"><p>Button<\/p><\/body>/);
    assert.equal(places(dressed)['office-markup'], 3);
    assert.equal(await picture(page(xml + held), WORD), await picture(page('<p>Button</p>'), BARE));
  });

  test('shapes of VML are drawn, with fill, outline, corners, size and text in the middle', async () => {
    const shape = (begin, inner = '<w:anchorlock/><center style="color:#ffffff">Shop</center>') => page(`<!--[if mso]>${begin}${inner}</${/[\w:]+/.exec(begin)[0]}><![endif]-->`);
    const styleOf = (...shapeOf) => Object.fromEntries(/<v:\w+ style="([^"]*)"/.exec(dress(shape(...shapeOf), WORD).html)[1].replaceAll('&quot;', '\'').split(';').map((pair) => pair.split(/:(.*)/)));
    const BUTTON = '<v:roundrect href="https://shop.example" style="height:40px;v-text-anchor:middle;width:200px" arcsize="10%" strokecolor="#1e3650" fillcolor="#556270 [3204]">';
    const button = styleOf(BUTTON);
    assert.deepEqual([button.width, button.height, button['border-radius'], button['background-color'], button.border, button['justify-content']],
      ['200px', '40px', '4px', '#556270', '0.75pt solid #1e3650', 'center']);
    assert.deepEqual([styleOf('<v:rect stroked="f" filled="f" style="mso-width-percent:1000;height:30pt">').border, styleOf('<v:rect filled="f">')['background-color']], ['0', undefined]);
    assert.equal(styleOf('<v:rect style="mso-width-percent:1000">').width, '100%');
    assert.equal(styleOf('<v:roundrect style="width:80px;height:40px" arcsize="6554f">')['border-radius'], '4px');
    assert.equal(styleOf('<v:oval style="width:80px;height:40px" stroke="false">')['border-radius'], '50%');
    const filled = (fill) => styleOf('<v:rect stroke="false" style="width:200px;height:60px">', `${fill}<v:textbox inset="1pt,2pt,3pt,4pt" style="mso-fit-shape-to-text:true"><p>Words</p></v:textbox>`);
    const tiled = filled('<v:fill type="tile" src="https://shop.example/a.png" color="#7bceeb"/>');
    assert.deepEqual([tiled['background-color'], tiled['background-repeat'], tiled.padding, tiled['min-height'], tiled.height], ['#7bceeb', 'repeat', '2pt 3pt 4pt 1pt', '60px', undefined]);
    assert.match(tiled['background-image'], /a\.png/);
    assert.equal(filled('<v:fill type="frame" aspect="atleast" src="a.png"/>')['background-size'], 'cover');
    assert.equal(filled('<v:fill type="gradient" color="red" color2="blue"/>')['background-image'], undefined);
    assert.deepEqual(places(dress(shape(BUTTON), WORD)), { 'word-comments': 1, 'office-markup': 1, vml: 1 });
    assert.equal(places(dress(shape(BUTTON), BARE)).vml, undefined);
    assert.notEqual(await picture(shape(BUTTON), WORD), await picture(page('<center style="color:#ffffff">Shop</center>'), BARE));
    assert.equal((await draw(dress(shape(BUTTON), WORD).html)).png, (await draw(dress(shape(BUTTON), WORD).html)).png);
    assert.match(dress(shape(BUTTON), { ...WORD, inversion: 'full' }).html, /background-color:#(?!556270)/);
  });

  test('shapes that say nonsense are drawn without it, and a deep one in linear time', () => {
    const odd = '<v:roundrect style="width:1e9px;height:&quot;;x:url(https://a.example)" arcsize="NaN" fillcolor="url(x)" strokeweight="-3px"><v:fill type="tile" src="&quot;);x:y(&quot;"/>Words</v:roundrect>';
    const { html } = dress(page(`<!--[if mso]>${odd}<![endif]-->`), WORD);
    assert.match(html, /<v:roundrect style="[^"]*">/);
    assert.doesNotMatch(html, /a\.example|1e9|-3px/);
    assert.match(html, /background-image:url\(&quot;%22\);x:y\(%22&quot;\);/, 'the address stays inside of its quotation marks');
    const deep = dress(page(`<!--[if mso]>${'<v:rect><v:fill>'.repeat(400)}Words${'</v:rect>'.repeat(400)}<![endif]-->`), WORD);
    assert.equal(places(deep).vml, 400);
  });

  test('a conditional comment without an end stays a comment', () => {
    for (const open of ['<!--[if mso]><p>Inside</p>', '<!--[if mso]>', '<!--[if !mso]><!--><p>Shown</p>', '<![if !mso]><p>Shown</p>']) {
      assert.match(dress(page(`<p>Before</p>${open}`), WORD).html, /<p>Before<\/p>/, open);
    }
    const many = dress(page('<p>x</p>' + '<!--[if mso]>'.repeat(100_000)), WORD);
    assert.match(many.html, /<p>x<\/p>/);
  });
});

describe('style sheets', () => {
  const GMAIL = clientOf('gmailcom-lm_chrcurrent_win10');
  const sheet = (chars) => `<style>p{color:#cc0000}/*${'x'.repeat(chars - 20)}*/</style>`;

  test('Gmail drops a block of more than 8,192 characters, and what is past 16,384', async () => {
    const mail = (...sizes) => page(`${sizes.map(sheet).join('')}<p>Words</p>`);
    assert.deepEqual(places(dress(mail(8192), GMAIL)), {});
    assert.deepEqual(places(dress(mail(8193), GMAIL)), { 'style-size': 1 });
    assert.deepEqual(places(dress(mail(8000, 8000, 8000), GMAIL)), { 'style-size': 1 });
    assert.notEqual(await picture(mail(8193), GMAIL), await picture(mail(8193), BARE));
    assert.equal(await picture(mail(8192), GMAIL), await picture(mail(8192), BARE));
  });
});

test('a long conditional comment is read in linear time', () => {
  const spaces = ' '.repeat(1_000_000);
  const before = process.cpuUsage();
  for (const mark of ['x', '<!', '<!--']) dress(`<!--[if mso]>${spaces}${mark}--><p>Words</p><!--<![endif]-->`, clientOf('outlook2021_win11_lm_dt'));
  const { user, system } = process.cpuUsage(before);
  assert.ok((user + system) / 1e6 < 20, `took ${(user + system) / 1e6} s of processor time`);
});

test('long declarations are not kept from mail to mail', () => {
  const { known } = rulesOf('gmail.ios');
  for (let i = 0; i < 100; i++) dress(page(`<p style="color:red${' '.repeat(100_000)}${i}">Words</p>`), { ...BARE, caniemail: 'gmail.ios' });
  assert.ok(known.size <= 5000);
  assert.ok([...known.keys()].every((declaration) => declaration.length <= 200));
});

describe('colours', () => {
  const DARK = Object.fromEntries(['partial', 'full', 'preferred'].map((inversion) => [inversion, { ...BARE, inversion }]));

  test('addresses without an end are read in linear time', () => {
    const before = process.cpuUsage();
    dress(page(`<p style="background:red ${'url('.repeat(250_000)}">Words</p>`), DARK.full);
    const { user, system } = process.cpuUsage(before);
    assert.ok((user + system) / 1e6 < 20, `took ${(user + system) / 1e6} s of processor time`);
  });

  test('a partial inversion changes light backgrounds and dark texts', () => {
    const mail = page('<p style="background:#ffffff;color:#000">A</p><p style="background-color:#000000;color:white">B</p><table bgcolor="#ffffff"><tr><td><font color="000000">C</font></td></tr></table>');
    const { html } = dress(mail, DARK.partial);
    assert.match(html, /<p style="background:#000000;color:#ffffff">A/);
    assert.match(html, /<p style="background-color:#000000;color:white">B/);
    assert.match(html, /<table bgcolor="#000000">.*<font color="#ffffff">C/);
  });

  test('a full inversion changes all colours, also in style sheets; addresses stay', () => {
    const mail = page('<style>p{background:url("https://shop.example/red.png") black}</style><p style="border:1px solid rgba(0,0,0,0.5)">A</p>');
    const { html, transforms } = dress(mail, DARK.full);
    assert.match(html, /url\("https:\/\/shop\.example\/red\.png"\) #ffffff/);
    assert.match(html, /border:1px solid rgba\(255, 255, 255, 0\.5\)/);
    assert.equal(transforms[0].id, 'inversion-full');
  });

  test('the pictures of the inversions differ; a mail that prefers a dark scheme differs in the preferred one only', async () => {
    const mail = page('<p style="background:#eeeeee;color:#333333">A</p><p style="background:#333333;color:#eeeeee">B</p>');
    const pictures = [await picture(mail, BARE), await picture(mail, DARK.partial), await picture(mail, DARK.full)];
    assert.equal(new Set(pictures).size, 3);
    assert.equal(await picture(mail, DARK.preferred, { isDark: true }), pictures[0]);
    const prefers = page('<style>@media (prefers-color-scheme:dark){p{color:#c00}}</style><p>A</p>');
    assert.notEqual(await picture(prefers, DARK.preferred, { isDark: true }), await picture(prefers, BARE));
  });
});

describe('pictures', () => {
  const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAIAAAAmkwkpAAAAEElEQVR4nGP4z8AARwzEcQCukw/x0F8jngAAAABJRU5ErkJggg==';
  const files = { 'https://shop.example/a.png': { type: 'image/png', data: DOT } };
  const mail = page('<img src="https://shop.example/a.png" alt="A red dot" width="80" height="60">');

  test('without images the alternative texts show, and a mail without images is the same', async () => {
    const off = { ...clientOf('images_off'), width: 400 };
    assert.notEqual(await picture(mail, off), await picture(mail, BARE, { files }));
    assert.equal(await picture(PLAIN, off), await picture(PLAIN, BARE));
    assert.deepEqual(places(dress(mail, off)), { 'images-off': 1 });
    assert.notEqual(await picture(mail, off), await picture(mail.replace('A red dot', ''), off));
  });

  test('an image of a type that the client does not show has its alternative text', async () => {
    const types = { 'https://shop.example/a.png': 'image/webp' };
    const dressed = dress(mail, clientOf('outlook2021_win11_lm_dt'), { types });
    assert.deepEqual([dressed.hidden, places(dressed)], [['https://shop.example/a.png'], { 'image-webp': 1 }]);
    assert.deepEqual(dress(mail, clientOf('applemail16'), { types }).hidden, []);
    assert.notEqual((await draw(dressed.html, { files })).png, await picture(mail, BARE, { files }));
  });

  test('the plain-text part is a page of its own', async () => {
    const text = clientOf('text');
    const { html } = dress(mail, text, { text: 'One <b>\n\nTwo' });
    assert.match(html, /<pre>\nOne &lt;b&gt;\n\nTwo<\/pre>/);
    assert.ok((await draw(html, { width: 600 })).height > 40);
  });

  test('the same mail gives the same bytes twice, also with an endless animation', async () => {
    const moving = page('<style>@keyframes k{from{margin-left:0}to{margin-left:300px}}p{animation:k 0.3s infinite alternate}</style><p>Words</p><p style="animation:k 0.3s infinite !important">Words</p><marquee>Runs</marquee>');
    const first = await picture(moving, BARE);
    assert.equal(await picture(moving, BARE), first);
    assert.equal(await picture(mail, BARE, { files }), await picture(mail, BARE, { files }));
  });

  test('a wide mail is made smaller on a phone, and a picture has the density of its client', async () => {
    const wide = page('<table width="786"><tr><td style="background:#cde">Wide</td></tr></table>');
    const phone = await draw(dress(wide).html, { width: 393, density: 2, zoomsOut: true });
    const desktop = await draw(dress(wide).html, { width: 393, density: 2 });
    assert.equal(phone.width, 786);
    assert.ok(phone.height < desktop.height);
  });
});
