// JSX: rendered in a browser without network as react-email renders it. Designs that loop, fetch, read or grow are
// errors that name the place and the reason, in bounded time, and the next design is rendered all the same.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { Browser, findBrowser } from '../../../src/render/side/browser.mjs';
import { compileDesign } from '../../../src/render/side/compile.mjs';
import { build } from '../../../src/render/side/compiler.mjs';
import { JsxRenderer } from '../../../src/render/side/jsx.mjs';
import { LIMITS } from '../../../src/render/side/limits.mjs';
import { prepareHtml } from '../../../src/render/side/prepare.mjs';
import { findHazards } from './hazards.mjs';

const SIDE = fileURLToPath(new URL('../../../src/render/side/', import.meta.url));
const require = createRequire(join(SIDE, 'package.json'));

const fails = (message) => ({ code: 'EMAIL_IMPORT_FAILED', param: 'source.content', message });
const isAlive = (pid) => existsSync(`/proc/${pid}`);

/** The browsers' folders are made here, by their user, and must all be gone at the end. */
const folder = mkdtempSync(join(tmpdir(), 'jsx-test-'));
chmodSync(folder, 0o1777);
process.env.TMPDIR = folder;
after(async () => {
  await until(() => readdirSync(folder).length === 0);
  rmSync(folder, { recursive: true });
});

async function until(holds) {
  for (let tries = 0; tries < 2400 && !holds(); tries++) await new Promise((done) => { setTimeout(done, 25); });
  assert.ok(holds());
}

const NEWSLETTER = `
import { Body, Button, Column, Container, Head, Heading, Hr, Html, Img, Link, Preview, Row, Section, Tailwind, Text } from '@react-email/components';
import { Markdown } from '@react-email/markdown';
import * as React from 'react';

interface Props { name?: string; items: { title: string; price: number }[] }

const Item = ({ title, price }: Props['items'][0]) => <Row><Column>{title}</Column><Column align="right">{price.toFixed(2)} €</Column></Row>;

export default function Newsletter({ name = 'friend', items }: Props) {
  const heading = React.useMemo(() => \`Hello \${name}\`, [name]);
  return (
    <Html lang="en">
      <Tailwind>
        <Head><title>Spring letter</title></Head>
        <Preview>Tulips inside</Preview>
        <Body className="bg-white font-sans">
          <Container className="mx-auto p-4 sm:p-2">
            <Img src="https://e.example/a.png" alt="A tulip" width="200" />
            <Heading className="text-2xl text-green-700">{heading}</Heading>
            <Text>Dear {'{{ firstName | default: "there" }}'}, 3 &lt; 4 &amp; more</Text>
            <Section>{items.map((item) => <Item key={item.title} {...item} />)}</Section>
            <Hr />
            <Markdown>{'**Bold** words'}</Markdown>
            <Button href="https://e.example/shop" className="bg-black px-4 py-2 text-white">Shop now</Button>
            <Link href="{{ unsubscribeUrl }}">Leave</Link>
          </Container>
        </Body>
      </Tailwind>
    </Html>
  );
}
Newsletter.PreviewProps = { name: 'Ada', items: [{ title: 'Bulbs', price: 4.5 }, { title: 'Pots', price: 12 }] } satisfies Props;
`;

