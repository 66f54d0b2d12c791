#include "net/dns.h"

#include "base/clock.h"
#include "base/panic.h"
#include "net/dns_channel.h"
#include "net/dns_message.h"

#include <arpa/nameser.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    CACHE_SLOTS = 8192,
};

struct cache_slot {
    char *domain; /* NULL: empty */
    enum dns_mail answer;
    int64_t until_us; /* monotonic */
};

struct dns {
    char *servers;        /* NULL: those of the system */
    pthread_mutex_t lock; /* guards the cache */
    struct cache_slot cache[CACHE_SLOTS];
};

/* ---- The cache: direct-mapped, a new domain replaces the one in its slot ---- */

static struct cache_slot *cache_slot_of(struct dns *dns, const char *domain)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    for (const char *at = domain; *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * UINT64_C(1099511628211);
    return &dns->cache[hash % CACHE_SLOTS];
}

static bool cache_find(struct dns *dns, const char *domain, enum dns_mail *ret_answer)
{
    pthread_mutex_lock(&dns->lock);
    const struct cache_slot *slot = cache_slot_of(dns, domain);
    bool found = slot->domain != NULL && strcmp(slot->domain, domain) == 0 && clock_monotonic_us() < slot->until_us;
    if (found)
        *ret_answer = slot->answer;
    pthread_mutex_unlock(&dns->lock);
    return found;
}

/* Does not store a TTL of 0, which an unknown answer has. */
static void cache_keep(struct dns *dns, const char *domain, enum dns_mail answer, int64_t ttl_s)
{
    if (ttl_s <= 0)
        return;
    pthread_mutex_lock(&dns->lock);
    struct cache_slot *slot = cache_slot_of(dns, domain);
    free(slot->domain);
    slot->domain = strdup(domain);
    slot->answer = answer;
    slot->until_us = clock_monotonic_us() + (ttl_s < DNS_CACHE_MAX_S ? ttl_s : DNS_CACHE_MAX_S) * US_PER_S;
    pthread_mutex_unlock(&dns->lock);
}

/* ---- Reading answers ---- */

/* The shortest TTL of the records of a valid answer, in seconds. */
static int64_t shortest_ttl_s(struct dns_message message)
{
    int64_t shortest = DNS_CACHE_MAX_S;
    struct dns_record record;
    while (dns_message_next(&message, &record))
        shortest = record.ttl_s < shortest ? record.ttl_s : shortest;
    return shortest;
}

enum mx_kind { MX_NONE, MX_REFUSING, MX_USABLE, MX_MALFORMED };

static enum mx_kind classify_mx(const unsigned char *answer, int size)
{
    struct ares_mx_reply *records = NULL;
    int status = ares_parse_mx_reply(answer, size, &records);
    enum mx_kind kind = status == ARES_SUCCESS || status == ARES_ENODATA ? MX_NONE : MX_MALFORMED;
    for (const struct ares_mx_reply *record = records; record != NULL; record = record->next) {
        /* The root is a null MX (RFC 7505); localhost is an older form of it. */
        bool is_usable = record->host[0] != '\0' && strcmp(record->host, ".") != 0 && strcasecmp(record->host, "localhost") != 0;
        if (is_usable)
            kind = MX_USABLE;
        else if (kind == MX_NONE)
            kind = MX_REFUSING;
    }
    ares_free_data(records);
    return kind;
}

/* Whether an address can be a remote mail server: neither loopback nor unspecified. */
static bool has_usable_address(const unsigned char *answer, int size, bool is_v6)
{
    enum { MAX_ADDRESSES = 32 };
    int count = MAX_ADDRESSES;
    bool usable = false;
    if (is_v6) {
        struct ares_addr6ttl found[MAX_ADDRESSES];
        if (ares_parse_aaaa_reply(answer, size, NULL, found, &count) != ARES_SUCCESS)
            return false;
        for (int i = 0; i < count; i++) {
            struct in6_addr address;
            memcpy(&address, &found[i].ip6addr, sizeof(address));
            usable = usable || !(IN6_IS_ADDR_UNSPECIFIED(&address) || IN6_IS_ADDR_LOOPBACK(&address));
        }
        return usable;
    }
    struct ares_addrttl found[MAX_ADDRESSES];
    if (ares_parse_a_reply(answer, size, NULL, found, &count) != ARES_SUCCESS)
        return false;
    for (int i = 0; i < count; i++) {
        uint32_t first_byte = ntohl(found[i].ipaddr.s_addr) >> 24;
        usable = usable || (first_byte != 0 && first_byte != 127);
    }
    return usable;
}

