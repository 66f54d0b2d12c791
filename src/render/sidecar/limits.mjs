// The bounds of the renderer: every size that input can choose is capped here, before it is used.

/** Tests set it, so that no deadline of preparing comes first on a busy machine. */
const patience = Number(process.env.POSTHORN_RENDER_PATIENCE ?? 1);

export const LIMITS = Object.freeze({
  /** One request line, in bytes, without its newline. */
  lineBytes: 8 * 1024 * 1024,
  /** source.content, in UTF-16 code units (JavaScript's string length). */
  contentChars: 5_000_000,
  /** The finished document, in characters: inlining can multiply a small style sheet. Room for the tags that are added. */
  htmlChars: 6_000_000,
  /** Elements of a document, tags inside conditional comments included. */
  elements: 50_000,
  /** Comments of a document. */
  comments: 50_000,
  /** Open elements at one place. */
  depth: 512,
  urlChars: 8_192,
  /** Template expressions of a document, and the length of one. */
  expressions: 10_000,
  expressionChars: 2_000,
  /** Braces open at one place of a style sheet (two at-rules and a rule, with room to spare), and parentheses. */
  cssBraces: 8,
  cssParens: 32,
  selectorChars: 1_000,
  /** Selectors that one nested rule may become. */
  nestedSelectors: 64,
  selectorParens: 8,
  /** Simple selectors times elements: the work of inlining grows with this product. A real newsletter needs 0.5 million. */
  inliningWork: 4_000_000,
  /** JSX source, and brackets open at one place of it: the compiler works recursively, a few KB a bracket. */
  jsxChars: 200_000,
  jsxBrackets: 500,
  /** Elements of an MJML source, and how deep they may stand in each other: mjml works recursively. */
  mjmlElements: 20_000,
  mjmlDepth: 100,
  /** Different images embedded as data: addresses; further ones are removed. */
  embeddedImages: 100,
  /** One preparation: processor time, and how many times as long that may last by the clock. */
  prepareMs: 15_000,
  prepareWaitFactor: 3 * patience,
  /** JavaScript heap of the preparing thread. */
  workerHeapMb: 512,
  /** Running the code of one JSX design: processor time, and how many times as long that may last by the clock. */
  jsxRenderMs: 5_000,
  jsxWaitFactor: 12,
  /** Compiling a JSX design; starting the browser and opening a page, each. */
  jsxCompileMs: 5_000 * patience,
  jsxStartMs: 20_000 * patience,
  /** The browser: JavaScript heap of a page, data of one process, size of one file, one message of its pipe. */
  browserHeapMb: 256,
  browserDataMb: 2_048,
  browserFileMb: 128,
  browserMessageBytes: 32 * 1024 * 1024,
  /** The browser is replaced after so many designs, and ended when it had nothing to do for so long. */
  browserJobs: 100,
  browserIdleMs: 60_000,
  /** Requests waiting behind the running one, by count and by bytes. */
  waitingRequests: 64,
  waitingBytes: 32 * 1024 * 1024,
  /** Replies nobody reads: past this the process gives up. */
  unreadReplyBytes: 64 * 1024 * 1024,
  /** After end of input: processor time that the running requests may still take, and how long that may last. */
  drainMs: 700,
  drainWaitMs: 60_000,
  /** After the last reply: how long a reader may take none of what is left. */
  unreadWaitMs: 30_000,
});

/** Gmail hides what follows about 102 KB of HTML; the warning comes with some room left. */
export const CLIP_WARNING_BYTES = 95 * 1024;
