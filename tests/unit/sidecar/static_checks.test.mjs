// The checks of the engine "static": a clean mail has no finding, and a mail with one planted fault has findings of that check only (D-39). Every declared
// check has a planted mail.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';

import { CHECK_IDS, checkMail } from '../../../src/render/sidecar/quality/static/check_mail.mjs';
import { prepareHtml } from '../../../src/render/sidecar/html/prepare.mjs';

const DECLARED = JSON.parse(readFileSync(new URL('../../../schemas/checks/static.json', import.meta.url), 'utf8'));
const ADDRESS = 'Harbour Books, 12 Quay Street, Falmouth TR11 3HH';
const SHOP = 'https://harbourbooks.co.uk';

const IMAGE = `<img src="${SHOP}/tide.jpg" alt="A sailing boat at high tide" width="560">`;
const BODY = `<h1>The winter list is here</h1><p>Dear {{ contact.firstName | default: 'reader' }}, twelve new books have arrived at our shop by the quay, and each of them has been read by one of us.</p>
${IMAGE}<h2>The Salt Road</h2><p>A pilot, a lighthouse and a storm of 1987. <a href="${SHOP}/salt-road">Read the first chapter</a></p>`;
const FOOT = `<table role="presentation"><tr><td><p>${ADDRESS}</p><p><a href="{{ unsubscribeUrl }}">Unsubscribe</a></p></td></tr></table>`;

/** A design as it is stored. `head` and `attrs` belong to the document. */
const designOf = ({ body = BODY, foot = FOOT, head = '', attrs = 'lang="en" dir="ltr"' }) => `<!DOCTYPE html><html ${attrs}><head><title>Winter list</title>${head}</head><body>${body}${foot}</body></html>`;
/** The design as the sample contact gets it. */
const fill = (design) => design.replace(/\{\{ contact\.\w+(?: \| default: '(\w*)')? \}\}/g, (_, word) => word ?? '').replace('{{ unsubscribeUrl }}', 'https://mail.harbourbooks.co.uk/u/Zm9vYmFyYmF6cXV4MTIz');

const readerText = (html) => prepareHtml({ content: html }).text;

function mailOf({ design, html, text, ...others }) {
  const stored = typeof design === 'string' ? design : designOf(design ?? {});
  const shown = html ?? fill(stored);
  return {
    design: stored, html: shown, text: text === undefined ? readerText(shown) : text, subject: 'Twelve books for the winter', previewText: 'Our readers chose them one by one, from sea to mountain.',
    purpose: 'marketing', address: ADDRESS, emptyTags: [], pictures: { [`${SHOP}/tide.jpg`]: { frames: 1, loops: 1, bytes: 100 } }, ...others,
  };
}

const findingsOf = (report) => report.checks.flatMap(({ id, findings }) => findings.map((finding) => ({ id, ...finding })));
const withBody = (more) => ({ design: { body: BODY + more } });
const LONG = '<p>The sea was calm that day and nobody on the pier saw the boat leave, for all of them looked at the sky. </p>'.repeat(14);

/** A link to unsubscribe whose text does not say so. */
const SILENT_LINK = '<p><a href="{{ unsubscribeUrl }}">No more letters</a></p>';