/* ---- Lookups ---- */

enum question { ASK_MX, ASK_A, ASK_AAAA };

struct lookup {
    struct dns_batch *dns_batch;
    const char *domain;
    enum question question;
    enum dns_mail *answer;
    int64_t deadline_us; /* monotonic */
    bool is_open;
};

/* The lookups of one call. */
struct dns_batch {
    struct dns *dns;
    ares_channel channel;
    struct lookup *lookups;
    size_t count;
    size_t started;
    size_t open;
};

static void end_lookup(struct lookup *lookup, enum dns_mail answer, int64_t ttl_s)
{
    lookup->is_open = false;
    lookup->dns_batch->open--;
    *lookup->answer = answer;
    cache_keep(lookup->dns_batch->dns, lookup->domain, answer, ttl_s);
}

static void on_lookup_answer(void *argument, int status, int timeouts, unsigned char *answer, int size);

static void send_query(struct lookup *lookup, enum question question)
{
    static const int types[] = { [ASK_MX] = ns_t_mx, [ASK_A] = ns_t_a, [ASK_AAAA] = ns_t_aaaa };
    lookup->question = question;
    ares_query(lookup->dns_batch->channel, lookup->domain, ns_c_in, types[question], on_lookup_answer, lookup);
}

/* The name exists without records of this type. Without an MX an address is an implicit MX (RFC 5321 §5.1). */
static void query_next_type(struct lookup *lookup)
{
    if (lookup->question == ASK_MX)
        send_query(lookup, ASK_A);
    else if (lookup->question == ASK_A)
        send_query(lookup, ASK_AAAA);
    else
        end_lookup(lookup, DNS_MAIL_REFUSED, DNS_CACHE_NEGATIVE_S);
}

static void read_answer(struct lookup *lookup, const unsigned char *answer, int size)
{
    struct dns_message message;
    if (!dns_message_begin(answer, size, &message)) {
        end_lookup(lookup, DNS_MAIL_UNKNOWN, 0);
        return;
    }
    int64_t ttl_s = shortest_ttl_s(message);
    if (lookup->question != ASK_MX) {
        if (has_usable_address(answer, size, lookup->question == ASK_AAAA))
            end_lookup(lookup, DNS_MAIL_ACCEPTED, ttl_s);
        else
            query_next_type(lookup);
        return;
    }
    switch (classify_mx(answer, size)) {
    case MX_USABLE:
        end_lookup(lookup, DNS_MAIL_ACCEPTED, ttl_s);
        return;
    case MX_REFUSING:
        end_lookup(lookup, DNS_MAIL_REFUSED, ttl_s);
        return;
    case MX_NONE:
        query_next_type(lookup);
        return;
    case MX_MALFORMED:
        end_lookup(lookup, DNS_MAIL_UNKNOWN, 0);
        return;
    }
}

static void on_lookup_answer(void *argument, int status, int timeouts, unsigned char *answer, int size)
{
    (void)timeouts;
    struct lookup *lookup = argument;
    if (!lookup->is_open) /* its deadline had passed */
        return;
    if (status == ARES_SUCCESS)
        read_answer(lookup, answer, size);
    else if (status == ARES_ENODATA && dns_denies(answer, size))
        query_next_type(lookup);
    else if (status == ARES_ENOTFOUND && dns_denies(answer, size))
        end_lookup(lookup, DNS_MAIL_NO_DOMAIN, DNS_CACHE_NEGATIVE_S);
    else
        end_lookup(lookup, DNS_MAIL_UNKNOWN, 0);
}

