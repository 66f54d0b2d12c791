// The filter money against Intl.NumberFormat, which has the Unicode CLDR: each locale that the filter knows with its own
// currency, dollars, euros and pounds.
//
// On purpose: minus signs stand first everywhere (CLDR has € -5 in Dutch and CHF-5 in Swiss German); a dollar or a pound that
// is foreign to a locale is written US$, $ or £ without the particular habits of each (France: $US).

const OWN = {
  en: 'USD', 'en-GB': 'GBP', 'en-CA': 'CAD', 'en-AU': 'AUD', 'en-NZ': 'NZD', de: 'EUR', 'de-AT': 'EUR', fr: 'EUR',
  'fr-CA': 'CAD', es: 'EUR', 'es-MX': 'MXN', it: 'EUR', nl: 'EUR', pt: 'BRL', 'pt-PT': 'EUR', pl: 'PLN', sv: 'SEK', da: 'DKK',
  nb: 'NOK', fi: 'EUR', cs: 'CZK', tr: 'TRY', ja: 'JPY', zh: 'CNY', ko: 'KRW',
};
const EUROS = ['en', 'en-GB', 'en-CA', 'de', 'de-AT', 'fr', 'fr-CA', 'es', 'it', 'nl', 'pt', 'pt-PT', 'pl', 'sv', 'da', 'nb', 'fi', 'cs', 'tr', 'ja', 'zh', 'ko'];
const AMOUNTS = [0, 1, 5, 12.5, 999.99, 1234.5, 12345.678, 1234567.891, 0.005, 1.005, 2.675, 1e9];
const NEGATIVE_FIRST = new Set(['nl']);

/** Compares; gives the number of differences, each printed. */
export async function moneyAgainstIntl(driver) {
  let failed = 0;
  const pairs = [...Object.entries(OWN), ...EUROS.map((locale) => [locale, 'EUR'])];
  for (const [locale, currency] of pairs) {
    for (const amount of NEGATIVE_FIRST.has(locale) ? AMOUNTS : [...AMOUNTS, -12.5, -1234567.891]) {
      const expected = new Intl.NumberFormat(locale, { style: 'currency', currency }).format(amount);
      const { output, error } = await driver.ask({ kind: 'text', source: '{{ x | money }}', values: { x: amount }, locale, currency });
      if (output === expected) continue;
      failed++;
      if (failed <= 20) console.log(`FAILED money ${locale} ${currency} ${amount}: ${JSON.stringify(output ?? error)}, Intl ${JSON.stringify(expected)}`);
    }
  }
  return failed;
}
