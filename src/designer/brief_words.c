#include "designer/brief_words.h"

#include "base/text.h"
#include "designer/brief_text.h"

#include <ctype.h>
#include <string.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

enum { LANGUAGES = 7, WORD_MAX_BYTES = 24 };

/* ---- Language ---- */

struct language {
    const char *tag;
    const char *words; /* with a space around each */
};

static const struct language languages[LANGUAGES] = {
    { "en", " the and of to our for with is are you your we this that will be it next write about please us all new on from at by "
            "until have has off " },
    { "de", " der die das und für mit ein eine einen einem unser unsere unseren unserer wir sie ist im am zum zur von auf den dem "
            "des bis über bitte "
            "schreibe alle neue neuen euch ihr ihre ab bei wird gibt es jetzt noch nicht uns kein " },
    { "fr", " le la les des et pour avec une un notre nos nous vous est du au aux sur dans de en par votre ce cette qui jusqu'au "
            "rédige écris toutes " },
    { "es", " el la los las y para con una un nuestro nuestra nuestros es del al en de por hasta su sus que este esta escribe "
            "redacta todos todas " },
    { "it",
      " il lo gli le di del della che per con una un non e è ci si vi nostro nostra nostri dal alla sono questo questa ogni " },
    { "nl", " de het een en van voor met op u uw ons onze wij wat niet bij dat naar zijn wilt " },
    { "pt", " da do das dos para com uma não nosso nossa nossos nossas você seu sua até pela pelo são " },
};

static const char *primary_language(struct arena *arena, const char *locale)
{
    char *tag = arena_dup(arena, locale != NULL ? locale : "en");
    tag[strcspn(tag, "-_")] = '\0';
    return tag;
}

/* Letters that only some languages have, as the first bytes of their UTF-8. */
static const char *script_language(const char *text)
{
    size_t hebrew = 0, arabic = 0, greek = 0, cyrillic = 0, kana = 0, hangul = 0, han = 0, latin = 0;
    for (const unsigned char *byte = (const unsigned char *)text; *byte != '\0'; byte++) {
        latin += isalpha(*byte) != 0;
        hebrew += *byte == 0xD7;
        arabic += *byte >= 0xD8 && *byte <= 0xDB;
        greek += *byte == 0xCE || *byte == 0xCF;
        cyrillic += *byte >= 0xD0 && *byte <= 0xD3;
        kana += *byte == 0xE3 && (byte[1] == 0x81 || byte[1] == 0x82 || byte[1] == 0x83);
        han += *byte >= 0xE4 && *byte <= 0xE9;
        hangul += *byte >= 0xEA && *byte <= 0xED;
    }
    const struct {
        size_t count;
        const char *tag;
    } scripts[] = { { hebrew, "he" },   { arabic, "ar" },     { greek, "el" },  { cyrillic, "ru" },
                    { kana * 3, "ja" }, { hangul * 2, "ko" }, { han * 2, "zh" } };
    for (size_t i = 0; i < ARRAY_SIZE(scripts); i++)
        if (scripts[i].count > latin)
            return scripts[i].tag;
    return NULL;
}

static void count_words(const char *text, size_t counts[LANGUAGES])
{
    while (*text != '\0') {
        char word[WORD_MAX_BYTES + 3] = " ";
        size_t size = 0;
        while (is_word_part(text[size]) || text[size] == '\'')
            size++;
        if (size > 0 && size <= WORD_MAX_BYTES) {
            memcpy(word + 1, text, size);
            memcpy(word + 1 + size, " ", 2);
            for (size_t i = 0; i < LANGUAGES; i++)
                counts[i] += strstr(languages[i].words, word) != NULL;
        }
        text += size > 0 ? size : 1;
    }
}

const char *words_language(struct arena *arena, const char *text, const char *otherwise)
{
    size_t counts[LANGUAGES] = { 0 };
    size_t best = 0;
    const char *script = script_language(text);
    if (script != NULL)
        return script;
    count_words(text_lower(arena, text), counts);
    for (size_t i = 1; i < LANGUAGES; i++)
        if (counts[i] > counts[best])
            best = i;
    for (size_t i = 0; i < LANGUAGES; i++)
        if ((i != best && counts[i] == counts[best]) || counts[best] == 0)
            return otherwise != NULL ? otherwise : "en";
    bool is_brands = otherwise != NULL && text_equal(primary_language(arena, otherwise), languages[best].tag);
    return is_brands ? otherwise : languages[best].tag;
}

