// JSX compiler: compiles a JSX or TSX design into one script, in memory. A design can import only the modules of
// modules.mjs. Code that uses the network, files or the environment is an error here, with its line, before it could fail
// in the browser.

import { SourceMap } from 'node:module';

import { build, stopCompiler } from './compiler.mjs';
import { importFailed, quote, tooLarge } from '../errors.mjs';
import { LIMITS } from '../limits.mjs';
import { IMPORTS, IMPORTS_IN_WORDS } from './modules.mjs';

export const SCRIPT_NAME = 'design.js';

/** Global names that a design must not use. esbuild replaces each by a mark, except where the design defines the name itself. */
const OUTSIDE = ['fetch', 'XMLHttpRequest', 'WebSocket', 'EventSource', 'WebTransport', 'Worker', 'SharedWorker',
  'RTCPeerConnection', 'importScripts', 'process', 'Buffer', 'Deno', 'Bun', '__dirname', '__filename', 'navigator',
  'localStorage', 'sessionStorage', 'indexedDB', 'document', 'location'];
const REACHED_THROUGH = ['window', 'globalThis', 'self'];
const MARK = '__outside_';
const MARKS = new RegExp(`${MARK}(\\d+)`);
const DEFINE = Object.fromEntries(OUTSIDE.flatMap((name, i) => [name, ...REACHED_THROUGH.map((root) => `${root}.${name}`)]
  .map((expression) => [expression, `${MARK}${i}`])));

const BRACKET_STEP = new Map([['(', 1], ['[', 1], ['{', 1], [')', -1], [']', -1], ['}', -1]]);

/**
 * For import() and require with a computed path that begins with ./ or ../, esbuild searches the file system with a pattern
 * and does not ask plugins. None of these files is loaded, and the error message is the same whether files exist or not.
 */
const COMPUTED_PATH = 'import() and require of a computed path are not available; import at the top of the file';
const EMPTY_PATTERN = 'empty-glob';
/** The folder in which esbuild searches for computed paths. It and its parents do not exist. */
const NOWHERE = '/nonexistent/design/folder/of/posthorn';
const FOLDER_MISSING = /^Could not resolve (?:import|require)\(/;

/** Warnings of esbuild that are errors here, with their messages. */
const REFUSED = {
  'unsupported-dynamic-import': 'import() is not available; import at the top of the file',
  'unsupported-require-call': 'require is not available; use import',
  'indirect-require': 'require is not available; use import',
  'direct-eval': 'eval is not available',
  [EMPTY_PATTERN]: COMPUTED_PATH,
  'import-is-undefined': null, // its own words name what is missing
};

const NEEDED_INSTEAD = 'an email is rendered without network, files and environment; write the value into the design or into PreviewProps';

/**
 * @param {string} source
 * @param {Record<string, string[]>} names what each module exports, as the page reported it
 * @returns {Promise<{script: string, lineOf: (stack: string) => number|null}>} `lineOf` maps the first frame of a stack
 *   of the running script to a line of the source
 */
export async function compileDesign(source, names, compileMs = LIMITS.jsxCompileMs) {
  if (source.length > LIMITS.jsxChars) {
    throw tooLarge('source.content', `The JSX is longer than ${LIMITS.jsxChars} characters.`);
  }
  if (nestsTooDeeply(source)) throw TOO_DEEP();
  const compiled = build({
    stdin: { contents: source, loader: 'tsx', sourcefile: 'design.tsx', resolveDir: NOWHERE },
    outfile: SCRIPT_NAME,
    bundle: true,
    write: false,
    format: 'iife',
    globalName: '__design',
    platform: 'browser',
    target: 'es2022',
    jsx: 'automatic',
    charset: 'utf8',
    legalComments: 'none',
    sourcemap: 'external',
    sourcesContent: false,
    logLevel: 'silent',
    logOverride: Object.fromEntries(Object.keys(REFUSED).map((id) => [id, 'error'])),
    tsconfigRaw: {}, // no file is looked for
    define: DEFINE,
    plugins: [allowList(names)],
  });
  const { outputFiles } = await inTime(compiled, compileMs).catch((failure) => { throw compileError(failure); });
  const [map, script] = [outputFiles.find(({ path }) => path.endsWith('.map')), outputFiles.find(({ path }) => path.endsWith('.js'))];
  const positions = new SourceMap(JSON.parse(map.text));
  refuseOutside(script.text, positions);
  return { script: script.text, lineOf: (stack) => lineOf(stack, positions) };
}

/** Rejects at the deadline. A build whose process was stopped never settles by itself. */
function inTime(compiled, ms) {
  let deadline;
  const late = new Promise((_, reject) => { deadline = setTimeout(() => reject(new Error('the deadline')), ms); });
  return Promise.race([compiled, late]).finally(() => clearTimeout(deadline));
}

/** esbuild plugin that resolves every import: an allowed one to a module of the page, every other one to an error. */
function allowList(names) {
  return {
    name: 'allow-list',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /.*/ }, ({ path, kind, importer }) => {
        if (kind === 'require-call') return refusal('require is not available; use import');
        if (kind === 'dynamic-import') return refusal('import() is not available; import at the top of the file');
        if (importer !== '' && IMPORTS.has(path)) return { path: IMPORTS.get(path), namespace: 'page' };
        return refusal(`'${quote(path)}' cannot be imported; a design is one file and may import only ${IMPORTS_IN_WORDS}`);
      });
      onLoad({ filter: /.*/, namespace: 'page' }, ({ path }) => ({ contents: facade(path, names) }));
      onLoad({ filter: /.*/ }, () => refusal(COMPUTED_PATH)); // a file of this machine
    },
  };
}