/** check → a mail with that fault, or several. */
const PLANTED = {
  imageAlt: withBody(`<img src="${SHOP}/b.png" width="100">`),
  imageAltFileName: [withBody(`<img src="${SHOP}/b.png" alt="hero_v2-final.png" width="100">`), withBody(`<img src="${SHOP}/hero_v2.png?x=1" alt="hero_v2" width="100">`), withBody(`<img src="${SHOP}/b.png" alt="IMG_2034" width="100">`)],
  imageOnly: { design: { body: `<a href="${SHOP}/sale"><img src="${SHOP}/sale.jpg" alt="Our sale begins today" width="600"></a>`, foot: '<a href="{{ unsubscribeUrl }}">Unsubscribe</a> 12 Quay Street, Falmouth TR11 3HH' }, address: '12 Quay Street, Falmouth TR11 3HH' },
  imageSize: withBody(`<img src="${SHOP}/b.png" alt="A red boat">`),
  imageAnimation: { pictures: { [`${SHOP}/tide.jpg`]: { frames: 24, loops: 0, bytes: 100 } } },
  tableRole: withBody('<table><tr><td>Boats</td><td>Books</td></tr></table>'),
  headingOrder: withBody('<h4>Opening hours</h4>'),
  headingMissing: { design: { body: BODY.replace(/h[12]>/g, 'p>') + LONG } },
  headingEmpty: withBody('<h2> <span></span></h2>'),
  languageTag: [{ design: { attrs: 'dir="ltr"' } }, { design: { attrs: 'lang="xx-english!"' } }, { design: { attrs: 'lang="qqx"' } }],
  languageOfText: [{ design: { attrs: 'lang="de"' } }, { design: { attrs: 'lang="en"', body: `<h1>Зимний список</h1><p>${'Двенадцать новых книг прибыли в наш магазин у причала. '.repeat(4)}</p>` } },
    { design: { attrs: 'lang="ru"', body: `<h1>冬の新刊</h1><p>${'港の店に新しい本が十二冊届きました。'.repeat(6)}</p>` } }],
  textDirection: withBody('<p>ברוכים הבאים לחנות שלנו</p>'),
  textSize: [withBody('<p style="font-size:12px">The small print of this offer</p>'), withBody('<p style="font:bold 0.7em/1.4 Arial">The small print</p>'), withBody('<font size="2">The small print</font>'), withBody('<p style="font-size:13.9px">abc</p>')],
  textJustified: [withBody('<p style="text-align: justify">The sea was calm that day.</p>'), withBody('<table role="presentation"><tr><td align="JUSTIFY">The sea was calm that day.</td></tr></table>')],
  linkName: [withBody(`<p><a href="${SHOP}/x"><span> </span></a></p>`), withBody(`<p>See <a href="${SHOP}/x"><img src="${SHOP}/b.png" alt="" width="20"></a></p>`)],
  linkNameVague: [...['click here', 'Hier klicken!', 'cliquez ici', 'haz clic aquí', 'Leggi di più', 'lees meer', 'saiba mais', 'kliknij tutaj', 'läs mer'].map((text) => withBody(`<p>Our shop: <a href="${SHOP}/x">${text}</a></p>`)),
    withBody(`<p>Our shop: <a href="${SHOP}/x">Read more →</a></p>`)],
  linkNameAmbiguous: withBody(`<p><a href="${SHOP}/1">Order the book</a> and then <a href="${SHOP}/2">order the book</a></p>`),
  linkRepeated: [withBody(`<p><a href="${SHOP}/x"><img src="${SHOP}/b.png" alt="A red boat" width="20"></a> <a href="${SHOP}/x">The red boat</a></p>`),
    withBody(`<p><a href="${SHOP}/x">The red boat</a> <a href="${SHOP}/x">and its sails</a></p>`)],
  linkEmpty: [withBody('<p><a href="#">Our opening hours</a></p>'), withBody('<p><a href="">Our opening hours</a></p>'), withBody('<p><a>Our opening hours</a></p>'), withBody('<p><a href="javascript:void(0)">Our opening hours</a></p>'), withBody('<p><a href="#nowhere">Our opening hours</a></p>')],
  linkAddress: [withBody('<p><a href="www.harbourbooks.co.uk">Our shop</a></p>'), withBody('<p><a href="/hours.html">Our opening hours</a></p>'), withBody('<p><a href="https://">Our shop</a></p>'), withBody('<p><a href="//harbourbooks.co.uk">Our shop</a></p>')],
  linkLocal: ['http://localhost:3000/a', 'https://127.0.0.1/', 'http://10.1.2.3/a', 'http://172.16.0.1/', 'http://172.31.0.1/', 'http://100.127.0.1/', 'http://192.168.1.4/', 'http://169.254.0.9/', 'http://100.64.0.1/', 'http://[::1]/', 'http://[fd00::1]/', 'http://[::ffff:10.0.0.1]/', 'http://printer.local/',
    'http://staging.internal/', 'http://intranet/a', 'http://2130706433/', 'http://0x7f.1/'].map((href) => withBody(`<p><a href="${href}">Our staging shop</a></p>`)),
  subjectMissing: [{ subject: '' }, { subject: null }],
  subjectLength: { subject: 'Twelve books for the winter, chosen by readers, and a long evening with all of their authors' },
  subjectCapitals: { subject: 'TWELVE BOOKS FOR THE WINTER' },
  preheaderMissing: { previewText: null },
  preheaderShort: { previewText: 'Chosen by readers.' },
  preheaderRepeated: { previewText: 'Twelve books for the winter! And even a few more of them.' },
  placeholderText: [{ design: { body: `<div style="display:none">Insert text here about the winter list</div>${BODY}` }, previewText: null }, withBody('<p>Lorem ipsum and so on</p>'), withBody('<p>Dear [First Name],</p>'), withBody('<p>TODO: write this part</p>'), withBody('<p>Call xxx at noon</p>'), withBody('<p>[your postal address]</p>'), withBody('<p>Your text here</p>'), { subject: 'A book for [Name] this winter' }],
  placeholderLink: [withBody('<p><a href="https://www.example.com/a">Our shop</a></p>'), withBody('<p><a href="https://yourdomain.com">Our shop</a></p>'), withBody('<img src="https://placehold.co/600" alt="A boat" width="20">'), { ...withBody('<p><a href="https://www.example.org/{{ contact.email }}">Our shop</a></p>') }],
  mergeTagForeign: [withBody('<p>Dear *|FNAME|*,</p>'), withBody('<p>Dear %%first_name%%,</p>'), withBody('<p>Dear {$name},</p>'), { subject: 'A winter for %recipient.name%' }],
  mergeTagDefault: [withBody('<p>Yours, {{ contact.lastName }}</p>'), { subject: 'Twelve books for {{ firstName }}' }],
  mergeTagEmpty: { ...withBody('<p>Yours, {{ contact.lastName }}</p>'), emptyTags: [{ path: 'contact.lastName', contacts: 80, empty: 3 }] },
  textMissing: [{ text: null }, { text: '  \n' }],
  textDiffers: [{ text: 'An invitation to our general meeting. Members vote about rooms, fees and next summer, as every autumn. Please bring your card and tell neighbours about it, whether they belong to us or not.' },
    { text: readerText(fill(designOf({}))).replace('1987', '1978') },
    { design: { attrs: 'lang="ja"', body: '<p>港の店に新しい本が十二冊届きました。どうぞお越しください。</p>' }, text: '今日は天気がよいので、海まで歩いて行こうと思います。空には雲一つない。' }],
  unsubscribeLink: [{ design: { foot: `<p>${ADDRESS}</p>` } }, { design: { foot: `<p>${ADDRESS}</p>${SILENT_LINK}` }, html: fill(designOf({ foot: `<p>${ADDRESS}</p>` })) },
    { design: { foot: `<p>${ADDRESS}</p><div style="display:none"><a href="{{ unsubscribeUrl }}">Unsubscribe</a></div>` } }],
  postalAddress: [{ design: { foot: FOOT.replace(ADDRESS, 'Harbour Books') } }, { design: { foot: FOOT.replace(ADDRESS, 'Harbour Books, since 1987') }, address: null }],
  htmlSize: { html: `${fill(designOf({}))}<!--${'x'.repeat(96 * 1024)}-->` },
  cssSupport: [withBody('<p style="display:flex">Boats and books</p>'), withBody('<p style="margin-inline-start:4px">Boats</p>'), withBody('<p style="margin:1vmax">Boats</p>'),
    { design: { head: '<style>@media (hover) { p:focus-within::marker { color: oklch(50% 0 0) } }</style>' } }],
  htmlSupport: withBody('<form><p>Boats and books</p></form>'),
  imageSupport: withBody(`<img src="${SHOP}/b.svg" alt="A red boat" width="20">`),
};

