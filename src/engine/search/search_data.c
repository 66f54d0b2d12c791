#include "engine/search/search_data.h"

#include "engine/search/search_tables.h"
