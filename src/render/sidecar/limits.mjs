// The limits of the sidecar. Every size that input can choose is checked against one of them before it is used.

/** A factor for deadlines. Tests set it, so that a busy machine does not reach a deadline. */
const patience = Number(process.env.POSTHORN_RENDER_PATIENCE ?? 1);

export const LIMITS = Object.freeze({
  /** One request line, in bytes, without its newline. */
  lineBytes: 8 * 1024 * 1024,
  /** source.content, in UTF-16 code units (JavaScript's string length). */
  contentChars: 5_000_000,
  /** The finished document, in characters: inlining can multiply a small style sheet. Larger than contentChars because tags are added. */
  htmlChars: 6_000_000,
  /** Elements of a document, tags inside conditional comments included. */
  elements: 50_000,
  /** Comments of a document. */
  comments: 50_000,
  /** Nesting depth: elements open at one point. */
  depth: 512,
  urlChars: 8_192,
  /** Template expressions of a document, and the length of one. */
  expressions: 10_000,
  expressionChars: 2_000,
  /** Braces and parentheses open at one point of a style sheet. Real sheets need three braces: two at-rules and a rule. */
  cssBraces: 8,
  cssParens: 32,
  selectorChars: 1_000,
  /** Selectors that one nested rule may expand to. */
  nestedSelectors: 64,
  selectorParens: 8,
  /** Simple selectors times elements. The work of inlining is proportional to it. A real newsletter needs 0.5 million. */
  inliningWork: 4_000_000,
  /** Blocks of documents whose HTML is kept, in characters of their MJML and HTML. */
  keptBlockChars: 2_000_000,
  /** Characters of a JSX source, and brackets open at one point. The compiler is recursive: a few KB of stack per bracket. */
  jsxChars: 200_000,
  jsxBrackets: 500,
  /** Elements of an MJML source, and their nesting depth: mjml is recursive. */
  mjmlElements: 20_000,
  mjmlDepth: 100,
  /** Distinct images embedded as data: URLs. Further ones are removed. */
  embeddedImages: 100,
  /** Exact edits of one request, and the texts of one, in UTF-16 code units: twice the characters that the API admits. */
  replacements: 50,
  findChars: 4_000,
  withChars: 20_000,
  /** One preparation: processor time, and the factor for its wall-clock limit. */
  prepareMs: 15_000,
  prepareWaitFactor: 3 * patience,
  /** JavaScript heap of the worker thread. */
  workerHeapMb: 512,
  /** Running the code of one JSX design: processor time, and the factor for its wall-clock limit. */
  jsxRenderMs: 5_000,
  jsxWaitFactor: 12,
  /** What is read of the error of a JSX design: the beginning of its message and the end of its stack, in characters. */
  jsxMessageChars: 2_000,
  jsxStackChars: 10_000,
  /** jsxCompileMs: compiling a JSX design. jsxStartMs: starting the browser, and opening a page. */
  jsxCompileMs: 5_000 * patience,
  jsxStartMs: 20_000 * patience,
  /** The browser: JavaScript heap of a page, data segment of a process, size of a file, one message on the pipe. */
  browserHeapMb: 256,
  browserDataMb: 2_048,
  browserFileMb: 128,
  browserMessageBytes: 32 * 1024 * 1024,
  /** A drawn page: characters of its source, sides in pixels, all pixels, files of its images, processor time, factor for its wall-clock limit. */
  pageChars: 2_000_000,
  pageSide: 16_384,
  pagePixels: 40_000_000,
  pageFiles: 50,
  pageMs: 5_000,
  pageWaitFactor: 4 * patience,
  /** The checks of a shown mail: processor time, factor for the wall-clock limit, elements (more than a prepared document has, since links
      and footers are added), elements up to which axe-core looks at every view, texts and their characters whose contrast is judged. */
  checkMs: 25_000,
  checkWaitFactor: 4 * patience,
  checkElements: 60_000,
  checkElementsOfAllViews: 12_000,
  checkTexts: 5_000,
  checkTextChars: 200_000,
  /** A preview of a mail in a client: images of the mail, height of the picture in pixels. */
  mailFiles: 200,
  previewHeight: 16_000,
  /** The small picture of a preview, for assistants: its widths in pixels, the first that fits into the bytes. */
  smallWidths: [320, 240, 160, 100],
  smallBytes: 30_000,
  /** An animation of a video: its first seconds, frames a second, pixels of all frames. */
  videoSeconds: 6,
  videoRate: 8,
  videoPixels: 8_000_000,
  /** The browser is replaced after this number of designs, and ended after this idle time. */
  browserJobs: 100,
  browserIdleMs: 60_000,
  /** A page of a website: loading and measuring it, the time without requests after which its scripts are done, drawing a picture. */
  siteLoadMs: 10_000 * patience,
  siteQuietMs: 300,
  siteDrawMs: 10_000 * patience,
  /** Files of a page, and pages of a website. */
  siteFiles: 80,
  sitePages: 12,
  /** Requests queued behind the running one: count and bytes. */
  waitingRequests: 64,
  waitingBytes: 32 * 1024 * 1024,
  /** Replies that the parent has not read: above this size the process exits. */
  unreadReplyBytes: 64 * 1024 * 1024,
  /** After end of input: processor time for the running requests, and its wall-clock limit. */
  drainMs: 700,
  drainWaitMs: 60_000,
  /** After the last reply: how long the process waits for a parent that reads nothing. */
  unreadWaitMs: 30_000,
});

/** Gmail hides everything after about 102 KB of HTML. The warning starts a little below that. */
export const CLIP_WARNING_BYTES = 95 * 1024;