const list = (value) => (Array.isArray(value) ? value : [value]);

describe('the checks of a mail (D-39)', () => {
  test('are those that are declared, with 80 planted mails and more', () => {
    assert.ok(Object.values(PLANTED).flat().length >= 80);
    assert.deepEqual([...CHECK_IDS].sort(), DECLARED.map(({ id }) => id).sort());
    assert.deepEqual(Object.keys(PLANTED).sort(), [...CHECK_IDS].sort());
    for (const { severity } of DECLARED) assert.ok(['blocker', 'error', 'warning', 'info'].includes(severity));
  });

  test('find nothing in a clean mail, and each is reported once', () => {
    const report = checkMail(mailOf({}));
    assert.deepEqual(findingsOf(report), []);
    assert.deepEqual(report.checks.map(({ id }) => id), CHECK_IDS);
    assert.deepEqual(report.metrics, { htmlBytes: Buffer.byteLength(fill(designOf({}))), linkCount: 2, imageCount: 1, gifCount: 0 });
    for (const { id, status, reason } of report.checks) assert.equal(status, id === 'textDirection' ? 'not_applicable' : 'passed', `${id} ${reason ?? ''}`);
  });

  for (const [id, mails] of Object.entries(PLANTED)) {
    test(`${id} is found where it is planted, and nothing else`, () => {
      for (const mail of list(mails)) {
        const report = checkMail(mailOf(mail));
        const found = findingsOf(report);
        assert.ok(found.length > 0, `nothing is found in ${JSON.stringify(mail)}`);
        assert.deepEqual([...new Set(found.map((finding) => finding.id))], [id], JSON.stringify(found, null, 1));
        for (const { message, key, source = '' } of found) {
          assert.match(message, /^[^\n]+\.$/u);
          assert.ok(key.length > 0 && source.length <= 200);
        }
        assert.equal(report.checks.find((check) => check.id === id).status, 'issues');
      }
    });
  }
});

