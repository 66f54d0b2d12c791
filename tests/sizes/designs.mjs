// Designs at a size, in each language: elements (rows), merge fields (fields), characters of attributes (names) and of texts
// (values).

const SLOTS = 10_000; // of one template; docs/modules/templates.md
const ATTRIBUTE_CHARS = 500;
const TEXT_CHARS = 200_000;
const LEAST_BYTES = 60;

const slot = (values, number) => `{{ customFields['${values.name(values.distribution === 'alike' ? 0 : number % 500)}'] }}`;

const WRAPPED = {
  html: (title, blocks) => `<!doctype html><html><head><title>${title}</title></head><body>${blocks}</body></html>`,
  mjml: (title, blocks) => `<mjml><mj-head><mj-title>${title}</mj-title></mj-head><mj-body><mj-section><mj-column>${blocks}</mj-column></mj-section></mj-body></mjml>`,
  jsx: (title, blocks) => `import { Html, Head, Title, Body } from '@react-email/components';\nexport default () => <Html><Head><title>${title}</title></Head><Body>${blocks}</Body></Html>;`,
};

const BLOCK = {
  html: (attribute, text) => `<p title="${attribute}" style="color:#123456">${text}</p>`,
  mjml: (attribute, text) => `<mj-text css-class="${attribute}">${text}</mj-text>`,
  jsx: (attribute, text) => `<p title="${attribute}">${text.replaceAll(/\{\{.*?\}\}/g, (found) => `{"${found.replaceAll('"', '\\"')}"}`)}</p>`,
};

/** As many blocks as the share of rows of the longest content, each with its share of the merge fields. */
export function designOf(values, { maxLength }) {
  const format = values.format;
  const room = values.count('rows', maxLength - 1000, LEAST_BYTES);
  const slots = values.count('fields', SLOTS, 0);
  const attribute = values.text(values.count('names', ATTRIBUTE_CHARS, 1), 1);
  const blocks = [];
  let chars = 0;
  for (let i = 0; i === 0 || chars < room; i++) {
    const text = values.text(values.count('values', Math.min(TEXT_CHARS, room), 4), i + 1) + (i < slots ? slot(values, i) : '');
    const block = BLOCK[format](attribute, text);
    if (i > 0 && chars + block.length > room) break;
    blocks.push(block);
    chars += block.length;
  }
  return WRAPPED[format]('Sizes', blocks.join(''));
}
