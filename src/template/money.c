/*
 * The filter money: formats an amount in a currency: {{ price | money }} or
 * {{ price | money: 'EUR' }}. The locale is that of struct template_setting; its
 * format is the standard pattern of the Unicode CLDR. An unknown locale has the
 * format of English. Without an argument the currency is that of the setting,
 * else that of the locale. Amounts are in the main unit: 12.5 is twelve and a
 * half. The currency of the locale, USD, EUR and GBP are written as a sign, the
 * others as their ISO 4217 code. A value that is not a number is unchanged.
 */
#include "template/filter.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NO_BREAK_SPACE "\u00A0"
#define NARROW_SPACE   "\u202F"

struct money_locale {
    const char *name;
    const char *decimal;
    const char *group;
    bool sign_comes_first;
    bool has_space;        /* between sign and amount */
    bool groups_from_five; /* grouping starts at five digits: 1234, but 12.345 */
    const char *minus;
    const char *currency; /* the currency of the locale */
    const char *sign;     /* the sign of that currency in this locale */
};

/* Longer names come first. A locale that is not listed uses the entry of its language. */
static const struct money_locale locales[] = {
    { "en-GB", ".", ",", true, false, false, "-", "GBP", "£" },
    { "en-CA", ".", ",", true, false, false, "-", "CAD", "$" },
    { "en-AU", ".", ",", true, false, false, "-", "AUD", "$" },
    { "en-NZ", ".", ",", true, false, false, "-", "NZD", "$" },
    { "de-AT", ",", ".", true, true, false, "-", "EUR", "€" },
    { "de-CH", ".", "’", true, true, false, "-", "CHF", "CHF" },
    { "es-MX", ".", ",", true, false, false, "-", "MXN", "$" },
    { "fr-CA", ",", NO_BREAK_SPACE, false, true, false, "-", "CAD", "$" },
    { "pt-PT", ",", NO_BREAK_SPACE, false, true, true, "-", "EUR", "€" },
    { "en", ".", ",", true, false, false, "-", "USD", "$" },
    { "de", ",", ".", false, true, false, "-", "EUR", "€" },
    { "fr", ",", NARROW_SPACE, false, true, false, "-", "EUR", "€" },
    { "es", ",", ".", false, true, true, "-", "EUR", "€" },
    { "it", ",", ".", false, true, true, "-", "EUR", "€" },
    { "nl", ",", ".", true, true, false, "-", "EUR", "€" },
    { "pt", ",", ".", true, true, false, "-", "BRL", "R$" },
    { "pl", ",", NO_BREAK_SPACE, false, true, true, "-", "PLN", "zł" },
    { "sv", ",", NO_BREAK_SPACE, false, true, false, "\u2212", "SEK", "kr" },
    { "da", ",", ".", false, true, false, "-", "DKK", "kr." },
    { "nb", ",", NO_BREAK_SPACE, false, true, false, "\u2212", "NOK", "kr" },
    { "no", ",", NO_BREAK_SPACE, false, true, false, "\u2212", "NOK", "kr" },
    { "fi", ",", NO_BREAK_SPACE, false, true, false, "\u2212", "EUR", "€" },
    { "cs", ",", NO_BREAK_SPACE, false, true, false, "-", "CZK", "Kč" },
    { "tr", ",", ".", true, false, false, "-", "TRY", "₺" },
    { "ja", ".", ",", true, false, false, "-", "JPY", "￥" },
    { "zh", ".", ",", true, false, false, "-", "CNY", "¥" },
    { "ko", ".", ",", true, false, false, "-", "KRW", "₩" },
};

/* Currencies without minor units (ISO 4217). */
static const char *const whole_currencies[] = { "JPY", "KRW", "CLP", "VND", "ISK", "HUF", "XAF", "XOF", "UGX", "PYG" };

static const struct money_locale *find_locale(const char *name)
{
    for (size_t i = 0; name != NULL && i < ARRAY_COUNT(locales); i++) {
        size_t size = strlen(locales[i].name);
        if (strncmp(name, locales[i].name, size) == 0 && (name[size] == '\0' || name[size] == '-' || name[size] == '_'))
            return &locales[i];
    }
    return find_locale("en");
}

