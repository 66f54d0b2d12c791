// The tone of texts, measured: words of a sentence, who speaks to whom, formality. English, German, French and Spanish; of other
// languages only the length of sentences.

const WORDS = {
  en: { we: /\b(we|our|us|we're|we've)\b/gi, you: /\b(you|your|yours)\b/gi, formal: null, informal: /\b\w+['’](?:re|ve|ll|s|t|d|m)\b/gi },
  de: { we: /(?<!\p{L})(wir|unser\p{L}*|uns)(?!\p{L})/giu, you: /(?<!\p{L})(sie|ihr|ihre[nmrs]?|ihnen|du|dein\p{L}*|dich|dir|euch|euer)(?!\p{L})/giu,
    formal: /(?<!\p{L})(?<![.!?] )(Sie|Ihre?[nmrs]?|Ihnen)(?!\p{L})/gu, informal: /(?<!\p{L})([Dd]u|[Dd]ein\p{L}*|[Dd]ich|[Dd]ir|[Ee]uch|[Ee]uer)(?!\p{L})/gu },
  fr: { we: /(?<!\p{L})(nous|notre|nos)(?!\p{L})/giu, you: /(?<!\p{L})(vous|votre|vos|tu|ton|tes|toi)(?!\p{L})/giu,
    formal: /(?<!\p{L})(vous|votre|vos)(?!\p{L})/giu, informal: /(?<!\p{L})(tu|toi|ton|tes)(?!\p{L})/giu },
  es: { we: /(?<!\p{L})(nosotros|nuestr[oa]s?|somos)(?!\p{L})/giu, you: /(?<!\p{L})(usted(?:es)?|tú|tu|tus|te)(?!\p{L})/giu,
    formal: /(?<!\p{L})(usted(?:es)?)(?!\p{L})/giu, informal: /(?<!\p{L})(tú|tu|tus|te)(?!\p{L})/giu },
};
const LEAST_SENTENCES = 4;
const TEXT_CHARS = 60_000;

const count = (text, pattern) => (pattern === null ? 0 : (text.match(pattern) ?? []).length);

const FREQUENT = {
  en: /\b(the|and|of|to|is|with|for|our)\b/gi, de: /\b(der|die|das|und|ist|mit|für|nicht|wir)\b/gi,
  fr: /\b(le|la|les|et|des|est|avec|pour|nous|une)\b/gi, es: /\b(el|la|los|y|de|es|con|para|una|nuestra)\b/gi,
};

/** The language of a text by its frequent words; null when no language has a clear lead. */
export function languageOf(text) {
  const sample = text.slice(0, TEXT_CHARS);
  const counts = Object.entries(FREQUENT).map(([language, pattern]) => [language, count(sample, pattern)]).sort((a, b) => b[1] - a[1]);
  return counts[0][1] >= 5 && counts[0][1] > counts[1][1] * 1.3 ? counts[0][0] : null;
}

/**
 * @param {string[]} paragraphs
 * @returns {{sentenceWords: number, person: string, formality: string, exclamations: string}|null} null when there are few sentences
 */
export function toneOf(paragraphs, language) {
  const text = paragraphs.join('\n').slice(0, TEXT_CHARS);
  const sentences = text.split(/(?<=[.!?…])\s+|\n/).filter((sentence) => sentence.split(/\s+/).length >= 3);
  if (sentences.length < LEAST_SENTENCES) return null;
  const words = sentences.reduce((sum, sentence) => sum + sentence.split(/\s+/).length, 0);
  const table = WORDS[(language ?? '').slice(0, 2).toLowerCase()];
  const exclaimed = sentences.filter((sentence) => sentence.endsWith('!')).length / sentences.length;
  return {
    sentenceWords: Math.round(words / sentences.length),
    person: table === undefined ? 'not measured' : personOf(text, table, sentences.length),
    formality: table === undefined ? 'not measured' : formalityOf(text, table, sentences.length),
    exclamations: exclaimed >= 0.2 ? 'many' : exclaimed > 0 ? 'few' : 'none',
  };
}

function personOf(text, table, sentences) {
  const [we, you] = [count(text, table.we), count(text, table.you)].map((found) => found / sentences >= 0.15);
  if (we && you) return 'we to you';
  return we ? 'we' : you ? 'you' : 'third person';
}

function formalityOf(text, table, sentences) {
  const [formal, informal] = [count(text, table.formal), count(text, table.informal)];
  if (table.formal === null) return informal / sentences >= 0.2 ? 'informal' : 'neutral';
  if (formal + informal < 2) return 'neutral';
  return formal > informal ? 'formal' : 'informal';
}