static void start_lookups(struct dns_batch *dns_batch, int64_t now_us)
{
    while (dns_batch->open < DNS_PARALLEL && dns_batch->started < dns_batch->count) {
        struct lookup *lookup = &dns_batch->lookups[dns_batch->started++];
        lookup->is_open = true;
        lookup->deadline_us = now_us + DNS_LOOKUP_MS * US_PER_MS;
        dns_batch->open++;
        send_query(lookup, ASK_MX);
    }
}

static void end_overdue_lookups(struct dns_batch *dns_batch, int64_t now_us)
{
    for (size_t i = 0; i < dns_batch->started; i++)
        if (dns_batch->lookups[i].is_open && now_us >= dns_batch->lookups[i].deadline_us)
            end_lookup(&dns_batch->lookups[i], DNS_MAIL_UNKNOWN, 0);
}

static void run_lookups(struct dns_batch *dns_batch, int total_ms)
{
    int64_t end_us = clock_monotonic_us() + total_ms * US_PER_MS;
    for (int64_t now_us = clock_monotonic_us(); now_us < end_us; now_us = clock_monotonic_us()) {
        end_overdue_lookups(dns_batch, now_us);
        start_lookups(dns_batch, now_us);
        if (dns_batch->open > 0)
            dns_channel_wait(dns_batch->channel);
        else if (dns_batch->started == dns_batch->count)
            break;
    }
    end_overdue_lookups(dns_batch, INT64_MAX);
}

void dns_find_mail(struct dns *dns, const char *const *domains, size_t count, int total_ms, enum dns_mail *ret_answers)
{
    struct dns_batch dns_batch = { .dns = dns, .lookups = calloc(count + 1, sizeof(struct lookup)) };
    if (dns_batch.lookups == NULL)
        panic(PANIC_NO_MEMORY);
    for (size_t i = 0; i < count; i++) {
        ret_answers[i] = DNS_MAIL_UNKNOWN;
        if (!cache_find(dns, domains[i], &ret_answers[i]))
            dns_batch.lookups[dns_batch.count++] =
                (struct lookup){ .dns_batch = &dns_batch, .domain = domains[i], .answer = &ret_answers[i] };
    }
    if (dns_batch.count > 0 && dns_channel_open(dns->servers, &dns_batch.channel)) {
        run_lookups(&dns_batch, total_ms);
        ares_destroy(dns_batch.channel);
    }
    free(dns_batch.lookups);
}

/* ---- Creation ---- */

static void init_ares(void)
{
    if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS)
        panic(PANIC_NO_MEMORY);
}

/* Each server needs a UDP and a TCP socket, and c-ares reports 16 sockets at most. */
static bool has_few_servers(const char *servers)
{
    int count = 1;
    for (const char *at = servers; *at != '\0'; at++)
        count += *at == ',';
    return count <= DNS_MAX_SERVERS;
}

bool dns_new(const char *servers, struct dns **ret_dns, struct error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_ares);
    ares_channel channel;
    if (servers != NULL && !(has_few_servers(servers) && dns_channel_open(servers, &channel)))
        return fail(err, ERR_INVALID_REQUEST, "--dns-servers",
                    "--dns-servers must be a list of at most %d addresses, each with an optional port.", DNS_MAX_SERVERS);
    if (servers != NULL)
        ares_destroy(channel);

    struct dns *dns = calloc(1, sizeof(*dns));
    if (dns == NULL)
        panic(PANIC_NO_MEMORY);
    dns->servers = servers != NULL ? strdup(servers) : NULL;
    pthread_mutex_init(&dns->lock, NULL);
    *ret_dns = dns;
    return true;
}

const char *dns_servers(const struct dns *dns)
{
    return dns->servers;
}

void dns_free(struct dns *dns)
{
    if (dns == NULL)
        return;
    for (size_t i = 0; i < CACHE_SLOTS; i++)
        free(dns->cache[i].domain);
    free(dns->servers);
    pthread_mutex_destroy(&dns->lock);
    free(dns);
}
