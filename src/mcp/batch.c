#include "mcp/batch.h"

struct mcp_batch {
    struct mcp_server *server;
    const struct mcp_batch_host *host;
    void *host_data;
    pthread_mutex_t lock;
    struct buf out;
    unsigned pending; /* requests without an answer, and one more while the batch is being run */
    bool deferred;
    struct mcp_request *requests[MCP_BATCH_MAX_MESSAGES];
    unsigned count;
};

static void batch_release(void *object)
{
    struct mcp_batch *batch = object;
    buf_done(&batch->out);
    pthread_mutex_destroy(&batch->lock);
}

static void append(struct mcp_batch *batch, const struct buf *message)
{
    if (message->size == 0)
        return;
    buf_add_char(&batch->out, batch->out.size == 0 ? '[' : ',');
    buf_add(&batch->out, message->data, message->size);
}

static void settle_one(struct mcp_batch *batch)
{
    pthread_mutex_lock(&batch->lock);
    bool last = --batch->pending == 0;
    pthread_mutex_unlock(&batch->lock);
    if (!last)
        return;
    if (batch->out.size > 0)
        buf_add_char(&batch->out, ']');
    batch->host->done(batch->host_data, &batch->out);
}

static void batch_send(struct mcp_request *request, const char *message, size_t size)
{
    struct mcp_batch *batch = request->writer_data;
    batch->host->send(batch->host_data, message, size);
}

static void batch_complete(struct mcp_request *request)
{
    struct mcp_batch *batch = request->writer_data;
    pthread_mutex_lock(&batch->lock);
    if (!request->mute)
        append(batch, &request->out);
    pthread_mutex_unlock(&batch->lock);
    buf_done(&request->out);
    arena_free(request->arena);
    settle_one(batch);
}

static const struct mcp_response_writer batch_writer = { .send = batch_send, .complete = batch_complete };

static void refuse_message(struct mcp_batch *batch, const json_t *id, const char *fault)
{
    BUF_SCOPE out;
    buf_init(&out, MCP_ANSWER_MAX_BYTES);
    rpc_error(&out, id, RPC_INVALID_REQUEST, fault, NULL);
    append(batch, &out);
}

static void add_message(struct mcp_batch *batch, const json_t *json)
{
    struct rpc_message message;
    const char *fault = NULL;
    if (!rpc_read(json, &message, &fault)) {
        refuse_message(batch, message.id, fault);
        return;
    }
    struct arena *arena = arena_new(0);
    struct mcp_request *request = mcp_request_new(batch->server, arena, &message, MCP_LEGACY);
    batch->host->fill(batch->host_data, request);
    request->writer = &batch_writer;
    request->writer_data = batch;
    mcp_prepare(request, NULL);
    batch->deferred |= request->deferred;
    batch->pending++;
    batch->requests[batch->count++] = request;
}

struct mcp_batch *mcp_batch_new(struct mcp_server *server, struct arena *arena, const json_t *messages,
                                const struct mcp_batch_host *host, void *host_data)
{
    struct mcp_batch *batch = arena_alloc(arena, sizeof(*batch));
    *batch = (struct mcp_batch){ .server = server, .host = host, .host_data = host_data, .pending = 1 };
    pthread_mutex_init(&batch->lock, NULL);
    buf_init(&batch->out, MCP_ANSWER_MAX_BYTES);
    arena_defer(arena, batch_release, batch);
    for (size_t i = 0; i < json_array_size(messages) && i < MCP_BATCH_MAX_MESSAGES; i++)
        add_message(batch, json_array_get(messages, i));
    return batch;
}

bool mcp_batch_is_deferred(const struct mcp_batch *batch)
{
    return batch->deferred;
}

void mcp_batch_run(struct mcp_batch *batch)
{
    for (unsigned i = 0; i < batch->count; i++)
        mcp_run(batch->requests[i]);
    settle_one(batch);
}
