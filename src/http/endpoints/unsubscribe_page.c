#include "http/endpoints/unsubscribe_page.h"

#include <string.h>

/* System colours follow the reader's light or dark mode. The hash in unsubscribe_policy must match this text. */
static const char style[] = "body{margin:0;font:18px/1.5 system-ui,sans-serif;color:CanvasText;background:Canvas}"
                            "main{max-width:32rem;margin:15vh auto 0;padding:0 1.5rem}"
                            "h1{font-size:1.6rem;line-height:1.2}"
                            "button{font:inherit;padding:.6em 1.4em;border:1px solid;border-radius:.4em;color:Canvas;"
                            "background:CanvasText;cursor:pointer}"
                            "button:focus-visible{outline:3px solid Highlight;outline-offset:3px}";

const char unsubscribe_policy[] =
    "default-src 'none'; style-src 'sha256-DUqgIX1+HwLD876KQaf1V7Pce68EuNorg8i6Skc8Op8='; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'";

static const char button[] = "<form method=\"post\"><input type=\"hidden\" name=\"" UNSUBSCRIBE_FIELD
                             "\" value=\"" UNSUBSCRIBE_VALUE "\"><button type=\"submit\">Unsubscribe</button></form>";

struct wording {
    const char *title;
    const char *before_brand; /* the name of the brand */
    const char *after_brand;
    const char *end; /* HTML */
};

static const struct wording wordings[] = {
    [UNSUBSCRIBE_ASK] = { "Unsubscribe?", "You will get no more marketing email from ", " at this address.", button },
    [UNSUBSCRIBE_LEFT] = { "You are unsubscribed", "You will get no more marketing email from ", " at this address.",
                           "<p>You can close this page.</p>" },
    [UNSUBSCRIBE_TEST] = { "A test message", "This link came with a test message from ", ".",
                           "<p>In a real message it unsubscribes the recipient. Here it changes nothing.</p>" },
    [UNSUBSCRIBE_WRONG] = { "This link does not work", NULL, "The link is incomplete, or its sender no longer exists.",
                            "<p>Please open it again from the message itself.</p>" },
    [UNSUBSCRIBE_FORM] = { "Nothing was changed", NULL, "Please open the link from the message and use the button there.", "" },
    [UNSUBSCRIBE_LATER] = { "Please try again in a minute", NULL, "This is not possible right now. Nothing was changed.", "" },
};

static void add_escaped_html(struct buf *out, const char *text)
{
    while (*text != '\0') {
        size_t plain = strcspn(text, "&<>\"'");
        buf_add(out, text, plain);
        text += plain;
        if (*text != '\0')
            buf_printf(out, "&#%d;", *text++);
    }
}

void unsubscribe_page_write(struct buf *out, enum unsubscribe_page page, const char *brand)
{
    const struct wording *wording = &wordings[page];
    buf_printf(out,
               "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>%s</title>"
               "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta name=\"robots\" content=\"noindex\">"
               "<meta name=\"color-scheme\" content=\"light dark\"><style>%s</style></head><body><main><h1>%s</h1><p>",
               wording->title, style, wording->title);
    if (wording->before_brand != NULL) {
        buf_add_text(out, wording->before_brand);
        buf_add_text(out, "<strong dir=\"auto\">");
        add_escaped_html(out, brand);
        buf_add_text(out, "</strong>");
    }
    buf_printf(out, "%s</p>%s</main></body></html>\n", wording->after_brand, wording->end);
}
