/*
 * posthorn admin report-source: the connections at which mail providers report
 * deliveries over HTTP.
 */
#include "engine/operator/operator_report_sources.h"
#include "main/admin.h"

bool admin_report_source_add(struct admin *admin, struct error *err)
{
    struct report_connection connection = {
        .provider = admin->argument,
        .name = admin->options->name,
        .topic = admin->options->topic,
        .public_key = admin->options->public_key,
    };
    return need_argument(admin, "provider", err) && choose_organization(admin, err) &&
           operator_add_report_source(&admin->work, &connection, &admin->json, err);
}

bool admin_report_source_list(struct admin *admin, struct error *err)
{
    return choose_organization(admin, err) && report_connections_write(&admin->work, &admin->json, err);
}

bool admin_report_source_remove(struct admin *admin, struct error *err)
{
    return need_argument(admin, "connection", err) && choose_organization(admin, err) &&
           operator_remove_report_source(&admin->work, admin->argument, &admin->json, err);
}
