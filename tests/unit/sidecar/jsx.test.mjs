// JSX: rendered in a browser without network as react-email renders it.

import './patience.mjs';

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { compileDesign } from '../../../src/render/sidecar/jsx/compile.mjs';
import { build } from '../../../src/render/sidecar/jsx/compiler.mjs';
import { LIMITS } from '../../../src/render/sidecar/limits.mjs';
import { prepareHtml } from '../../../src/render/sidecar/html/prepare.mjs';
import { findHazards } from './hazards.mjs';
import { rendererOf } from './jsx_renderer.mjs';

const SIDE = fileURLToPath(new URL('../../../src/render/sidecar/', import.meta.url));
const require = createRequire(join(SIDE, 'package.json'));

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
  before(() => { renderer = rendererOf(); });
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

  test('a compilation that takes too long is an error, and the next one is done', async () => {
    const names = { react: [], components: [], codeBlock: [] };
    await assert.rejects(compileDesign('export default () => null', names, 0), { code: 'EMAIL_IMPORT_FAILED' });
    assert.match((await compileDesign('export default () => null', names)).script, /null/);
  });

  test('more than 200,000 characters are refused', async () => {
    await assert.rejects(renderer.render(`/*${'x'.repeat(LIMITS.jsxChars)}*/`), { code: 'PAYLOAD_TOO_LARGE', param: 'source.content' });
  });
});
