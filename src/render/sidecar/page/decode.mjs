// The text of a web page from its bytes (HTML Standard §13.2.3.2, without the header of the transfer).

import { importFailed } from '../errors.mjs';

const SNIFFED_BYTES = 2_048;
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

/** Throws EMAIL_IMPORT_FAILED for bytes that are no text. */
export function decodePage(bytes) {
  const marked = charsetOfMark(bytes);
  if (marked === null && bytes.subarray(0, SNIFFED_BYTES).includes(0)) throw importFailed('The page is not a text.');
  const declared = marked ?? declaredCharset(bytes);
  const decoder = declared !== null ? decoderOf(declared) : null;
  return (decoder ?? new TextDecoder(isUtf8(bytes) ? 'utf-8' : 'windows-1252')).decode(bytes);
}
