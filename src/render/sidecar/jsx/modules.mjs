// Modules that a JSX design may import: react and the components of react-email. They are bundled once, in memory, into a
// script that a page runs before the design. Designs are compiled against the export names that the page reports.

import { build } from './compiler.mjs';
import { LIMITS } from '../limits.mjs';

const COMPONENTS = '@react-email/components';
const CODE_BLOCK = '@react-email/code-block';
const PARTS = ['body', 'button', 'code-block', 'code-inline', 'column', 'container', 'font', 'head', 'heading', 'hr', 'html',
  'img', 'link', 'markdown', 'preview', 'render', 'row', 'section', 'tailwind', 'text'];

/** Maps each import path to a member of `__designs.modules`. All parts of react-email are in `components`. */
export const IMPORTS = new Map([
  ['react', 'react'], ['react/jsx-runtime', 'jsx'], [COMPONENTS, 'components'], ['react-email', 'components'],
  ...PARTS.map((part) => [`@react-email/${part}`, 'components']),
]);

export const IMPORTS_IN_WORDS = `react, ${COMPONENTS} and its parts such as @react-email/button`;

/** The script. `__designs.names` returns the export names. `__designs.run` renders a design that the page has evaluated. */
const ENTRY = `
  import * as react from 'react';
  import * as jsx from 'react/jsx-runtime';
  import * as components from '${COMPONENTS}';
  import { render } from '@react-email/render';
  import { renderToReadableStream } from 'react-dom/server';

  const modules = { react, jsx, components };
  /** The code block loads every programming language and takes as long as all other modules together, so it is loaded on demand. */
  const codeBlock = () => require('${CODE_BLOCK}');
  const names = () => Object.fromEntries(Object.entries({ ...modules, codeBlock: codeBlock() }).map(([name, module]) => [name, Object.keys(module)]));

  /** For an invalid element, React's stack has no line of the design. So the error names the components around the element. */
  async function componentsAround(element) {
    let stack = '';
    try {
      const onError = (_, info) => { stack ||= String(info.componentStack ?? ''); };
      await (await renderToReadableStream(element, { onError })).allReady;
    } catch {
      // the caller reports the first error
    }
    return [...stack.matchAll(/^\\s+at ([\\w$.]+)/gm)].slice(0, 3).map(([, name]) => name);
  }

  async function run(design, maxChars) {
    const component = design?.default;
    if (typeof component !== 'function') return { failure: component === undefined ? 'no default' : 'no component' };
    const element = react.createElement(component, component.PreviewProps ?? {});
    try {
      const html = await render(element);
      return html.length > maxChars ? { failure: 'too long' } : { html };
    } catch (error) {
      const message = error instanceof Error ? error.name + ': ' + error.message : String(error);
      const stack = String(error?.stack ?? '');
      return {
        failure: 'threw',
        message: message.slice(0, ${LIMITS.jsxMessageChars}),
        stack: stack.slice(-${LIMITS.jsxStackChars}),
        around: await componentsAround(element),
      };
    }
  }
  Object.defineProperty(globalThis, '__designs', { value: { modules, codeBlock, names, run } });
`;

/** esbuild plugin that leaves out the large formatter, which is never used, and the code block, which is loaded on demand. */
const withoutWeight = {
  name: 'without-weight',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^prettier(?:\/|$)/ }, ({ path }) => ({ path, namespace: 'absent' }));
    onResolve({ filter: /^@react-email\/code-block$/ }, ({ path, importer }) => (importer.includes('components') ? { path, namespace: 'absent' } : null));
    onLoad({ filter: /.*/, namespace: 'absent' }, () => ({ contents: 'export const format = null;' }));
  },
};

/** Builds the script in about 0.25 s. It uses the development build of React, because its error messages are text. */
export async function buildModules() {
  const { outputFiles } = await build({
    stdin: { contents: ENTRY, resolveDir: import.meta.dirname },
    bundle: true,
    write: false,
    format: 'iife',
    platform: 'browser',
    target: 'es2022',
    minifyWhitespace: true,
    minifySyntax: true,
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'silent',
    define: { 'process.env.NODE_ENV': '"development"' },
    plugins: [withoutWeight],
  });
  return outputFiles[0].text;
}
