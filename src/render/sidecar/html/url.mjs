// URL policy of the sanitizer: an allow-list of schemes. Every other scheme is refused. Values are already HTML-decoded.

import { LIMITS } from '../limits.mjs';
import { KIND } from './protected_fragments.mjs';

const LINK_SCHEMES = new Set(['http', 'https', 'mailto', 'tel', 'sms', 'webcal']);
const IMAGE_SCHEMES = new Set(['http', 'https', 'cid']);

/** The scheme: the text before the first colon, when no slash, question mark or number sign comes earlier (RFC 3986 §4.2). */
const SCHEME = /^([^/?#:]*):/;
const SCRIPT_SCHEME = /(?:javascript|vbscript|livescript|data)\s*:/i;

const IGNORED_BY_BROWSERS = /[\u0000-\u001f\u007f]/g;

/**
 * @param {string} value
 * @param {"link"|"image"} use
 * @param {{baseUrl: string|null, fragments: import('./protected_fragments.mjs').ProtectedFragments, report: import('./report.mjs').Report}} context
 * @returns {string|null} the address to keep, or null when it must be removed
 */
export function cleanUrl(value, use, context) {
  const url = value.replace(IGNORED_BY_BROWSERS, '').trim();
  if (url === '' || url.length > LIMITS.urlChars) return refuse('empty or overlong URL', context);
  // Each part between tags can become the beginning of the address, so each must be a complete address, not a part of a scheme.
  const branches = context.fragments.withoutTags(url);
  if (branches.length !== 1 || branches[0] !== url) {
    const allAreFine = branches.length > 0 && branches.every((branch) => cleanUrl(branch, use, { ...context, baseUrl: null }) !== null);
    return allAreFine ? context.fragments.put(KIND.address, url) : null;
  }
  const leading = context.fragments.startsWithTemplate(url) ? context.fragments.expressionsIn(url) : [];
  if (leading.some((expression) => SCRIPT_SCHEME.test(expression))) return refuse('script URL', context);
  const scheme = SCHEME.exec(url)?.[1].toLowerCase();
  if (scheme !== undefined) return checkScheme(scheme, url, use, context);
  if (url.startsWith('#')) return use === 'link' ? url : refuse('empty or overlong URL', context);
  if (context.fragments.startsWithTemplate(url)) return url;
  return absoluteUrl(url, context);
}

function checkScheme(scheme, url, use, context) {
  const allowed = use === 'image' ? IMAGE_SCHEMES : LINK_SCHEMES;
  if (allowed.has(scheme)) return url;
  if (scheme === 'data') {
    context.report.warn('DATA_URL_REMOVED', 'Images embedded as data: addresses were removed: most mail clients do not '
      + 'show them. Host the image and link to it.');
    return refuse('data URL', context);
  }
  return refuse(/script$/.test(scheme.replace(/\s/g, '')) ? 'script URL' : 'URL of unknown scheme', context);
}

function absoluteUrl(url, { baseUrl, report }) {
  if (baseUrl && URL.canParse(url, baseUrl)) return new URL(url, baseUrl).href;
  if (/^[/\\]{2}/.test(url)) return `https:${url}`;
  report.warn('RELATIVE_URL', 'Some addresses are relative and cannot work in a mail client; give baseUrl to complete them.');
  return url;
}

function refuse(what, { report }) {
  report.removed(what);
  return null;
}

/** The base URL for relative addresses: an http or https URL, or null. */
export function readBaseUrl(text) {
  if (!text || text.length > LIMITS.urlChars || !URL.canParse(text)) return null;
  const url = new URL(text);
  return url.protocol === 'https:' || url.protocol === 'http:' ? url.href : null;
}