/* ---- Category ---- */

struct category_words {
    const char *category;
    size_t weight;
    const char *words;
};

/* Of equal weights, the words that come first in the text count. */
static const struct category_words categories[] = {
    { "cart-abandonment", 6,
      "abandoned cart|cart abandon|left in their cart|left in the cart|left something in|warenkorb|panier|carrito|checkout "
      "reminder" },
    { "event-reminder", 4,
      "event reminder|reminder for|reminder about|reminder:|remind|erinnerung|erinnere|rappel|rappelle|recordatorio|recuerda" },
    { "re-engagement", 5,
      "re-engage|reengage|win back|win-back|winback|inactive|miss "
      "you|lapsed|inaktiv|zurückgewinn|vermissen|inactifs|reconquérir|manquez|inactivos|echamos de menos|reactiva" },
    { "referral", 5,
      "referral|refer a friend|refer friends|invite a friend|invite friends|freunde "
      "werben|weiterempfehl|empfehlungs|parrain|invita a un amigo|recomienda" },
    { "feedback-request", 5,
      "feedback|survey|review request|leave a review|rate us|rate your|umfrage|bewertung|rückmeldung|deine meinung|ihre "
      "meinung|sondage|votre avis|ton avis|encuesta|reseña|tu opinión|su opinión" },
    { "internal", 5,
      "internal|all staff|employees|colleagues|all-hands|all hands|mitarbeite|interne mail|intern "
      "|belegschaft|collaborateurs|collègues|empleados|interno|compañeros" },
    { "welcome", 5, "welcome|onboard|willkommen|begrüß|bienvenu|bienvenid" },
    { "product-update", 4,
      "product update|release notes|changelog|new feature|new version|what's new in|neue funktion|neue version|neuerungen|mise à "
      "jour|nouvelle fonction|nouvelle version|actualización|nueva función|nueva versión" },
    { "product-launch", 4,
      "launch|introducing|introduce our|announce our new|annonce notre nouve|annonce nos nouve|kündige unser neu|kündige unsere "
      "neu|anuncia nuestr|new product|pre-order|neues "
      "produkt|markteinführung|vorbestell|neuheit|lancement|nouveau "
      "produit|lanzamiento|nuevo producto" },
    { "newsletter", 4,
      "newsletter|digest|roundup|round-up|monthly news|rundbrief|infolettre|lettre d'information|boletín|boletin" },
    { "event-invitation", 5, "q&a session|webinar|town hall" },
    { "event-invitation", 4,
      "invit|einlad|lade |workshop|webinar|conference|concert|meetup|summer party|open day|veranstaltung|konzert|tag der "
      "offenen|conférence|atelier|portes ouvertes|taller|concierto|evento" },
    { "promotional", 3,
      "sale|discount|% off|percent off|promo|coupon|special "
      "offer|offer|deal|rabatt|angebot|gutschein|schlussverkauf|soldes|réduction|remise|rebaja|descuento|oferta|black friday" },
    { "business", 3,
      "invoice|contract|terms of|privacy policy|price change|investor|partners|opening "
      "hours|rechnung|vertrag|geschäft|öffnungszeiten|facture|contrat|horaires|factura|contrato|socios|horario" },
    { "event-invitation", 2, "event|opening|party|fest |feier|eröffnung|fête|inauguration|fiesta" },
};

const char *words_category(const char *text)
{
    size_t best = 0;
    const char *first = NULL;
    const char *category = "general";
    for (size_t i = 0; i < ARRAY_SIZE(categories); i++) {
        size_t size;
        const char *at = find_phrase(text, categories[i].words, &size);
        if (at == NULL || categories[i].weight < best || (categories[i].weight == best && at >= first))
            continue;
        best = categories[i].weight;
        first = at;
        category = categories[i].category;
    }
    return category;
}

/* ---- Labels ---- */

