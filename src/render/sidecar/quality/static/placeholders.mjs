// Checks for what a draft leaves behind: sample text, addresses of examples, and merge tags of other services. Text is read as the sample contact gets it.

import { fold } from './mail_tree.mjs';
import { readUrl } from './links.mjs';
import { named } from './report.mjs';

export const IDS = ['placeholderText', 'placeholderLink', 'mergeTagForeign'];

const NAMES = 'name|first ?name|last ?name|full ?name|company(?: name)?|date|time|link|url|product(?: name)?|e-?mail(?: address)?|address|city|price|amount|code|title|headline|image|logo|text|cta'
  + '|vorname|nachname|firma|datum|betreff|prénom|nom|société|nombre|apellido|empresa|fecha|nome|cognome|azienda|data|naam|voornaam|achternaam|bedrijf|imię|nazwisko|namn|förnamn|efternamn';
const SAMPLES = [
  /\blorem ipsum\b|\bdolor sit amet\b/i,
  new RegExp(`\\[(?:(?:your|insert|enter|add|ihr|ihre|votre|su|il tuo|uw|seu|sua|twój|ditt) [^\\]\\n]{1,60}|${NAMES})\\]`, 'i'),
  new RegExp(`<<? ?(?:${NAMES}) ?>>?|\\((?:insert|your) [^()\\n]{1,40} here\\)`, 'i'),
  /\b(?:FIXME|TBD)\b|\bTODO:/,
  /(?<![\w-])x{3,}(?![\w-])/i,
  /\b(?:your|insert|add|enter) (?:text|content|headline|title|heading|subject|logo|image|copy|message|name) (?:goes )?here\b|\b(?:headline|title|text|content|copy) goes here\b|\bplaceholder text\b|\bsample text\b/i,
];
/** A note of an author; in Spanish and Portuguese a word for "all". */
const TODO = /\bTODO\b/;
const EXAMPLE_HOST = /(?:^|\.)(?:example\.(?:com|org|net)|example|test|invalid|(?:your-?(?:domain|site|website|company|brand|store)|domainname|placehold(?:er)?)\.(?:com|org|net|co|it)|(?:loremflickr|placekitten|lorempixel|dummyimage)\.com|picsum\.photos)$/;
/** Of Mailchimp, Salesforce, Mailgun, Campaign Monitor, MailerLite, ActiveCampaign, ERB, and JavaScript. */
const FOREIGN = /\*\|[A-Z][\w:.-]{0,60}\|\*|%%[a-z_][\w .=-]{0,60}%%|%recipient\.\w{1,60}%|\[(?:firstname|lastname|email|fullname),\s*fallback=[^\]]{0,60}\]|\{\$\w{1,60}\}|%(?:FIRSTNAME|LASTNAME|FULLNAME|EMAIL)%|<%=[^%\n]{1,80}%>|\$\{[a-z_][\w.]{0,60}\}|\{\{[^{}\n]{0,80}\}\}/i;

/** A stored text without its merge tags, which are filled in later. */
const withoutTags = (text) => (text ?? '').replace(/\{\{[^{}]*\}\}/g, '');

function findSample(text, isRomance) {
  const found = SAMPLES.map((pattern) => pattern.exec(text)).find(Boolean) ?? (isRomance ? null : TODO.exec(text));
  return found ? found[0] : null;
}

function checkText(text, place, isRomance, report) {
  const foreign = FOREIGN.exec(text)?.[0];
  const key = (found) => `${place} ${found.toLowerCase()}`;
  if (foreign) {
    report.add('mergeTagForeign', { key: key(foreign), source: text, message: `The ${place} shows ${named(foreign)}, which this service does not fill in.` });
    return;
  }
  const sample = findSample(text, isRomance);
  if (sample) report.add('placeholderText', { key: key(sample), source: text, message: `The ${place} has the placeholder ${named(sample)}.` });
}

function checkAddresses(tree, report) {
  const places = [...tree.links.map(({ element, href }) => [element, href, 'a link']), ...tree.images.map(({ element, src }) => [element, src, 'an image'])];
  for (const [element, address, what] of places) {
    const host = address ? readUrl(address)?.hostname : undefined;
    if (host && EXAMPLE_HOST.test(host)) {
      report.add('placeholderLink', { element, tree, key: address, message: `The address ${named(address)} of ${what} is an example.` });
    }
  }
}

export function check({ tree, shown, subject, shownSubject, previewText }, report) {
  const isRomance = /^(?:es|pt|gl)\b/i.test(tree.html.attrs.find(({ name }) => name === 'lang')?.value ?? '');
  checkText(fold(shownSubject ?? withoutTags(subject)), 'subject', isRomance, report);
  checkText(fold(withoutTags(previewText ?? shown.preheader)), 'preheader', isRomance, report);
  // What a finished mail has of merge tags was not filled in.
  const text = shown === tree ? shown.visibleText : shown.expand(shown.markedText);
  for (const line of text.split('\n')) checkText(line, 'text', isRomance, report);
  checkAddresses(tree, report);
}