describe('a finding', () => {
  const bodyWith = (body) => checkMail(mailOf({ design: { body } }));

  test('names its place and keeps its key when the mail is edited elsewhere', () => {
    const planted = `<p><a href="${SHOP}/x?{{ contact.email }}"></a></p>`;
    const [first] = findingsOf(bodyWith(BODY + planted));
    const [second] = findingsOf(bodyWith(`<p>New at the top</p>${BODY}${planted}`));
    assert.equal(first.selector, 'html > body > p:nth-of-type(3) > a');
    assert.equal(first.source, `<a href="${SHOP}/x?{{ contact.email }}">`);
    assert.equal(findingsOf(bodyWith(`${BODY}<p>A: <a href="/x"> Our {{ brand.name }} </a></p>`))[0].source, '<a href="/x">Our {{ brand.name }}');
    assert.notEqual(second.selector, first.selector);
    assert.equal(second.key, first.key);
  });

  test('counts in words', () => {
    const messageOf = (id, mail) => findingsOf(checkMail(mailOf(mail))).find((finding) => finding.id === id).message;
    assert.equal(messageOf('imageOnly', PLANTED.imageOnly), 'The mail has an image and 39 characters of text.');
    assert.equal(messageOf('textSize', PLANTED.textSize[0]), '24 letters have a size of 12 px, which is under 14 px.');
    for (const style of ['font-size:75%', 'font-size:9pt', 'font-size:.75em', 'font-size:0.75rem', 'font:italic 12px/20px Arial']) {
      assert.match(messageOf('textSize', withBody(`<p style="${style}">Small print</p>`)), /a size of 12 px/);
    }
    assert.equal(messageOf('linkNameAmbiguous', PLANTED.linkNameAmbiguous), 'Links with the text “order the book” lead to 2 addresses.');
    assert.equal(messageOf('mergeTagEmpty', PLANTED.mergeTagEmpty), '“contact.lastName” is empty for 3 of 80 contacts, and its merge tag has no default.');
    assert.equal(messageOf('textDiffers', PLANTED.textDiffers[1]), 'Only the HTML has 1987, and only the plain text 1978.');
  });

  test('has a selector from the nearest id, of 300 characters at most', () => {
    const selectorIn = (before, after) => findingsOf(bodyWith(`${BODY}${before}<p><a href="/x">Our hours</a></p>${after}`))[0].selector;
    assert.equal(selectorIn('<div id="foot"><div>', '</div></div>'), '#foot > div > p > a');
    const deep = selectorIn('<div>'.repeat(100), '</div>'.repeat(100));
    assert.ok(deep.length <= 300 && deep.length > 280);
    assert.match(deep, /^div > div > .* > p > a$/);
  });

  test('has a key of its own where a fault is there twice', () => {
    const keys = findingsOf(bodyWith(`${BODY}<p>One: <a href="${SHOP}/x">here</a></p><p>Two: <a href="${SHOP}/x">here</a></p>`)).map(({ key }) => key);
    assert.deepEqual(keys, [`here ${SHOP}/x`, `here ${SHOP}/x (2)`]);
  });

  test('is one of 50 at most, and the rest are counted', () => {
    const report = bodyWith(BODY + Array.from({ length: 70 }, (_, i) => `<p><a href="/${i}">Page ${i}</a></p>`).join(''));
    const { findings, more } = report.checks.find(({ id }) => id === 'linkAddress');
    assert.deepEqual([findings.length, more], [50, 20]);
  });
});