static const struct {
    enum label label;
    const char *names; /* with | around each */
} labels[] = {
    { LABEL_SUBJECT, "|subject|subject line|betreff|betreffzeile|objet|asunto|" },
    { LABEL_PREVIEW, "|preview|preview text|preheader|vorschau|vorschautext|aperçu|vista previa|" },
    { LABEL_HEADING, "|heading|headline|title|überschrift|titel|titre|título|titular|" },
    { LABEL_ACTION, "|cta|call to action|button|button text|knopf|schaltfläche|bouton|botón|boton|" },
    { LABEL_LINK, "|link|url|website|register|tickets|rsvp|webseite|anmeldung|lien|site|enlace|sitio|" },
    { LABEL_WHEN, "|when|date|starts|wann|datum|termin|beginn|quand|date et heure|cuándo|fecha|" },
    { LABEL_TIME, "|time|uhrzeit|zeit|heure|hora|" },
    { LABEL_PLACE, "|where|place|venue|location|wo|ort|où|lieu|dónde|lugar|" },
    { LABEL_ADDRESS, "|address|adresse|dirección|anschrift|" },
    { LABEL_CODE, "|code|promo code|coupon|coupon code|voucher|gutschein|gutscheincode|rabattcode|code promo|código|cupón|" },
    { LABEL_OFFER, "|offer|discount|deal|angebot|rabatt|offre|remise|oferta|descuento|" },
    { LABEL_TERMS, "|terms|conditions|bedingungen|condiciones|" },
    { LABEL_SIGNER, "|signature|signed|sign-off|from|signed by|unterschrift|absender|von|signé|firma|firmado|" },
    { LABEL_ABOUT, "|tone|style|audience|target "
                   "audience|goal|purpose|length|language|brand|voice|colours|colors|category|type|note|ton|tonfall|stil|"
                   "zielgruppe|ziel|länge|sprache|style|"
                   "public|objectif|longueur|langue|tono|estilo|público|objetivo|longitud|idioma|" },
    { LABEL_INSTRUCTION, "|brief|task|prompt|topic|about|thema|aufgabe|sujet|tema|instructions|" },
};

enum label words_label(const char *name)
{
    char key[48] = "|";
    size_t size = strlen(name);
    if (size == 0 || size > sizeof(key) - 3)
        return LABEL_NONE;
    memcpy(key + 1, name, size);
    memcpy(key + 1 + size, "|", 2);
    for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
        if (strstr(labels[i].names, key) != NULL)
            return labels[i].label;
    return LABEL_NONE;
}

/* ---- Instructions ---- */

static const char mentions[] =
    "tell customers that |tell our customers that |tell everybody that |tell everyone that |inform customers that |mention that "
    "|also mention that |say that |also say that |tell them that |tell them |tell readers "
    "that |point out that |note that |explain that |include that |"
    "remind them that |let them know that |erwähne, dass |erwähne auch, dass |sag, dass |sage, dass "
    "|weise darauf hin, dass |mentionne que |mentionnez que |précise que |"
    "menciona que |di que |indica que ";
static const char verbs[] =
    "please write |please create |please make |please draft |please design |please send |please include |please mention |please "
    "use |please add |please keep |"
    "button |button: |cta |cta: |link: |knopf |bouton |botón |link |subject |subject: |write |create |make |draft |design |compose "
    "|generate |build |send |prepare |announce "
    "|promote |invite |remind |tell |ask |introduce |celebrate |thank our |thank the |thank all |give them |"
    "i need |i want |i'd like |we need |we want |we'd like |can you |could you |mention |include "
    "|highlight |use |add |keep |put |do not |don't |avoid |link to |sign |end with |"
    "start with |begin with |win back |bring back |reactivate |re-engage |show |explain |focus |emphasise |emphasize |write |the "
    "email |the newsletter "
    "|the mail |the tone |tone |it should |no emojis|short |"
    "schreib |schreibe |schreiben |erstelle |erstellen |entwirf |mach |mache |bitte schreibe |bitte erstelle |verfasse |gestalte "
    "|lade |lad |kündige |erinnere |bedanke |bitte um |bitte schreib|bitte erstell|bitte verfass|bitte kein|zeig |zeige |erwähne "
    "|nutze |verwende |"
    "die mail |die e-mail |der newsletter soll|der ton |ich brauche |wir brauchen |informiere |bewirb |"
    "écris |écrivez |rédige |rédigez |crée |créez |prépare |préparez |annonce |annoncez |invite |invitez "
    "|rappelle |rappelez |mentionne |mentionnez |utilise |utilisez |"
    "fais |faites |ajoute |le ton |l'e-mail |l'email |je veux |nous voulons |demande |remercie |"
    "escribe |escribir |redacta |crea |prepara |anuncia |invita |recuerda |menciona |usa |utiliza |haz "
    "|añade |el tono |el correo |quiero |queremos |necesito |necesitamos |pide |agradece ";
