// Designs at a size, in each language: elements (rows), merge fields (fields), characters of attributes (names) and of texts
// (values).

const SLOTS = 10_000; // of one template; docs/modules/templates.md
const ATTRIBUTE_CHARS = 500;
const TEXT_CHARS = 200_000;
const LEAST_BYTES = 60;
const BLOCK_BYTES = 100; // about what a block takes

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

/** As many blocks as the share of rows of the longest content has room for, with the merge fields spread over them. */
export function designOf(values, { maxLength }) {
  const room = values.count('rows', maxLength - 1000, LEAST_BYTES);
  const slots = values.count('fields', SLOTS, 0);
  const together = Math.ceil((slots * BLOCK_BYTES) / room);
  const attribute = values.text(values.count('names', ATTRIBUTE_CHARS, 1), 1);
  const chars = values.count('values', Math.min(TEXT_CHARS, room), 4);
  const block = (i) => {
    const some = Array.from({ length: Math.max(0, Math.min(together, slots - i * together)) }, (_, k) => slot(values, i * together + k));
    return BLOCK[values.format](attribute, values.text(chars, i + 1) + some.join(''));
  };
  const blocks = [block(0)];
  for (let i = 1, size = blocks[0].length; size < room; i++) {
    blocks.push(block(i));
    size += blocks[i].length;
    if (size > room) blocks.pop();
  }
  return WRAPPED[values.format]('Hi, sizes', blocks.join(''));
}
