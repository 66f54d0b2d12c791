// The bounds of the side process: every size that input can choose is capped here, before it is used.

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
  selectorParens: 8,
  /** Simple selectors times elements: the work of inlining grows with this product. A real newsletter needs 0.5 million. */
  inliningWork: 4_000_000,
  /** One preparation, wall clock. */
  prepareMs: 15_000,
  /** JavaScript heap of the preparing thread. */
  workerHeapMb: 512,
  /** Requests waiting behind the running one, by count and by bytes. */
  waitingRequests: 64,
  waitingBytes: 32 * 1024 * 1024,
  /** Replies nobody reads: past this the process gives up. */
  unreadReplyBytes: 64 * 1024 * 1024,
  /** After end of input: how long the running request may still take. */
  drainMs: 700,
});

/** Gmail hides what follows about 102 KB of HTML; the warning comes with some room left. */
export const CLIP_WARNING_BYTES = 95 * 1024;
