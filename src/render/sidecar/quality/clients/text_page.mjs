// The plain-text part of a mail as a page: a client without HTML shows it in a monospaced font.

import { escapeText } from '#libraries/html';

const STYLE = 'body{margin:16px;font:14px/1.45 "Liberation Mono",monospace;color:#111;background:#fff}'
  + 'pre{margin:0;font:inherit;white-space:pre-wrap;overflow-wrap:anywhere}';

export const textPage = (text) => `<!DOCTYPE html><html><head><style>${STYLE}</style></head><body><pre>\n${escapeText(text)}</pre></body></html>`;