static const char *find_sign(const struct money_locale *locale, const char *currency)
{
    static const char *const known[][2] = { { "EUR", "€" }, { "GBP", "£" } };
    if (strcmp(currency, locale->currency) == 0)
        return locale->sign;
    if (strcmp(currency, "USD") == 0)
        return strcmp(locale->sign, "$") == 0 || strcmp(locale->name, "en-GB") == 0 ? "US$" : "$";
    for (size_t i = 0; i < ARRAY_COUNT(known); i++)
        if (strcmp(currency, known[i][0]) == 0)
            return known[i][1];
    return currency;
}

static int decimals_of(const char *currency)
{
    for (size_t i = 0; i < ARRAY_COUNT(whole_currencies); i++)
        if (strcmp(currency, whole_currencies[i]) == 0)
            return 0;
    return 2;
}

/* Reads a currency: three upper-case letters. */
static bool read_currency(const struct template_value *value, char ret_currency[4])
{
    if (value->kind != TEMPLATE_STRING || value->size != 3)
        return false;
    for (size_t i = 0; i < 3; i++)
        if (value->text[i] < 'A' || value->text[i] > 'Z')
            return false;
    memcpy(ret_currency, value->text, 3);
    ret_currency[3] = '\0';
    return true;
}

static void write_amount(struct buf *out, const struct money_locale *locale, const char *digits, int decimals)
{
    size_t size = strlen(digits);
    size_t whole = decimals > 0 ? size - (size_t)decimals - 1 : size;
    bool is_grouped = whole > 4 || (whole == 4 && !locale->groups_from_five);
    for (size_t i = 0; i < whole; i++) {
        if (is_grouped && i > 0 && (whole - i) % 3 == 0)
            buf_add_text(out, locale->group);
        buf_add_char(out, digits[i]);
    }
    if (decimals > 0) {
        buf_add_text(out, locale->decimal);
        buf_add_text(out, digits + whole + 1);
    }
}

static void write_money(struct buf *out, const struct money_locale *locale, const char *currency, double amount)
{
    enum { DIGITS_BYTES = 400 };
    char digits[DIGITS_BYTES];
    int decimals = decimals_of(currency);
    const char *sign = find_sign(locale, currency);
    bool is_code = strcmp(sign, currency) == 0;
    const char *space = locale->has_space || is_code ? NO_BREAK_SPACE : "";
    double scale = decimals > 0 ? 100 : 1;
    /* Rounds half away from zero. The factor corrects decimal halves such as 1.005, whose binary value is slightly smaller. */
    double rounded = fabs(amount) < 1e13 ? floor(fabs(amount) * scale * (1 + 1e-15) + 0.5) / scale : fabs(amount);
    snprintf(digits, sizeof(digits), "%.*f", decimals, rounded);
    if (amount < 0 && rounded > 0)
        buf_add_text(out, locale->minus);
    if (locale->sign_comes_first) {
        buf_add_text(out, sign);
        buf_add_text(out, space);
    }
    write_amount(out, locale, digits, decimals);
    if (!locale->sign_comes_first) {
        buf_add_text(out, space);
        buf_add_text(out, sign);
    }
}

bool template_filter_money(struct template_scratch *scratch, struct template_value *value, const struct template_value *arguments,
                           size_t count, struct error *err)
{
    enum { MONEY_MAX_BYTES = 1024 };
    const struct money_locale *locale = find_locale(scratch->setting->locale);
    char currency[4];
    double amount;
    bool is_number = value->kind == TEMPLATE_INTEGER || value->kind == TEMPLATE_NUMBER;
    bool is_text = value->kind == TEMPLATE_STRING && value->size > 0;
    if ((!is_number && !is_text) || !template_to_number(value, &amount))
        return true;
    const char *own = scratch->setting->currency;
    memcpy(currency, locale->currency, sizeof(currency));
    if (own != NULL) {
        struct template_value named = template_string(own, strlen(own));
        (void)read_currency(&named, currency);
    }
    if (count > 0)
        (void)read_currency(&arguments[0], currency);
    BUF_SCOPE out;
    buf_init(&out, MONEY_MAX_BYTES);
    write_money(&out, locale, currency, amount);
    char *buffer = template_scratch_alloc(scratch, out.size + 1, err);
    if (buffer == NULL)
        return false;
    memcpy(buffer, buf_text(&out), out.size);
    *value = template_string(buffer, out.size);
    return true;
}