/* Instructions that have the topic right behind their verb. */
static const char direct_verbs[] =
    "announce |promote |introduce |celebrate |introducing |announcing |kündige |bewirb |annonce |annoncez |anuncia ";
static const char strong_topics[] = " tells customers that | tells our customers that | tells customers | about | announcing | "
                                    "introducing | promoting | celebrating | to announce | to introduce | to "
                                    "promote | über | anlässlich | à propos de | annonçant | sobre | acerca de ";
static const char guests[] =
    " to the | to our | to a | to | zum | zur | zu | à la | à notre | à nos | au | a la | al | a nuestro | a nuestra ";
static const char possessions[] = " with our | mit unseren | mit unserem | avec nos | avec notre | con nuestros | con nuestra ";
static const char weak_topics[] = " for | on | für | zum | zur | zu | pour | sur | para ";

static bool begins_with_phrase(const char *text, const char *phrases, size_t *ret_size)
{
    while (*phrases != '\0') {
        size_t size = strcspn(phrases, "|");
        if (strncmp(text, phrases, size) == 0) {
            *ret_size = size;
            return true;
        }
        phrases += size + (phrases[size] == '|');
    }
    return false;
}

size_t words_mention(const char *sentence)
{
    size_t size = 0;
    return begins_with_phrase(sentence, mentions, &size) ? size : 0;
}

bool words_instruct(const char *sentence)
{
    size_t size;
    return begins_with_phrase(sentence, verbs, &size);
}

size_t words_topic(const char *sentence)
{
    size_t size = 0;
    if (begins_with_phrase(sentence, direct_verbs, &size))
        return size;
    const char *at = find_phrase(sentence, strong_topics, &size);
    if (at == NULL && find_phrase(sentence, "invit|einlad|lade |lad ", &size) != NULL)
        at = find_phrase(sentence, guests, &size);
    if (at == NULL)
        at = find_phrase(sentence, weak_topics, &size);
    if (at == NULL && (at = find_phrase(sentence, possessions, &size)) != NULL)
        size = strcspn(at + 1, " ") + 2;
    return at == NULL ? 0 : (size_t)(at - sentence) + size;
}

bool words_name_email(const char *text)
{
    size_t size;
    return find_phrase(text,
                       "email|e-mail|mail|newsletter|message|rundbrief|courriel|correo|boletín|infolettre|geschäftsbrief|letter "
                       "to|lettre aux|cart reminder|feedback request",
                       &size) != NULL;
}

size_t words_topic_size(const char *text)
{
    static const char stops[] = ": |; | – | — | - |, | (| with | until | till | at | that | which | who | where | including | from "
                                "| starting | mit | bis | am | ab | um | im | vom | "
                                "und gib| ein und| ein.| an.| avec | jusqu'au | jusqu’au | du | con | hasta | del | by | https://| "
                                "http://|\n| on | next | tomorrow | in | and | called | when | le 1| le 2| le 3| el 1| el 2| el 3| "
                                "le lundi| le mardi| le mercredi| le jeudi| le vendredi| le samedi| le dimanche";
    size_t size;
    size_t end = sentence_size(text);
    const char *stop = find_phrase(text, stops, &size);
    if (stop != NULL && stop > text && (size_t)(stop - text) < end)
        end = (size_t)(stop - text);
    while (end > 0 && strchr(" .!?,:;", text[end - 1]) != NULL)
        end--;
    return end;
}

bool words_join_topics(const char *text, size_t size)
{
    size_t found_size;
    const char *found = find_phrase(text, " and | & | und | et | y ", &found_size);
    return found != NULL && found < text + size;
}

size_t words_determiner(const char *topic, const char *language)
{
    static const char en[] = "a note to say |the |a |an ";
    static const char de[] = "unseren |unserem |unserer |unsere |unser |den |dem |der |die |das |einen |einem |einer |eine |ein ";
    static const char fr[] = "notre |nos |votre |le |la |les |l'|l’|une |un |des ";
    static const char es[] = "nuestro |nuestra |nuestros |nuestras |el |la |los |las |un |una ";
    const char *words = text_starts_with(language, "de")   ? de
                        : text_starts_with(language, "fr") ? fr
                        : text_starts_with(language, "es") ? es
                                                           : en;
    size_t size = 0;
    return begins_with_phrase(topic, words, &size) ? size : 0;
}