/** What react-email itself renders in Node: the design is bundled with its real imports, in a file among its packages. */
async function renderedByReactEmail(source) {
  const folder = mkdtempSync(join(SIDE, 'node_modules', '.judge-'));
  try {
    const { outputFiles } = await build({ stdin: { contents: source, loader: 'tsx', resolveDir: SIDE }, bundle: true, packages: 'external', write: false, format: 'esm', jsx: 'automatic' });
    writeFileSync(join(folder, 'design.mjs'), outputFiles[0].text);
    const { default: Design } = await import(pathToFileURL(join(folder, 'design.mjs')));
    const { createElement } = require('react');
    return await require('@react-email/render').render(createElement(Design, Design.PreviewProps));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Which marks React leaves depends on where it runs; they mean nothing without a browser. */
const withoutMarks = (html) => html.replace(/<!--(?: |\/?\$|html|head|body)?-->/g, '');

describe('JSX', () => {
  let renderer;
  before(() => { renderer = new JsxRenderer(); });
  after(() => renderer.close());

  test('R-224: before it is cleaned it is what react-email makes of it', async () => {
    assert.equal(await renderer.render(NEWSLETTER), withoutMarks(await renderedByReactEmail(NEWSLETTER)));
  });

  test('R-224: goes the way of HTML: safe, described, with a text part and its template expressions', async () => {
    const { html, text, title, previewText, links, images, slots, report } = prepareHtml({ content: await renderer.render(NEWSLETTER) });
    assert.deepEqual(findHazards(html), []);
    assert.deepEqual(report.warnings, []);
    assert.deepEqual([title, previewText], ['Spring letter', 'Tulips inside']);
    for (const words of ['Hello Ada', 'Dear {{ firstName | default: "there" }}, 3 < 4 & more', 'Bulbs', '4.50 €', '12.00 €', 'Bold words', 'Shop now <https://e.example/shop>']) {
      assert.ok(text.includes(words), `${words} in ${text}`);
    }
    assert.deepEqual(links.map(({ href }) => href), ['https://e.example/shop', '{{ unsubscribeUrl }}']);
    assert.deepEqual(images, [{ src: 'https://e.example/a.png', alt: 'A tulip' }]);
    assert.deepEqual(slots, ['firstName | default: "there"', 'unsubscribeUrl']);
    assert.match(html, /@media[^{]+\{\s*\.sm_p-2/);
  });

  test('equal sources give equal bytes, and one design sees nothing of another', async () => {
    const first = await renderer.render(NEWSLETTER);
    await renderer.render(`import * as React from 'react';
      Object.assign(globalThis, { left: 1 }); (React as any).createElement = null; Array.prototype.map = null as any;
      export default () => <p>x</p>;`).catch(() => {});
    assert.equal(await renderer.render(NEWSLETTER), first);
    assert.match(await renderer.render('export default () => <p>{typeof (globalThis as any).left}</p>'), /<p>undefined<\/p>/);
  });

  test('components may be async, a class or without props', async () => {
    assert.match(await renderer.render('export default async () => { await null; return <p>later</p>; }'), /<p>later<\/p>/);
    assert.match(await renderer.render("import React from 'react';\nexport default class extends React.Component { render() { return <p>class</p>; } }"), /<p>class<\/p>/);
    assert.match(await renderer.render("import { CodeBlock, dracula } from '@react-email/components';\nexport default () => <CodeBlock code='let x = 1' language='javascript' theme={dracula} />"), /<span style="[^"]*">let<\/span>/);
    assert.match(await renderer.render("import { Text } from 'react-email';\nexport default () => <Text>one package</Text>"), /one package/);
  });

  const OUTSIDE = 'is not available; an email is rendered without network, files and environment; write the value into the design or into PreviewProps.';
  const IMPORTS = 'cannot be imported; a design is one file and may import only react, @react-email/components and its parts such as @react-email/button.';
  const COMPUTED = 'The JSX cannot be compiled: import() and require of a computed path are not available; import at the top of the file.';
  const BAD = [
    ['fetches', 'const a = 1;\nexport default async () => { await fetch("http://e.example/"); return <p/>; }', `Line 2: fetch ${OUTSIDE}`],
    ['fetches by another name', 'export default async () => {\n  await (globalThis as any)["fe" + "tch"]("http://127.0.0.1/");\n  return <p/>; }', /^Line 2: TypeError: Failed to fetch\.$/],
    ['reads the environment', '\nconst base = process.env.URL;\nexport default () => <p>{base}</p>', `Line 2: process ${OUTSIDE}`],
    ['reads it through window', 'export default () => <p>{(window as any).process.env.URL}{window.process}</p>', `Line 1: process ${OUTSIDE}`],
    ['imports a module of Node', 'import * as React from "react";\nimport fs from "fs";\nexport default () => <p>{fs.readFileSync("/etc/passwd")}</p>', `Line 2: 'fs' ${IMPORTS}`],
    ['imports it by its scheme', 'import fs from "node:fs";\nexport default () => <p>{fs.x}</p>', `Line 1: 'node:fs' ${IMPORTS}`],
    ['imports a file', 'import x from "/etc/passwd";\nexport default () => <p>{x}</p>', `Line 1: '/etc/passwd' ${IMPORTS}`],
    ['imports a neighbour', 'import { x } from "../x";\nexport default () => <p>{x}</p>', `Line 1: '../x' ${IMPORTS}`],
    ['imports an address', 'import x from "https://e.example/x.js";\nexport default () => <p>{x}</p>', `Line 1: 'https://e.example/x.js' ${IMPORTS}`],
    ['exports from a file', 'export * from "./x";\nexport default () => <p/>', `Line 1: './x' ${IMPORTS}`],
    ['requires', '\n\nconst fs = require("fs");\nexport default () => <p>{fs}</p>', 'Line 3: require is not available; use import.'],
    ['requires in a roundabout way', 'const r = require;\nexport default () => <p>{r("fs")}</p>', 'Line 1: require is not available; use import.'],
    ['imports late', 'export default async () => <p>{await import("react")}</p>', 'Line 1: import() is not available; import at the top of the file.'],
    ['imports late what it computes', 'export default async () => { const x = "rea";\n return <p>{await import(x + "ct")}</p> }', 'Line 2: import() is not available; import at the top of the file.'],
    ['reads files by a pattern', 'export default () => { const x = "a"; return <p>{String(import(`./${x}.json`))}{require("../" + x + ".mjs")}</p> }', COMPUTED],
    ['looks for files by a pattern', 'export default () => { const x = "a";\n return <p>{require(`./${x}.not-there`)}</p> }', COMPUTED],
    ['looks for files in a folder that is not there', 'export default () => { const x = "a"; return <p>{require(`./not-there/${x}.json`)}</p> }', COMPUTED],
    ['evaluates', 'export default () => <p>{eval("1")}</p>', 'Line 1: eval is not available.'],
    ['evaluates through Function', 'export default () => <p>{new Function("return 1")()}</p>', /^Line 1: EvalError/],
    ['imports what is not there', 'import { Htlm } from "@react-email/components";\nexport default () => <Htlm/>', 'Line 1: No matching export for import "Htlm".'],
    ['uses what is not there', 'import * as C from "@react-email/components";\nexport default () => <div>\n<C.Foo/></div>', /^Line 3: Import "Foo" will always be undefined/],
    ['is no JavaScript', 'export default () => <p>\n<b></p>', /^Line 2: Unexpected closing "p" tag does not match opening "b" tag/],
    ['awaits at the top', '\nawait null;\nexport default () => <p/>', 'Line 2: await can only stand inside of an async function.'],
    ['throws', '\n\nexport default () => { throw new Error("no luck\\nat all"); }', 'Line 3: no luck at all.'],
    ['throws at the top', '\n\nconst x: any = undefined; x.y;\nexport default () => <p/>', "Line 3: TypeError: Cannot read properties of undefined (reading 'y')."],
    ['throws what is no error', 'export default () => { throw "x"; }', /: x\.$/],
    ['throws an essay', 'export default () => { throw new Error("x".repeat(1e6)); }', /^Line 1: x{199}…\.$/],
    ['misses a property', 'export default ({ user }: any) => {\n\n return <p>{user.name}</p>; }', "Line 3: TypeError: Cannot read properties of undefined (reading 'name')."],
    ['calls itself without end', 'const f = (n: number): number =>\n f(n + 1) + 1;\nexport default () => <p>{f(1)}</p>', 'Line 1: RangeError: Maximum call stack size exceeded.'],
    ['uses an undefined component', 'const A: any = undefined;\nexport default function Letter() { return <div><A/></div>; }', /^The JSX fails when it is rendered, in div in Letter: Element type is invalid/],
    ['has no default export', 'export const A = () => <p/>', 'The JSX has no default export; export the email component as default.'],
    ['exports an element', 'export default <p/>', 'The default export of the JSX is not a component; export a function that returns the email.'],
    ['leaves the page', 'export default async () => { (globalThis as any)["loca" + "tion"].href = "https://e.example/"; await new Promise((r) => setTimeout(r, 2000)); return <p/> }', 'The JSX fails when it is rendered: the page was left.'],
    ['renders too much', 'export default () => <p>{"x".repeat(6e6)}</p>', 'The JSX renders more than 5000000 characters.'],
    ['grows a string', 'export default () => { let a = "x"; for (;;) a += a; }', 'Line 1: RangeError: Invalid string length.'],
    ['replaces what renders it', 'globalThis.__designs.run = null;\nexport default () => <p/>', /TypeError|did not render/],
    ['answers in its place', 'Object.getPrototypeOf(async function () {}).call = 0; Promise.prototype.then = function () { return { html: 5 } as any; };\nexport default () => <p/>', /./],
    ['nests brackets', `export default () => ${'('.repeat(1_000)}1${')'.repeat(1_000)}`, 'The JSX is nested too deeply to be compiled.'],
    ['nests what the compiler cannot bear', `export default () => ${'!'.repeat(190_000)}1`, 'The JSX is nested too deeply to be compiled.'],
  ];
  for (const [name, source, message] of BAD) {
    test(`a design that ${name}: an error with place and reason`, async () => {
      await assert.rejects(renderer.render(source), fails(message));
    });
  }

  test('and after all of them the next one is rendered', async () => {
    assert.match(await renderer.render('export default () => <p>alive</p>'), /<p>alive<\/p>/);
  });

  test('a compilation that takes too long is an error, and the next one is done', async () => {
    const names = { react: [], components: [], codeBlock: [] };
    await assert.rejects(compileDesign('export default () => null', names, 0), { code: 'EMAIL_IMPORT_FAILED' });
    assert.match((await compileDesign('export default () => null', names)).script, /null/);
  });

  test('more than 200,000 characters are refused', async () => {
    await assert.rejects(renderer.render(`/*${'x'.repeat(LIMITS.jsxChars)}*/`), { code: 'PAYLOAD_TOO_LARGE', param: 'source.content' });
  });
});

describe('a browser that has to be ended', () => {
  const GOOD = 'export default () => <p>alive</p>';

  test('loops and memory: the browser is killed with all its processes, and started again', async () => {
    const renderer = new JsxRenderer({ renderMs: 1500 });
    const LONG = fails('The JSX takes longer than 2 seconds to render; look for a loop that does not end.');
    const BAD = [
      ['export default () => { while (true); }', LONG],
      ['export default async () => { for (;;) await null; }', LONG],
      ['const A = () => <A/>;\nexport default () => <A/>', LONG],
    ];
    for (const [source, error] of BAD) {
      assert.match(await renderer.render(GOOD), /alive/);
      const pid = renderer.browserPid;
      await assert.rejects(renderer.render(source), error);
      await until(() => execFileSync('ps', ['-A', '-o', 'pgid=']).toString().split('\n').every((group) => Number(group) !== pid));
    }
    const roomy = new JsxRenderer({ renderMs: 30_000 });
    await assert.rejects(roomy.render('export default () => { const a = []; for (;;) a.push(new Array(1e5).fill({})); }'), fails(/takes too much memory/));
    await assert.rejects(roomy.render('export default () => { const a = []; for (;;) a.push(new Uint8Array(1e8).fill(1)); }'), fails(/memory|allocation failed/));
    assert.match(await roomy.render(GOOD), /alive/);
    roomy.close();
    renderer.close();
  });

  test('its deadline counts the processor time of the page, and a page that only waits has as long', async () => {
    for (const [had, looks] of [[[50, 150, 250, 350, 450, 550], 6], [[50, 150, 150, 250], 3]]) {
      const browser = await Browser.start(findBrowser());
      const page = await browser.openPage();
      const { send } = browser;
      let looked = 0;
      browser.send = (method, ...more) => {
        if (method !== 'SystemInfo.getProcessInfo') return send.call(browser, method, ...more);
        return Promise.resolve({ processInfo: [{ type: 'renderer', id: 1, cpuTime: had[looked++] / 1000 }, { type: 'GPU', id: 2, cpuTime: looked }] });
      };
      await assert.rejects(page.runWithin('for (;;);', 500, LIMITS.jsxStartMs), { reason: 'deadline' });
      assert.equal(looked, looks);
    }
  });

  test('it is replaced after a number of designs, and ended when idle', async () => {
    const renderer = new JsxRenderer({ jobs: 2, idleMs: 300 });
    assert.equal(renderer.browserPid, null, 'nothing is started before it is needed');
    await renderer.render(GOOD);
    const first = renderer.browserPid;
    await renderer.render(GOOD);
    await renderer.render(GOOD);
    const second = renderer.browserPid;
    assert.notEqual(second, first);
    await until(() => !isAlive(first));
    await until(() => renderer.browserPid === null && !isAlive(second));
    assert.match(await renderer.render(GOOD), /alive/);
    renderer.close();
  });

  test('its death between two designs is not noticed', async () => {
    const renderer = new JsxRenderer();
    await renderer.render(GOOD);
    process.kill(-renderer.browserPid, 'SIGKILL');
    assert.match(await renderer.render(GOOD), /alive/);
    renderer.close();
  });

  test('designs that come at once are rendered one after the other', async () => {
    const renderer = new JsxRenderer();
    const results = await Promise.all([1, 2, 3].map((n) => renderer.render(`export default () => <p>n${n}</p>`)));
    assert.deepEqual(results.map((html) => /<p>(n\d)<\/p>/.exec(html)[1]), ['n1', 'n2', 'n3']);
    renderer.close();
  });

  test('without one the error names the package, and it is used as soon as it is there', async () => {
    let path = null;
    const renderer = new JsxRenderer({ find: () => path });
    await assert.rejects(renderer.render(GOOD), { code: 'SERVICE_UNAVAILABLE', message: /install the Debian package chromium-headless-shell/ });
    path = '/bin/false';
    await assert.rejects(renderer.render(GOOD), { code: 'SERVICE_UNAVAILABLE', message: /could not be started/ });
    path = '/usr/bin/chromium-headless-shell';
    assert.match(await renderer.render(GOOD), /alive/);
    renderer.close();
  });
});

test('nothing of a design reaches the network, by whatever way', async () => {
  const seen = [];
  const server = createServer((request, response) => { seen.push(request.url); response.end(); });
  server.on('connection', () => seen.push('connection'));
  await new Promise((done) => { server.listen(0, '127.0.0.1', done); });
  const address = `127.0.0.1:${server.address().port}`;
  const renderer = new JsxRenderer();
  const html = await renderer.render(`
    const g: any = globalThis;
    const [d, n] = [g['docu' + 'ment'], g['naviga' + 'tor']];
    const ways: Record<string, () => unknown> = {
      fetch: () => g['fet' + 'ch']('http://${address}/fetch'),
      image: () => { const i = d.createElement('img'); i.src = 'http://${address}/image'; d.body.append(i); },
      script: () => { const s = d.createElement('script'); s.src = 'http://${address}/script'; d.body.append(s); },
      style: () => { const l = d.createElement('link'); l.rel = 'stylesheet'; l.href = 'http://${address}/style'; d.head.append(l); },
      prefetch: () => { const l = d.createElement('link'); l.rel = 'preconnect'; l.href = 'http://${address}/'; d.head.append(l); },
      frame: () => { const f = d.createElement('iframe'); f.src = 'http://${address}/frame'; d.body.append(f); },
      inner: () => { const f = d.createElement('iframe'); d.body.append(f); return f.contentWindow['fet' + 'ch']('http://${address}/inner'); },
      form: () => { const f = d.createElement('form'); f.action = 'http://${address}/form'; f.target = '_blank'; d.body.append(f); f.submit(); },
      open: () => g.open('http://${address}/open'),
      beacon: () => n.sendBeacon('http://${address}/beacon', 'x'),
      socket: () => new g['WebSo' + 'cket']('ws://${address}/socket'),
      events: () => new g['EventSo' + 'urce']('http://${address}/events'),
      worker: () => new g['Wor' + 'ker']('http://${address}/worker'),
      rtc: async () => {
        const c = new g['RTCPeerConn' + 'ection']({ iceServers: [{ urls: 'turn:${address}?transport=tcp', username: 'u', credential: 'p' }] });
        c.createDataChannel('x'); await c.setLocalDescription(await c.createOffer());
      },
    };
    export default async () => {
      for (const way of Object.values(ways)) { try { (way() as any)?.catch?.(() => {}); } catch {} }
      await new Promise((done) => setTimeout(done, 1500));
      return <p>tried {Object.keys(ways).length}</p>;
    };`);
  assert.match(html, /tried 14/);
  renderer.close();
  server.close();
  assert.deepEqual(seen, []);
});
