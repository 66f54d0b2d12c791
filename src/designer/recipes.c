#include "designer/recipes.h"

#include "base/text.h"

struct recipes {
    const char *category;
    const char *lines[RECIPES_PER_CATEGORY];
};

/* The last row is for "general". */
static const struct recipes all[] = {
    { "welcome",
      { "header:centered hero:centered/tint! body text:plain list:spaced columns:icons steps:numbered quote:card offer:coupon "
        "products:grid event:card stories:cards "
        "signature:plain social:labels footer:centered",
        "header:stacked hero:minimal body text:lead list:boxed columns:rows steps:cards quote:plain offer:banner/accent "
        "products:rows event:calendar stories:rows "
        "button:regular signature:line social:line footer:start",
        "header:centered/accent hero:centered/accent! body text:plain list:plain/tint columns:cards steps:line quote:portrait/tint "
        "offer:plain/tint products:feature event:card "
        "stories:plain signature:plain social:buttons footer:centered/tint" } },
    { "newsletter",
      { "header:stacked hero:minimal stories:rows body text:plain list:plain columns:rows steps:numbered quote:plain table:lined "
        "products:grid offer:coupon event:calendar button:regular "
        "signature:plain social:line footer:start",
        "header:centered hero:centered/tint body text:plain list:boxed columns:cards steps:cards quote:card/tint table:striped "
        "stories:cards products:rows offer:banner/accent "
        "event:card/tint button:regular signature:line social:labels footer:centered",
        "header:centered/dark hero:banner body text:plain list:plain/tint columns:plain steps:line quote:portrait/tint table:lined "
        "stories:plain event:line products:feature offer:plain/tint "
        "button:wide signature:plain social:buttons footer:centered/tint" } },
    { "promotional",
      { "header:centered hero:centered/accent! offer:coupon body text:plain list:plain columns:cards products:grid stories:cards "
        "event:card button:regular social:labels footer:centered/tint",
        "header:stacked hero:banner! body text:lead list:spaced columns:rows products:feature offer:banner/dark stories:rows "
        "event:line button:wide social:line footer:start",
        "header:centered/dark hero:centered/dark! products:rows offer:coupon/tint body text:plain list:boxed columns:plain "
        "quote:card stories:plain event:calendar button:regular social:buttons "
        "footer:centered" } },
    { "product-launch",
      { "header:centered hero:centered/dark! products:feature body text:lead list:spaced columns:cards/tint stats:cards "
        "quote:portrait stories:plain offer:coupon event:card button:regular "
        "social:labels footer:centered",
        "header:stacked hero:split! body text:plain list:boxed columns:rows stats:line quote:card/tint products:grid stories:rows "
        "event:calendar offer:banner/accent button:wide social:line "
        "footer:start",
        "header:centered/tint hero:centered/tint! stories:cards body text:plain list:plain columns:icons stats:plain/accent "
        "quote:plain products:rows event:line offer:plain/tint button:regular "
        "social:buttons footer:centered/tint" } },
    { "product-update",
      { "header:stacked hero:split body text:plain list:boxed columns:rows steps:numbered stats:plain table:lined quote:plain "
        "products:rows stories:rows event:line offer:plain button:regular "
        "signature:line social:line footer:start",
        "header:centered hero:centered/tint! body text:plain list:spaced columns:cards steps:cards stats:cards table:striped "
        "quote:card products:grid stories:cards event:card offer:coupon "
        "button:regular signature:plain social:labels footer:centered",
        "header:stacked/dark hero:banner body text:plain list:plain/tint columns:plain steps:line stats:line table:striped "
        "quote:portrait/tint products:feature stories:plain event:calendar "
        "offer:banner/accent button:wide signature:plain social:buttons footer:split" } },
    { "cart-abandonment",
      { "header:centered hero:centered/tint body text:plain products:rows offer:coupon/tint button:wide list:plain quote:card "
        "event:line stories:plain signature:plain social:labels footer:centered",
        "header:stacked hero:minimal products:rows body text:plain offer:plain button:regular list:boxed quote:plain event:card "
        "stories:rows signature:line social:line footer:start",
        "header:centered/accent hero:centered/accent! products:feature/tint body text:lead offer:banner list:spaced quote:portrait "
        "event:calendar stories:cards button:regular signature:plain "
        "social:buttons footer:centered/tint" } },
    { "event-invitation",
      { "header:centered hero:centered/accent! event:card body text:plain list:plain columns:cards steps:line quote:card "
        "table:lined products:grid offer:coupon/tint stories:cards button:regular "
        "signature:plain social:labels footer:centered",
        "header:stacked hero:banner event:calendar/tint body text:lead list:boxed columns:rows steps:numbered quote:plain "
        "table:striped products:rows stories:rows offer:plain button:wide "
        "signature:line social:line footer:start",
        "header:centered/dark hero:centered/dark body text:plain list:spaced columns:plain steps:cards quote:portrait/tint "
        "table:lined event:card/tint products:feature stories:plain "
        "offer:banner/accent button:regular signature:plain social:buttons footer:centered/tint" } },
    { "event-reminder",
      { "header:stacked hero:minimal event:calendar body text:plain list:boxed columns:rows steps:numbered table:lined "
        "products:rows offer:plain stories:rows button:regular signature:line "
        "social:line footer:start",
        "header:centered hero:centered/tint! event:card body text:plain list:plain columns:cards steps:cards table:striped "
        "products:grid offer:coupon stories:cards button:regular signature:plain "
        "social:labels footer:centered",
        "header:centered/accent hero:centered/accent event:card/tint body text:lead list:spaced columns:plain steps:line "
        "table:lined products:feature offer:banner stories:plain button:wide "
        "signature:plain social:buttons footer:centered/tint" } },
    { "feedback-request",
      { "header:centered hero:centered/tint! body text:plain list:boxed steps:numbered quote:card offer:coupon products:rows "
        "event:line stories:plain signature:plain social:labels footer:centered",
        "header:stacked hero:split! body text:plain list:plain steps:cards quote:plain offer:plain/tint products:grid event:card "
        "stories:rows button:regular signature:line social:line footer:start",
        "header:stacked hero:banner! body text:lead list:spaced steps:line quote:portrait offer:banner/accent products:feature "
        "event:calendar stories:cards button:wide signature:plain "
        "social:buttons footer:split" } },
    { "re-engagement",
      { "header:centered hero:centered/accent! body text:plain offer:coupon list:spaced columns:cards products:grid stories:cards "
        "event:card quote:card button:regular signature:plain social:labels "
        "footer:centered",
        "header:stacked hero:minimal body text:lead list:boxed columns:rows offer:banner/tint products:rows stories:rows "
        "event:line quote:plain button:regular signature:line social:line footer:start",
        "header:centered/dark hero:centered/dark offer:coupon/tint body text:plain list:plain columns:icons products:feature "
        "stories:plain event:calendar quote:portrait button:wide signature:plain "
        "social:buttons footer:centered/tint" } },
    { "referral",
      { "header:centered hero:centered/tint! offer:coupon body text:plain steps:numbered list:plain columns:cards products:grid "
        "stories:cards event:card quote:card button:regular signature:plain "
        "social:labels footer:centered",
        "header:stacked hero:banner body text:lead steps:cards list:boxed columns:rows offer:banner/accent products:rows "
        "stories:rows event:line quote:plain button:wide signature:line social:line "
        "footer:start",
        "header:centered/accent hero:centered/accent! body text:plain steps:line/tint list:spaced columns:icons offer:plain "
        "products:feature stories:plain event:calendar quote:portrait "
        "button:regular signature:plain social:buttons footer:centered/tint" } },
    { "business",
      { "header:stacked hero:minimal body text:plain list:plain columns:rows steps:numbered stats:line table:lined quote:plain "
        "event:line offer:plain products:rows stories:rows button:regular "
        "signature:plain footer:start",
        "header:centered hero:centered/tint body text:plain list:boxed columns:cards steps:cards stats:cards table:striped "
        "quote:card event:card offer:coupon products:grid stories:cards "
        "button:regular signature:line footer:centered",
        "header:stacked/dark hero:banner body text:plain list:spaced columns:plain steps:line stats:plain table:lined "
        "quote:portrait/tint event:calendar offer:plain/tint products:feature "
        "stories:plain button:regular signature:plain footer:split" } },
    { "internal",
      { "header:stacked hero:minimal body text:plain list:plain columns:rows steps:numbered stats:line table:lined quote:plain "
        "event:calendar offer:plain products:rows stories:rows button:quiet "
        "signature:line footer:start",
        "header:centered hero:centered/tint body text:plain list:boxed columns:cards steps:cards stats:cards table:striped "
        "quote:card event:card offer:coupon products:grid stories:cards "
        "button:regular signature:plain footer:centered",
        "header:centered/accent hero:centered/accent body text:lead list:spaced columns:plain steps:line stats:plain table:lined "
        "quote:portrait event:card/tint offer:plain/tint products:feature "
        "stories:plain button:regular signature:plain footer:split" } },
    { "general",
      { "header:centered hero:centered/tint! body text:plain list:plain columns:cards steps:numbered stats:plain quote:card "
        "table:lined event:card offer:coupon products:grid stories:cards "
        "button:regular signature:plain social:labels footer:centered",
        "header:stacked hero:minimal body text:plain list:boxed columns:rows steps:cards stats:line quote:plain table:striped "
        "event:calendar offer:plain products:rows stories:rows button:regular "
        "signature:line social:line footer:start",
        "header:centered/accent hero:centered/accent! body text:lead list:spaced columns:plain steps:line stats:cards "
        "quote:portrait/tint table:lined event:card/tint offer:banner products:feature "
        "stories:plain button:wide signature:plain social:buttons footer:centered/tint" } },
};

const char *recipe_of(const char *category, size_t choice)
{
    size_t last = sizeof(all) / sizeof(all[0]) - 1;
    for (size_t i = 0; i < last; i++)
        if (text_equal(all[i].category, category))
            return all[i].lines[choice % RECIPES_PER_CATEGORY];
    return all[last].lines[choice % RECIPES_PER_CATEGORY];
}
