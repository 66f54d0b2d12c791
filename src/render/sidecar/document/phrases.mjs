// Fixed phrases of blocks. Documents in other languages get none but the link to unsubscribe, which must be there.

const PHRASES = {
  en: { unsubscribe: 'Unsubscribe', code: 'Code', until: 'Until', when: 'When', where: 'Where', step: 'Step' },
  de: { unsubscribe: 'Abmelden', code: 'Code', until: 'Bis', when: 'Wann', where: 'Wo', step: 'Schritt' },
  fr: { unsubscribe: 'Se désabonner', code: 'Code', until: 'Jusqu’au', when: 'Quand', where: 'Où', step: 'Étape' },
  es: { unsubscribe: 'Darse de baja', code: 'Código', until: 'Hasta', when: 'Cuándo', where: 'Dónde', step: 'Paso' },
};

const NETWORKS = {
  facebook: 'Facebook', instagram: 'Instagram', x: 'X', linkedin: 'LinkedIn', youtube: 'YouTube', tiktok: 'TikTok', pinterest: 'Pinterest',
  threads: 'Threads', bluesky: 'Bluesky', mastodon: 'Mastodon', github: 'GitHub', discord: 'Discord', reddit: 'Reddit', telegram: 'Telegram',
  whatsapp: 'WhatsApp', snapchat: 'Snapchat', xing: 'XING', vimeo: 'Vimeo', spotify: 'Spotify', website: 'Website',
};

const primary = (lang) => lang.split('-')[0].toLowerCase();

/** A phrase in the language, or '' when it has none. */
export const phrase = (lang, name) => PHRASES[primary(lang)]?.[name] ?? (name === 'unsubscribe' ? PHRASES.en.unsubscribe : '');

export const networkName = (network) => NETWORKS[network];

/** A date and time of day without a zone, as a Date whose UTC members are those of the text; null when no calendar has it. */
function wallTime(moment) {
  const date = new Date(`${moment.length === 10 ? `${moment}T00:00` : moment}${moment.length === 19 ? '' : ':00'}Z`);
  return Number.isNaN(date.getTime()) || date.toISOString().slice(0, 10) !== moment.slice(0, 10) ? null : date;
}

const format = (date, lang, options) => new Intl.DateTimeFormat(lang, { timeZone: 'UTC', ...options }).format(date);

/** Forms of a moment in the language: {date, time, day, month, weekday}; `time` is null for a whole day. */
export function momentParts(moment, lang) {
  const date = wallTime(moment);
  if (date === null) return null;
  return {
    date: format(date, lang, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' }),
    time: moment.length > 10 ? format(date, lang, { hour: 'numeric', minute: '2-digit' }) : null,
    day: format(date, lang, { day: 'numeric' }).replace(/\D+$/, ''),
    month: format(date, lang, { month: 'short' }),
    weekday: format(date, lang, { weekday: 'long' }),
  };
}

/** Languages have abbreviations for the zones of their own readers. Those of English readers are known elsewhere, too. */
const ABBREVIATED_IN = ['en-GB', 'en-US', 'en-AU'];

function zonePart(moment, timeZone, lang, timeZoneName) {
  const parts = new Intl.DateTimeFormat(lang, { timeZone, timeZoneName }).formatToParts(wallTime(moment));
  return parts.find(({ type }) => type === 'timeZoneName').value;
}

const isOffset = (name) => /\p{N}/u.test(name);

/** A zone as readers know it, at the moment: CET, or "Japan Time, GMT+9" when there is no abbreviation. */
export function zoneName(moment, timeZone, lang) {
  const short = [lang, ...ABBREVIATED_IN].map((one) => zonePart(moment, timeZone, one, 'short')).find((name) => !isOffset(name));
  if (short !== undefined) return short;
  const offset = zonePart(moment, timeZone, lang, 'short');
  const place = zonePart(moment, timeZone, lang, 'shortGeneric');
  return isOffset(place) ? offset : `${place}, ${offset}`;
}
