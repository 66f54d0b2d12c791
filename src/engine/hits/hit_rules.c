#include "engine/hits/hit_rules.h"

#include <string.h>
#include <strings.h>

enum { AGENT_MAX_BYTES = 1024, ADDRESS_BYTES = HIT_ADDRESS_BYTES };

struct agent_word {
    const char *word;
    size_t class_index;
    bool is_whole; /* the agent is exactly the word */
};

struct network_range {
    unsigned char prefix[ADDRESS_BYTES];
    unsigned bits;
    size_t class_index;
};

#include "engine/hits/hit_rules_data.h"

const struct hit_rules hit_rules_built_in = {
    .version = HIT_RULES_VERSION,
    .hold_s = HIT_HOLD_S,
    .burst_s = HIT_BURST_S,
    .sweep_links = HIT_SWEEP_LINKS,
    .sweep_s = HIT_SWEEP_S,
    .fast_s = HIT_FAST_S,
    .agents = agent_classes,
    .agent_count = ARRAY_COUNT(agent_classes),
    .networks = network_classes,
    .network_count = ARRAY_COUNT(network_classes),
};

static bool contains(const char *text, size_t size, const char *word)
{
    size_t word_size = strlen(word);
    for (size_t at = 0; at + word_size <= size; at++)
        if (strncasecmp(text + at, word, word_size) == 0)
            return true;
    return false;
}

const char *hit_agent_class(const char *agent)
{
    size_t size = strnlen(agent, AGENT_MAX_BYTES);
    for (size_t i = 0; i < ARRAY_COUNT(agent_words); i++) {
        const struct agent_word *known = &agent_words[i];
        if (known->is_whole ? strcmp(agent, known->word) == 0 : contains(agent, size, known->word))
            return agent_classes[known->class_index].name;
    }
    return agent_classes[ARRAY_COUNT(agent_classes) - 1].name;
}

static bool is_in_range(const unsigned char *address, const struct network_range *range)
{
    unsigned whole = range->bits / 8;
    unsigned rest = range->bits % 8;
    unsigned char mask = (unsigned char)(0xff00u >> rest);
    return memcmp(address, range->prefix, whole) == 0 && (rest == 0 || (address[whole] & mask) == (range->prefix[whole] & mask));
}

const char *hit_network_class(const char *address)
{
    unsigned char bytes[ADDRESS_BYTES];
    if (address != NULL && hit_address_read(address, bytes))
        for (size_t i = 0; i < ARRAY_COUNT(network_ranges); i++)
            if (is_in_range(bytes, &network_ranges[i]))
                return network_classes[network_ranges[i].class_index].name;
    return network_classes[ARRAY_COUNT(network_classes) - 1].name;
}
