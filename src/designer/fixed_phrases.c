#include "designer/fixed_phrases.h"

#include "base/buf.h"
#include "base/text.h"

#include <string.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

enum { PHRASES_MAX_BYTES = 32 * 1024 };

static const struct fixed_phrases phrases[FIXED_LANGUAGES] = {
    { "en", "Hi {{ contact.firstName | default: 'there' }},", "You receive this email from %s.", "Visit our website", "Read more" },
    { "de", "Hallo {{ contact.firstName | default: 'zusammen' }},", "Sie erhalten diese E-Mail von %s.", "Zur Website",
      "Weiterlesen" },
    { "fr", "Bonjour {{ contact.firstName | default: 'à vous' }},", "Vous recevez cet e-mail de la part de %s.", "Voir le site",
      "Lire la suite" },
    { "es", "Hola {{ contact.firstName | default: 'a todos' }},", "Recibe este correo de parte de %s.", "Visitar la web",
      "Leer más" },
};

struct category_phrase {
    const char *category;
    const char *texts[FIXED_LANGUAGES]; /* in the order of `phrases` */
};

static const struct category_phrase headings[] = {
    { "welcome", { "Welcome to %s", "Willkommen bei %s", "Bienvenue chez %s", "Le damos la bienvenida a %s" } },
    { "feedback-request", { "Your opinion matters", "Ihre Meinung zählt", "Votre avis compte", "Su opinión cuenta" } },
    { "re-engagement", { "We miss you", "Wir vermissen Sie", "Vous nous manquez", "Le echamos de menos" } },
    { "referral", { "Share %s with a friend", "Empfehlen Sie %s weiter", "Parlez de %s à vos proches", "Recomiende %s" } },
    { "cart-abandonment",
      { "Still in your cart", "Noch in Ihrem Warenkorb", "Toujours dans votre panier", "Todavía en su carrito" } },
};

/* The last row is for all other categories. */
static const struct category_phrase actions[] = {
    { "welcome", { "Get started", "Jetzt loslegen", "Commencer", "Empezar" } },
    { "newsletter", { "Read more", "Weiterlesen", "Lire la suite", "Leer más" } },
    { "promotional", { "Shop now", "Jetzt einkaufen", "En profiter", "Comprar ahora" } },
    { "cart-abandonment", { "Go to your cart", "Zum Warenkorb", "Voir le panier", "Ver el carrito" } },
    { "event-invitation", { "Register", "Jetzt anmelden", "S’inscrire", "Inscribirse" } },
    { "event-reminder", { "See the details", "Details ansehen", "Voir les détails", "Ver los detalles" } },
    { "feedback-request", { "Give feedback", "Feedback geben", "Donner votre avis", "Dar su opinión" } },
    { "re-engagement", { "Take a look", "Jetzt ansehen", "Découvrir", "Echar un vistazo" } },
    { "referral", { "Invite a friend", "Freunde einladen", "Inviter un proche", "Invitar a un amigo" } },
    { "", { "Learn more", "Mehr erfahren", "En savoir plus", "Más información" } },
};

static int language_index(const char *language)
{
    for (int i = 0; i < FIXED_LANGUAGES; i++)
        if (strncmp(language, phrases[i].language, 2) == 0 && (language[2] == '\0' || language[2] == '-'))
            return i;
    return -1;
}

const struct fixed_phrases *fixed_phrases(const char *language)
{
    int index = language_index(language);
    return index >= 0 ? &phrases[index] : NULL;
}

/* The text with the name in place of %s; NULL when it needs a name that is not there. */
static const char *with_brand(struct arena *arena, const char *text, const char *brand)
{
    const char *mark = strstr(text, "%s");
    if (mark == NULL)
        return text;
    return brand == NULL ? NULL : arena_printf(arena, "%.*s%s%s", (int)(mark - text), text, brand, mark + 2);
}

const char *fixed_heading(struct arena *arena, const char *language, const char *category, const char *brand)
{
    int index = language_index(language);
    for (size_t i = 0; i < ARRAY_SIZE(headings) && index >= 0; i++)
        if (text_equal(headings[i].category, category))
            return with_brand(arena, headings[i].texts[index], brand);
    return NULL;
}

const char *fixed_action(const char *language, const char *category)
{
    int index = language_index(language);
    for (size_t i = 0; i < ARRAY_SIZE(actions) - 1 && index >= 0; i++)
        if (text_equal(actions[i].category, category))
            return actions[i].texts[index];
    return index >= 0 ? actions[ARRAY_SIZE(actions) - 1].texts[index] : NULL;
}

bool fixed_greets(const char *category)
{
    static const char *const greeted[] = { "welcome",       "cart-abandonment", "event-reminder", "feedback-request",
                                           "re-engagement", "referral",         "business",       "internal" };
    for (size_t i = 0; i < ARRAY_SIZE(greeted); i++)
        if (text_equal(category, greeted[i]))
            return true;
    return false;
}

static void add_all(struct buf *out, const struct category_phrase *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < FIXED_LANGUAGES; j++)
            buf_printf(out, "%s\n", rows[i].texts[j]);
}

const char *fixed_text(struct arena *arena)
{
    struct buf *out = buf_in_arena(arena, PHRASES_MAX_BYTES);
    for (size_t i = 0; i < FIXED_LANGUAGES; i++)
        buf_printf(out, "%s\n%s\n%s\n%s\n", phrases[i].greeting, phrases[i].reason, phrases[i].website, phrases[i].more);
    add_all(out, headings, ARRAY_SIZE(headings));
    add_all(out, actions, ARRAY_SIZE(actions));
    return arena_dup(arena, buf_text(out));
}