function refusal(text) {
  return { errors: [{ text }] };
}

/** The source of a module with named exports, so that a misspelt name is a compile error with its line. */
function facade(module, names) {
  const isExported = (name) => name !== 'default' && /^[A-Za-z_$][\w$]*$/.test(name);
  const own = names[module].filter(isExported);
  // Marked as pure, so that a design without a code block does not load it.
  const later = module === 'components' ? names.codeBlock.filter(isExported) : [];
  return `const m = globalThis.__designs.modules.${module}, later = (name) => globalThis.__designs.codeBlock()[name];
export default m.default ?? m;
${own.map((name) => `const $${name} = m.${name};`).join('')}
${later.map((name) => `const $${name} = /* @__PURE__ */ later("${name}");`).join('')}
export { ${[...own, ...later].map((name) => `$${name} as ${name}`).join(', ')} };`;
}

function compileError(failure) {
  const [first, ...others] = failure?.errors ?? [];
  if (!first) {
    // The deadline has passed, or esbuild has ended because of a stack overflow. The next build starts a new process.
    stopCompiler();
    return TOO_DEEP();
  }
  const isComputed = ({ id, text }) => id === EMPTY_PATTERN || text === COMPUTED_PATH || FOLDER_MISSING.test(text);
  if (failure.errors.some(isComputed)) return importFailed(`The JSX cannot be compiled: ${COMPUTED_PATH}.`);
  const text = REFUSED[first.id] ?? wordsOf(first.text);
  const more = others.length > 0 ? ` (and ${others.length} more)` : '';
  return importFailed(`${placed(first.location?.line, 'The JSX cannot be compiled')}: ${text}${more}.`);
}

function wordsOf(text) {
  if (text.startsWith('Top-level await')) return 'await is allowed only inside an async function';
  return quote(text).replace(/ with a bundler.*| in "?page:\w+"?/, '').replace(/[.\s]+$/, '');
}

const TOO_DEEP = () => importFailed('The JSX is nested too deeply to be compiled.');

function nestsTooDeeply(source) {
  let open = 0;
  for (const bracket of source.match(/[()[\]{}]/g) ?? []) {
    open += BRACKET_STEP.get(bracket);
    if (open > LIMITS.jsxBrackets) return true;
  }
  return false;
}

function refuseOutside(script, positions) {
  const found = MARKS.exec(script);
  if (!found) return;
  const before = script.slice(0, found.index).split('\n');
  const entry = positions.findEntry(before.length - 1, before.at(-1).length);
  throw importFailed(`${placed(entry.originalLine + 1, 'The JSX cannot be rendered')}: ${OUTSIDE[found[1]]} is not available; ${NEEDED_INSTEAD}.`);
}

function lineOf(stack, positions) {
  const place = new RegExp(`${SCRIPT_NAME}:(\\d+):(\\d+)`).exec(stack);
  if (!place) return null;
  const line = positions.findEntry(Number(place[1]) - 1, Number(place[2]) - 1).originalLine;
  return line === undefined ? null : line + 1;
}

/** The beginning of a message: "Line 3", or `otherwise` when the line is unknown. */
export function placed(line, otherwise) {
  return Number.isInteger(line) ? `Line ${line}` : otherwise;
}
