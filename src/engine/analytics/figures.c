#include "engine/analytics/figures.h"

/* ---- Counts ---- */

static struct opt_int tracked(const struct mail_figures *figures, int64_t count)
{
    return (struct opt_int){ .set = figures->is_tracked || count > 0, .value = count };
}

/* The contract wants a number for every count; an assistant is told what is not known. */
static void write_tracked(const struct work *work, const char *name, const struct mail_figures *figures, int64_t count,
                          struct json_writer *json)
{
    if (work_is_for_assistant(work))
        json_member_int_or_null(json, name, tracked(figures, count));
    else
        json_member_int(json, name, count);
}

void figures_write(const struct work *work, const struct mail_figures *figures, struct json_writer *json)
{
    json_member_int(json, "sent", figures->sent);
    json_member_int(json, "delivered", figures->delivered);
    write_tracked(work, "opened", figures, figures->opened, json);
    write_tracked(work, "clicked", figures, figures->clicked, json);
    json_member_int(json, "bounced", figures->bounced);
    json_member_int(json, "complained", figures->complained);
    json_member_int(json, "unsubscribed", figures->unsubscribed);
}

/* ---- Rates ---- */

/* Rounded to four digits after the point. */
static void write_rate(const char *name, struct opt_int count, int64_t of, struct json_writer *json)
{
    enum { RATE_UNIT = 10000 };
    json_key(json, name);
    if (!count.set || of <= 0) {
        json_null_value(json);
        return;
    }
    int64_t share = (count.value * RATE_UNIT + of / 2) / of;
    json_number(json, (double)(share < RATE_UNIT ? share : RATE_UNIT) / RATE_UNIT);
}

static struct opt_int known(int64_t count)
{
    return (struct opt_int){ .set = true, .value = count };
}

void figures_write_rates(const struct mail_figures *figures, struct json_writer *json)
{
    int64_t attempted = figures->sent + figures->bounced - figures->bounced_later;
    json_key(json, "rates");
    json_object_begin(json);
    write_rate("delivered", known(figures->delivered), attempted, json);
    write_rate("bounce", known(figures->bounced), attempted, json);
    write_rate("open", tracked(figures, figures->opened), figures->delivered, json);
    write_rate("click", tracked(figures, figures->clicked), figures->delivered, json);
    write_rate("complaint", known(figures->complained), figures->delivered, json);
    write_rate("unsubscribe", known(figures->unsubscribed), figures->delivered, json);
    json_object_end(json);
}

void figures_write_not_tracked(const struct mail_figures *figures, struct json_writer *json)
{
    bool knows_opened = tracked(figures, figures->opened).set;
    bool knows_clicked = tracked(figures, figures->clicked).set;
    if (knows_opened && knows_clicked)
        return;
    json_key(json, "notTracked");
    json_array_begin(json);
    if (!knows_opened)
        json_text(json, "opened");
    if (!knows_clicked)
        json_text(json, "clicked");
    json_array_end(json);
}
