// Designs in JSX are programs of untrusted authors: one that loops or grows is ended, and none reads a file or reaches a server.
// A refused design stores nothing, and the next import works.

import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, describe, test } from 'node:test';
import { LIMIT, design, imported, local } from './content_fixture.mjs';

describe('JSX', LIMIT, () => {
  let hits = 0;
  let outside;
  const server = http.createServer((request, response) => {
    hits++;
    response.end('secret');
  });
  const jsx = (what, content, words) => design('jsx', what, content, words);
  const inComponent = (statement) => `export default () => {\n  ${statement};\n  return <p>x</p>;\n};`;

  before(async () => {
    await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
    outside = `http://127.0.0.1:${server.address().port}/`;
  });

  after(() => server.close());

  test('that loops, or grows, is ended', async () => {
    await jsx('a loop in the component', 'export default () => { while (true); }', /longer than 5 seconds/);
    await jsx('a loop beside it', 'for (;;);\nexport default () => <p>x</p>;', /longer than 5 seconds/);
    await jsx('a component of itself', 'function Again() { return <Again />; }\nexport default Again;', /longer than 5 seconds|Maximum call stack/);
    await jsx('memory', 'export default () => { const kept = []; for (;;) kept.push(new Array(1e6).fill(kept.length)); }', /too much memory/);
    await jsx('output', 'export default () => <p>{"x".repeat(2e7)}</p>;', /renders more than 5000000 characters|too much memory/);
    const { html } = await imported('jsx', 'export default () => <html><body><p>still here</p></body></html>;');
    assert.match(html, /still here/);
  });

  test('reads and fetches nothing', async () => {
    await jsx('process', 'const home = 1;\nexport default () => <p>{process.env.HOME}</p>;', /^Line 2: process is not available/);
    await jsx('a module of Node', "import fs from 'node:fs';\nexport default () => <p>{fs.readFileSync('/etc/passwd')}</p>;", /^Line 1: 'node:fs' cannot be imported/);
    await jsx('require', inComponent("require('fs')"), /^Line 2: require is not available/);
    await jsx('a dynamic import', inComponent("import('fs')"), /^Line 2: import\(\) is not available/);
    await jsx('fetch', inComponent(`fetch('${outside}')`), /^Line 2: fetch is not available/);
    await jsx('a module by address', `import x from '${outside}x.js';\nexport default () => <p>{x}</p>;`, /^Line 1: .*cannot be imported/);
    // Whatever becomes of these, nobody must be asked for anything.
    for (const reach of [`new WebSocket('${outside}'.replace('http', 'ws'))`, `new EventSource('${outside}')`,
      `navigator.sendBeacon('${outside}')`, `Object.assign(new Image(), { src: '${outside}' })`, `window['fet' + 'ch']('${outside}')`,
      `open('${outside}')`, `location.href = '${outside}'`]) {
      await local.toolToEnd('import_email', { format: 'jsx', content: inComponent(`try { ${reach}; } catch {}`) });
    }
    const { body } = await local.toolToEnd('import_email', { format: 'jsx', content: inComponent("throw new Error(Function('return typeof process + typeof require')())") });
    assert.match(body.error.message, /undefinedundefined|Function is not available|unsafe-eval|Content Security Policy/);
    assert.equal(hits, 0);
  });
});
