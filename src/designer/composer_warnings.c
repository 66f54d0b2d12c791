/* Warnings of the composer: what readers would expect, and the brief does not have. */
#include "designer/composer_work.h"

#include "base/json_read.h"
#include "base/text.h"

void composer_warn(struct composer *composer, const char *warning)
{
    if (composer->warning_count < COMPOSER_WARNINGS_MAX)
        composer->warnings[composer->warning_count++] = warning;
}

static void warn_of_event(struct composer *composer)
{
    const json_t *event = composer->facts->event;
    if (event == NULL)
        composer_warn(composer, "The brief names no date.");
    if (json_get_text(event, "place") == NULL && json_get_text(event, "address") == NULL)
        composer_warn(composer, "The brief names no place. A line \"Place: …\" gives one.");
}

static bool has_products(const struct brief_facts *facts)
{
    bool has = facts->each != NULL || json_array_size(facts->products) > 0;
    for (size_t i = 0; i < json_array_size(facts->body) && !has; i++)
        has = text_equal(json_get_text(json_array_get(facts->body, i), "type"), "products");
    return has;
}

void composer_warn_of_missing(struct composer *composer)
{
    const struct brief_facts *facts = composer->facts;
    const struct brief_brand *brand = &composer->brief->brand;
    if (text_starts_with(facts->category, "event-") && !facts->is_verbatim)
        warn_of_event(composer);
    if (text_equal(facts->category, "promotional") && facts->offer == NULL && !has_products(facts) && !facts->is_verbatim)
        composer_warn(composer, "The brief names no offer: no discount, no code and no products.");
    if (text_equal(facts->category, "cart-abandonment") && !has_products(facts))
        composer_warn(
            composer,
            "The brief names no products. The path of an array of the payload, such as payload.items, shows those of a cart.");
    if (!composer->has_button && !facts->is_verbatim)
        composer_warn(composer, "The brief names no link. The email has no button.");
    else if (facts->action_href == NULL && !facts->is_verbatim && composer->has_button && brand->website != NULL)
        composer_warn(composer, "The brief names no link. The button leads to the website of the brand.");
    if (brand->address == NULL)
        composer_warn(composer, "The brand has no postal address. The footer shows none until it has one.");
}