describe('what belongs to no fault', () => {
  const clean = {
    'an image without a message': withBody('<img src="https://harbourbooks.co.uk/line.png" alt="" width="600"><img src="https://harbourbooks.co.uk/o.gif" width="1" height="1"><img src="https://harbourbooks.co.uk/p.png" role="presentation" width="20">'),
    'an animation that ends, and one that repeats three times': { pictures: { [`${SHOP}/tide.jpg`]: { frames: 24, loops: 3, bytes: 1 } } },
    'images that could not be read': { pictures: null },
    'links with a merge tag as address': withBody('<p><a href="{{ payload.url | default: \'https://harbourbooks.co.uk\' }}">Your order</a></p>'),
    'mail, telephone and an anchor of the mail': withBody('<p><a href="mailto:a@harbourbooks.co.uk">Write to us</a> or <a href="tel:+44123">call us</a></p>'),
    'public numbers beside private ones': withBody(['9.1.1.1', '11.1.1.1', '100.63.1.1', '100.128.1.1', '126.1.1.1', '169.253.1.1', '172.15.1.1', '172.32.1.1', '192.167.1.1', '[2001:db8::1]'].map((host, i) => `<p><a href="http://${host}/">Mirror ${i}</a></p>`).join('')),
    'words of a style sheet': { design: { head: '<style>/* TODO: [Name], lorem ipsum */</style>' } },
    'tags in a loop, behind a condition, and assigned': withBody('<p>{% assign town = "Falmouth" %}{{ town }}{% for item in payload.items %}{{ item.name }}{% endfor %}{% if contact.lastName %}{{ contact.lastName }}{% endif %}{% raw %}{{ x }}{% endraw %}</p>'.replaceAll('\n', '')),
    'a short word in capitals and a size of clothes': { ...withBody('<p>Shirts in XXL and XXX-Large</p>'), subject: 'BBC NEWS' },
    'a short mail with a logo': { design: { body: `<img src="${SHOP}/logo.png" alt="Harbour Books" width="120"><p>We open at nine.</p>` } },
    'properties that are switched off': withBody('<p style="border-radius:0px;box-shadow:none;overflow:visible;outline:0">Boats</p>'),
    'a mark of two small letters, and small figures in a table of data': withBody('<p>Boats<span style="font-size:9px">TM</span></p><table><tr><th scope="col">Boat</th></tr><tr><td>Margaret</td></tr></table>'),
    'the text of a link that is no link': withBody('<p><a name="chapter">Read the first chapter</a></p>'),
    'a subject of 60 characters and a preheader of 30': { subject: 'Boats '.repeat(10).trim().padEnd(60, '!'), previewText: 'Books about boats, by sailors.' },
    'a short mail in Japanese, beside an image': { design: { attrs: 'lang="ja"', body: `${IMAGE}<p>港の店に新しい本が十二冊届きました。どうぞお越しください。</p>`, foot: `<p>${ADDRESS}</p><p><a href="{{ unsubscribeUrl }}">配信停止</a></p>` } },
    'a declaration without a value': withBody('<p style="displayflex; color:red">Boats</p>'),
    'small text that is hidden': withBody(['style="display:none', 'style="visibility:hidden', 'style="max-height:0px', 'style="opacity:0.0', 'hidden style="margin:0'].map((attrs) => `<div ${attrs};font-size:1px">Lorem ipsum [Name]</div>`).join('')),
    'text from right to left with its direction': withBody('<p dir="rtl">ברוכים הבאים לחנות שלנו</p>'),
    'a link to unsubscribe whose text and address do not say so': { design: { foot: `<p>${ADDRESS}</p>${SILENT_LINK}` }, html: fill(designOf({ foot: `<p>${ADDRESS}</p>${SILENT_LINK}` })).replace('/u/', '/z/') },
    'another link to unsubscribe, in German': { design: { foot: `<p>${ADDRESS}</p><p><a href="https://harbourbooks.co.uk/list/1">Vom Newsletter abmelden</a></p>` } },
  };
  for (const [name, mail] of Object.entries(clean)) {
    test(name, () => {
      const filled = mailOf(mail);
      // What a sample contact gets of these tags does not matter here.
      filled.html = filled.html.replace(/\{%[^%]*%\}|\{\{[^}]*\}\}/g, '');
      assert.deepEqual(findingsOf(checkMail(filled)), []);
    });
  }

  test('transactional mail needs neither a link to unsubscribe nor an address', () => {
    const report = checkMail(mailOf({ design: { foot: '' }, purpose: 'transactional' }));
    assert.deepEqual(findingsOf(report), []);
    for (const id of ['unsubscribeLink', 'postalAddress']) assert.equal(report.checks.find((check) => check.id === id).status, 'not_applicable');
  });

  test('a design alone is checked as it is stored', () => {
    const report = checkMail({ design: designOf({}), subject: 'Twelve books', previewText: 'Our readers chose them one by one, from sea to mountain.', text: readerText(designOf({})) });
    assert.deepEqual(findingsOf(report), []);
  });
});

