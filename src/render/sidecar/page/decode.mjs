// The text of web pages and style sheets from their bytes (HTML Standard §13.2.3.2, shortened).

const SNIFFED_BYTES = 2_048;
const TYPE_CHARSET = /charset\s*=\s*["']?\s*([\w:.-]{1,40})/i;
const META_CHARSET = /<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w:.-]{1,40})/i;

function charsetOfMark(bytes) {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  return null;
}

/** The charset that a meta element declares. It is read as ASCII, so UTF-16 cannot be meant. */
function declaredCharset(bytes) {
  const label = META_CHARSET.exec(bytes.subarray(0, SNIFFED_BYTES).toString('latin1'))?.[1];
  return label !== undefined && !/^utf-?16/i.test(label) ? label : null;
}

function decoderOf(label) {
  try {
    return new TextDecoder(label);
  } catch {
    return null;
  }
}

function isUtf8(bytes) {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Whether the bytes are no text: a picture, an archive. Only UTF-16 with its mark has zeros. */
export function isBinary(bytes) {
  return charsetOfMark(bytes) === null && bytes.subarray(0, SNIFFED_BYTES).includes(0);
}

/** @param {string|null} contentType the header of the transfer */
export function decodeText(bytes, contentType) {
  const label = charsetOfMark(bytes) ?? TYPE_CHARSET.exec(contentType ?? '')?.[1] ?? declaredCharset(bytes);
  const decoder = label !== null ? decoderOf(label) : null;
  return (decoder ?? new TextDecoder(isUtf8(bytes) ? 'utf-8' : 'windows-1252')).decode(bytes);
}
