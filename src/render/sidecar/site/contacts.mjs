// Email addresses, telephone numbers and social networks that a page links to.

import { attribute, isElement, walk } from '../html/document.mjs';
import { parseUrl } from './links.mjs';
import { blockTexts, line } from './texts.mjs';

const NETWORKS = {
  'facebook.com': 'facebook', 'fb.com': 'facebook', 'instagram.com': 'instagram', 'x.com': 'x', 'twitter.com': 'x', 'linkedin.com': 'linkedin', 'youtube.com': 'youtube',
  'tiktok.com': 'tiktok', 'pinterest.com': 'pinterest', 'pinterest.de': 'pinterest', 'threads.net': 'threads', 'bsky.app': 'bluesky', 'mastodon.social': 'mastodon',
  'github.com': 'github', 'discord.gg': 'discord', 'discord.com': 'discord', 'reddit.com': 'reddit', 't.me': 'telegram', 'wa.me': 'whatsapp', 'snapchat.com': 'snapchat',
  'xing.com': 'xing', 'vimeo.com': 'vimeo', 'open.spotify.com': 'spotify',
};
/** Links that share the page instead of showing a profile. */
const SHARING = /\/(sharer|share|intent|submit|dialog|pin\/create|shareArticle|hashtag|watch|embed|status|p|reel)(\/|\.|$)/i;
const FOUND_MAX = 12;
const EMAIL = /(?<![\w.+-])[\w.+-]{1,64}@[a-z\d-]{1,63}(?:\.[a-z\d-]{1,63}){1,4}(?![\w.-]*@)/gi;

/** {network, href} of an address of a profile; null for any other address. */
export function profileOf(href) {
  const url = parseUrl(href);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return null;
  const host = url.hostname.replace(/^(www|m|de|fr|es|en)\./, '');
  const network = NETWORKS[host] ?? (/^\/@[\w.]+\/?$/.test(url.pathname) && /mastodon|social/.test(host) ? 'mastodon' : undefined);
  if (network === undefined || url.pathname.length < 2 || SHARING.test(url.pathname)) return null;
  return { network, href: `https://${url.hostname}${url.pathname}` };
}

export function socialOf(document, base) {
  const found = [];
  walk(document, (node) => {
    if (!isElement(node) || node.tagName !== 'a' || found.length >= FOUND_MAX) return;
    const profile = profileOf(parseUrl(attribute(node, 'href'), base)?.href);
    if (profile !== null) found.push(profile);
  });
  return found;
}

/** The addresses of mailto: and tel: links, and email addresses in the text. */
export function contactsOf(document, objects) {
  const emails = new Set();
  const phones = new Set();
  walk(document, (node) => {
    if (!isElement(node) || node.tagName !== 'a') return;
    const href = (attribute(node, 'href') ?? '').trim();
    if (/^mailto:/i.test(href)) emails.add(line(safeDecode(href.slice(7).split('?')[0]), 320));
    if (/^tel:/i.test(href)) phones.add(line(safeDecode(href.slice(4)), 40));
  });
  for (const { email, telephone } of objects) {
    if (typeof email === 'string') emails.add(line(email.replace(/^mailto:/i, ''), 320));
    if (typeof telephone === 'string') phones.add(line(telephone, 40));
  }
  for (const text of blockTexts(document).filter((block) => block.includes('@'))) for (const [email] of text.slice(0, 2000).matchAll(EMAIL)) emails.add(email);
  return { emails: [...emails].filter(Boolean).slice(0, FOUND_MAX), phones: [...phones].filter(Boolean).slice(0, FOUND_MAX) };
}

function safeDecode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
