/* Help of operations, generated from the catalogue. */
#pragma once

#include "cli/command_line.h"

void print_domain_help(const char *domain) NONNULL(1);
void print_operation_help(struct arena *arena, const struct operation *op) NONNULL(1, 2);
