// JSX: designs that fetch, read, are wrong or grow are errors that name the place and the reason, and the next design is
// rendered all the same.

import './patience.mjs';

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { fails, rendererOf } from './jsx_renderer.mjs';

describe('JSX that is refused', () => {
  let renderer;
  before(() => { renderer = rendererOf(); });
  after(() => renderer.close());

  const OUTSIDE = 'is not available; an email is rendered without network, files and environment; write the value into the design or into PreviewProps.';
  const IMPORTS = 'cannot be imported; a design is one file and may import only react, @react-email/components and its parts such as @react-email/button.';
  const COMPUTED = 'The JSX cannot be compiled: import() and require of a computed path are not available; import at the top of the file.';
  /** A design that answers for its page, so that no text is cut there. */
  const failing = (members) => `globalThis.__designs.run = async () => ({ failure: "threw", ${members} });\nexport default () => <p/>`;
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
    ['awaits at the top', '\nawait null;\nexport default () => <p/>', 'Line 2: await is allowed only inside an async function.'],
    ['throws', '\n\nexport default () => { throw new Error("no luck\\nat all"); }', 'Line 3: no luck at all.'],
    ['throws at the top', '\n\nconst x: any = undefined; x.y;\nexport default () => <p/>', "Line 3: TypeError: Cannot read properties of undefined (reading 'y')."],
    ['throws what is no error', 'export default () => { throw "x"; }', /: x\.$/],
    ['throws an essay', 'export default () => { throw new Error("x".repeat(1e6)); }', /^Line 1: x{199}…\.$/],
    ['throws empty lines', 'export default () => { throw new Error("\\n".repeat(50_000) + "late"); }', 'Line 1: .'],
    ['answers with empty lines', failing('message: "\\n".repeat(50_000) + "late", stack: "", around: []'), 'The JSX fails when it is rendered: .'],
    ['answers with long names', failing('message: "x", stack: "", around: ["\\n".repeat(50_000), "late"]'), 'The JSX fails when it is rendered, in : x.'],
    ['answers with a long stack', failing('message: "x", stack: "design.js:1:1" + "x".repeat(50_000), around: []'), 'The JSX fails when it is rendered: x.'],
    ['misses a property', 'export default ({ user }: any) => {\n\n return <p>{user.name}</p>; }', "Line 3: TypeError: Cannot read properties of undefined (reading 'name')."],
    ['calls itself without end', 'const f = (n: number): number =>\n f(n + 1) + 1;\nexport default () => <p>{f(1)}</p>', /^Line [12]: RangeError: Maximum call stack size exceeded\.$/],
    ['uses an undefined component', 'const A: any = undefined;\nexport default function Letter() { return <div><A/></div>; }', /^The JSX fails when it is rendered, in div in Letter: Element type is invalid/],
    ['has no default export', 'export const A = () => <p/>', 'The JSX has no default export; export the email component as default.'],
    ['exports an element', 'export default <p/>', 'The default export of the JSX is not a component; export a function that returns the email.'],
    ['leaves the page', 'export default async () => { (globalThis as any)["loca" + "tion"].href = "https://e.example/"; await new Promise(() => {}); return <p/> }', 'The JSX fails when it is rendered: the page was closed or navigated away.'],
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
});
