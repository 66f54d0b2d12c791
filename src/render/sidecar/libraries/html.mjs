// The libraries that read and write HTML and CSS. bundle.mjs makes one file of them.

export { decodeHTML, decodeHTMLStrict } from 'entities';
export { escapeAttribute, escapeText } from 'entities/escape';
export { compile as compileHtmlToText } from 'html-to-text';
export { default as juice } from 'juice/client';
export { defaultTreeAdapter, InsertionMode, Parser, parseFragment, serialize, serializeOuter, Token, Tokenizer, TokenizerMode } from 'parse5';
export { default as parseCssLeniently } from 'postcss-safe-parser';
export { default as sanitizeHtml } from 'sanitize-html';
