// The libraries that read and draw MJML. bundle.mjs makes one file of them.

export { default as mjml2html } from 'mjml';
export { BodyComponent, components } from 'mjml-core';
export { default as parseMjml } from 'mjml-parser-xml';