describe('a check that is not applicable says why', () => {
  const reasonOf = (id, mail) => {
    const { status, reason, findings } = checkMail(mailOf(mail)).checks.find((check) => check.id === id);
    assert.deepEqual([status, findings], ['not_applicable', []]);
    return reason;
  };
  const bare = { design: { body: '<p>We open at nine.</p>', foot: `<p>${ADDRESS}</p>` }, purpose: 'transactional' };
  for (const [id, mail, reason] of [
    ['mergeTagDefault', bare, 'The mail has no merge tags.'], ['mergeTagEmpty', { ...bare, emptyTags: null }, 'The mail has no merge tags.'],
    ['mergeTagEmpty', { emptyTags: null }, 'The values of the contacts were not counted.'], ['linkName', bare, 'The mail has no links.'], ['headingOrder', bare, 'The mail has no headings.'],
    ['imageAlt', bare, 'The mail has no images.'], ['imageAnimation', bare, 'The mail has no images.'], ['imageAnimation', { pictures: {} }, 'The images could not be read.'],
    ['imageSupport', bare, 'The mail has no images of a known format.'], ['tableRole', bare, 'The mail has no tables.'], ['subjectLength', { subject: null }, 'The mail has no subject.'],
    ['preheaderShort', { previewText: null }, 'The mail has no preheader.'], ['textDiffers', { text: null }, 'The mail has no plain text.'],
  ]) test(`${id}: ${reason}`, () => assert.equal(reasonOf(id, mail), reason));
});

describe('severities', () => {
  const severityOf = (id, mail) => {
    const finding = findingsOf(checkMail(mailOf(mail))).find((one) => one.id === id);
    return finding.severity ?? DECLARED.find((check) => check.id === id).severity;
  };
  test('of the size: a warning from 95 KB on, an error from 102 KB on', () => {
    const html = (bytes) => `${fill(designOf({}))}<!--`.padEnd(bytes - 3, 'x') + '-->';
    assert.deepEqual(findingsOf(checkMail(mailOf({ html: html(95 * 1024 - 1) }))), []);
    assert.equal(severityOf('htmlSize', { html: html(95 * 1024) }), 'warning');
    assert.equal(severityOf('htmlSize', { html: html(102 * 1024 - 1) }), 'warning');
    assert.equal(severityOf('htmlSize', { html: html(102 * 1024) }), 'error');
    assert.equal(findingsOf(checkMail(mailOf({ html: html(96 * 1024) })))[0].message, 'The HTML has 96 KB; Gmail hides what follows 102 KB.');
  });
  test('of features: by the clients and by what is lost', () => {
    assert.equal(severityOf('cssSupport', PLANTED.cssSupport[0]), 'warning');
    assert.equal(severityOf('cssSupport', withBody('<p style="border-radius:4px">Boats</p>')), 'info');
    const [{ message, source, key }] = findingsOf(checkMail(mailOf(withBody('<p style="border-radius:4px">Boats</p><p style="border-radius:8px">Books</p>'))));
    assert.match(message, /^Outlook \(Windows\), .* lack border-radius \(tested 2021-03-09\)\.$/);
    assert.deepEqual([source, key], ['border-radius: 4px', 'css-border-radius']);
  });
  test('of merge tags that are empty for all contacts: an error', () => {
    assert.equal(severityOf('mergeTagEmpty', { ...PLANTED.mergeTagEmpty, emptyTags: [{ path: 'lastName', contacts: 9, empty: 9 }] }), 'error');
  });
  test('of merge tags of an event without a default: an info, since its contract may require them', () => {
    assert.equal(severityOf('mergeTagDefault', PLANTED.mergeTagDefault[0]), 'warning');
    assert.equal(severityOf('mergeTagDefault', withBody('<p>Order {{ payload.number }}</p>')), 'info');
  });
  test('a mail without a link to unsubscribe is a blocker', () => assert.equal(severityOf('unsubscribeLink', PLANTED.unsubscribeLink[0]), 'blocker'));
});
