#include "http/endpoints/unsubscribe_page.h"

#include "base/json_read.h"

#include <string.h>

/* System colours follow the reader's light or dark mode. The hash in unsubscribe_policy must match this text. */
static const char style[] =
    "body{margin:0;font:18px/1.5 system-ui,sans-serif;color:CanvasText;background:Canvas}"
    "main{max-width:32rem;margin:15vh auto 0;padding:0 1.5rem}"
    "h1{font-size:1.6rem;line-height:1.2}"
    "button{font:inherit;padding:.6em 1.4em;border:1px solid;border-radius:.4em;color:Canvas;"
    "background:CanvasText;cursor:pointer}"
    "input[type=email]{display:block;box-sizing:border-box;width:100%;font:inherit;padding:.6em;border:1px solid;"
    "border-radius:.4em}"
    "button:focus-visible,input:focus-visible{outline:3px solid Highlight;outline-offset:3px}";

const char unsubscribe_policy[] =
    "default-src 'none'; style-src 'sha256-pzaR+3ay533CM0rjQ+ZlcfTfB7L+P3wzcjp5ftO7xhE='; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'";

static const char button[] = "<form method=\"post\"><input type=\"hidden\" name=\"" UNSUBSCRIBE_FIELD
                             "\" value=\"" UNSUBSCRIBE_VALUE "\"><button type=\"submit\">Unsubscribe</button></form>";

/* The server judges the address, because browsers refuse some that exist (RFC 6531). */
#define ADDRESS_FORM(attributes)                                                                                                   \
    "<form method=\"post\" novalidate><p><label>Email address <input type=\"email\" name=\"" UNSUBSCRIBE_EMAIL                     \
    "\" required maxlength=\"320\" autocomplete=\"email\"" attributes                                                              \
    "></label></p><button type=\"submit\">Send me my link</button></form>"

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
    [UNSUBSCRIBE_SAVED] = { "Your choice is saved", "It applies to marketing email from ", " at this address.", "" },
    [UNSUBSCRIBE_TEST] = { "A test message", "This link came with a test message from ", ".",
                           "<p>In a real message it unsubscribes the recipient. Here it changes nothing.</p>" },
    [UNSUBSCRIBE_WRONG] = { "This link does not work", NULL, "The link is incomplete, or its sender no longer exists.",
                            "<p>Please open it again from the message itself.</p>" },
    [UNSUBSCRIBE_FORM] = { "Nothing was changed", NULL, "Please open the link from the message and use the button there.", "" },
    [UNSUBSCRIBE_LATER] = { "Please try again in a minute", NULL, "This is not possible right now. Nothing was changed.", "" },
    [UNSUBSCRIBE_REQUEST] = { "Get your link by mail", "With the link you unsubscribe, or choose which mail you get from ", ".",
                              ADDRESS_FORM("") },
    [UNSUBSCRIBE_REQUESTED] = { "Look at your mail", "If this address gets mail from ", ", your link is on its way there.",
                                "<p>It is sent once an hour at most. You can close this page.</p>" },
    [UNSUBSCRIBE_ADDRESS] = { "This is not an email address", NULL, "Nothing was sent.",
                              "<p id=\"fault\" role=\"alert\">Please type a whole address, such as "
                              "name@example.com.</p>" ADDRESS_FORM(" aria-invalid=\"true\" aria-describedby=\"fault\"") },
    [UNSUBSCRIBE_UNAVAILABLE] = { "Not available", "No link can be sent from here. Please use the link in a message, or ask ",
                                  " to unsubscribe you.", "" },
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

static void add_checkbox(struct buf *out, const char *name, size_t number, const char *value, bool is_checked, const char *label)
{
    buf_printf(out, "<p><label><input type=\"checkbox\" name=\"%s%zu\" value=\"", name, number);
    add_escaped_html(out, value);
    buf_printf(out, "\"%s> <span dir=\"auto\">", is_checked ? " checked" : "");
    add_escaped_html(out, label);
    buf_add_text(out, "</span></label></p>");
}

/* A form of its own: the button above it leaves everything, whatever is chosen here. */
static void add_preferences(struct buf *out, const struct unsubscribe_view *view)
{
    size_t at;
    const json_t *group;
    buf_add_text(out, "<form method=\"post\"><input type=\"hidden\" name=\"" PREFERENCES_FIELD "\" value=\"" PREFERENCES_VALUE
                      "\"><fieldset><legend>Choose what you want to get</legend>");
    json_array_foreach (view->groups, at, group)
        add_checkbox(out, PREFERENCES_GROUP, at, json_get_text(group, "id"), json_get_bool(group, "chosen", false),
                     json_get_text(group, "title"));
    if (view->has_left)
        buf_add_text(out, "<p><label><input type=\"checkbox\" name=\"" PREFERENCES_SUBSCRIBE
                          "\" value=\"yes\"> Subscribe me again. Without this you get no marketing email.</label></p>");
    buf_add_text(out, "<p><button type=\"submit\">Save my choice</button></p></fieldset></form>");
}

void unsubscribe_page_write(struct buf *out, const struct unsubscribe_view *view)
{
    const struct wording *wording = &wordings[view->page];
    buf_printf(out,
               "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>%s</title>"
               "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta name=\"robots\" content=\"noindex\">"
               "<meta name=\"color-scheme\" content=\"light dark\"><style>%s</style></head><body><main><h1>%s</h1><p>",
               wording->title, style, wording->title);
    if (wording->before_brand != NULL) {
        buf_add_text(out, wording->before_brand);
        buf_add_text(out, "<strong dir=\"auto\">");
        add_escaped_html(out, view->brand);
        buf_add_text(out, "</strong>");
    }
    buf_printf(out, "%s</p>%s", wording->after_brand, wording->end);
    if (view->page == UNSUBSCRIBE_SAVED && !view->has_left)
        buf_add_text(out, button);
    if (json_array_size(view->groups) > 0)
        add_preferences(out, view);
    buf_add_text(out, "</main></body></html>\n");
}
