// Words of mails in nine languages: English, German, French, Spanish, Italian, Dutch, Portuguese, Polish and Swedish. All are in lower case.

/** Texts of links that do not say where a link leads. */
export const VAGUE = new Set([
  'click here', 'click', 'here', 'this link', 'this', 'link', 'more', 'read more', 'learn more', 'see more', 'go', 'details', 'continue', 'tap here', 'more info', 'find out more',
  'hier klicken', 'klicken sie hier', 'klick hier', 'klicke hier', 'hier', 'mehr', 'weiterlesen', 'mehr lesen', 'mehr erfahren', 'mehr dazu', 'weiter', 'dieser link',
  'cliquez ici', 'cliquer ici', 'clique ici', 'ici', 'ce lien', 'lire la suite', 'en savoir plus', 'lire plus', 'plus', 'suite', 'plus d’infos',
  'haz clic aquí', 'haga clic aquí', 'clic aquí', 'pincha aquí', 'aquí', 'este enlace', 'leer más', 'más información', 'saber más', 'ver más', 'más',
  'clicca qui', 'clicca', 'qui', 'questo link', 'leggi di più', 'scopri di più', 'leggi tutto', 'per saperne di più', 'continua', 'di più',
  'klik hier', 'deze link', 'lees meer', 'meer lezen', 'meer informatie', 'meer', 'verder lezen',
  'clique aqui', 'clica aqui', 'aqui', 'este link', 'leia mais', 'ler mais', 'saiba mais', 'saber mais', 'ver mais', 'mais',
  'kliknij tutaj', 'kliknij', 'tutaj', 'tu', 'ten link', 'czytaj więcej', 'czytaj dalej', 'więcej', 'dowiedz się więcej',
  'klicka här', 'här', 'denna länk', 'läs mer', 'läs vidare', 'mer',
]);

/** Parts of the text of a link that unsubscribes. */
export const UNSUBSCRIBE = [
  'unsubscribe', 'opt out', 'opt-out', 'stop receiving', 'email preferences', 'manage preferences', 'leave this list', 'abmelden', 'abbestellen', 'austragen', 'désabonner',
  'désinscrire', 'désinscription', 'désabonnement', 'darse de baja', 'darme de baja', 'cancelar suscripción', 'cancelar la suscripción', 'anular suscripción', 'anular la suscripción',
  'disiscriviti', 'disiscriversi', 'annulla iscrizione', 'annulla l’iscrizione', 'cancella iscrizione', 'uitschrijven', 'afmelden', 'cancelar inscrição', 'cancelar a inscrição',
  'cancelar subscrição', 'cancelar a subscrição', 'descadastrar', 'wypisz', 'zrezygnuj', 'anuluj subskrypcję', 'avprenumerera', 'avregistrera', 'avsluta prenumeration',
];

/** Frequent short words by which a language is recognised. A word of several languages counts for each. */
export const FREQUENT = {
  en: 'the and of to our for with is are you your we this that will be it on from at by have has as was',
  de: 'der die das und für mit ein eine einen unser unsere wir sie ist im zum zur von auf den dem des nicht auch sich oder',
  fr: 'le la les des et pour avec une un notre nos nous vous est du au aux sur dans par votre ce cette qui que',
  es: 'el la los las y para con una un nuestro nuestra es del al en por su sus que este esta lo como más',
  it: 'il lo gli le di del della che per con una un non è ci si nostro nostra sono questo questa nel alla anche',
  nl: 'de het een en van voor met op u uw ons onze wij niet bij dat naar zijn je is ook te aan',
  pt: 'o a os as da do das dos para com uma um não nosso nossa você seu sua até pela pelo são que em',
  pl: 'i w na z się do nie to jest że od przez dla oraz jak po twoje nasze są już który',
  sv: 'och att det som en på är av för med den till inte om ett har vi du kan din från',
};

/** Scripts of few languages, with the languages that are written in them. */
export const SCRIPTS = [
  ['Cyrillic', 'ru uk bg be mk sr mn kk ky tg tt uz ba bs ce cv os sah az'], ['Greek', 'el'], ['Hebrew', 'he iw yi'], ['Arabic', 'ar fa ur ps sd ug ckb ku az ms ks'], ['Hangul', 'ko'],
  ['Hiragana', 'ja'], ['Katakana', 'ja ain'], ['Han', 'zh ja yue wuu nan hak lzh ko vi'], ['Thai', 'th'], ['Devanagari', 'hi mr ne sa mai bho kok doi brx sd ks'], ['Georgian', 'ka'], ['Armenian', 'hy'], ['Bengali', 'bn as mni'],
  ['Tamil', 'ta'], ['Ethiopic', 'am ti'],
].map(([script, languages]) => ({ script, letter: new RegExp(`\\p{Script=${script}}`, 'gu'), languages: new Set(languages.split(' ')) }));

/** Letters of scripts without spaces between words: each is compared like a word. */
export const WORD_LETTER = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}';

/** Scripts that are written from right to left. */
export const RTL_LETTER = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/gu;
export const RTL_LANGUAGES = new Set(['ar', 'he', 'iw', 'fa', 'ur', 'yi', 'dv', 'ps', 'sd', 'ug', 'ckb', 'syr']);
