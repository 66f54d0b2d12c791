#include "mcp/batch.h"

struct mcp_batch {
    struct mcp_server *server;
    const struct mcp_batch_callbacks *callbacks;
    void *callback_data;
    pthread_mutex_t lock;
    struct buf out;
    unsigned pending; /* unanswered requests, plus one while mcp_batch_run runs */
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

static void batch_append_answer(struct mcp_batch *batch, const struct buf *message)
{
    if (message->size == 0)
        return;
    buf_add_char(&batch->out, batch->out.size == 0 ? '[' : ',');
    buf_add(&batch->out, message->data, message->size);
}

static void note_request_completed(struct mcp_batch *batch)
{
    pthread_mutex_lock(&batch->lock);
    bool last = --batch->pending == 0;
    pthread_mutex_unlock(&batch->lock);
    if (!last)
        return;
    if (batch->out.size > 0)
        buf_add_char(&batch->out, ']');
    batch->callbacks->on_completed(batch->callback_data, &batch->out);
}

static void send_before_answers(struct mcp_request *request, const char *message, size_t size)
{
    struct mcp_batch *batch = request->writer_data;
    batch->callbacks->send(batch->callback_data, message, size);
}

static void complete_batch_request(struct mcp_request *request)
{
    struct mcp_batch *batch = request->writer_data;
    pthread_mutex_lock(&batch->lock);
    if (!request->is_silenced)
        batch_append_answer(batch, &request->out);
    pthread_mutex_unlock(&batch->lock);
    buf_done(&request->out);
    arena_free(request->arena);
    note_request_completed(batch);
}

static const struct mcp_response_writer batch_writer = { .send = send_before_answers, .complete = complete_batch_request };

static void refuse_message(struct mcp_batch *batch, const json_t *id, const char *fault)
{
    BUF_SCOPE out;
    buf_init(&out, MCP_ANSWER_MAX_BYTES);
    rpc_error(&out, id, RPC_INVALID_REQUEST, fault, NULL);
    batch_append_answer(batch, &out);
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
    batch->callbacks->fill(batch->callback_data, request);
    request->writer = &batch_writer;
    request->writer_data = batch;
    mcp_prepare(request, NULL);
    batch->deferred |= request->deferred;
    batch->pending++;
    batch->requests[batch->count++] = request;
}

struct mcp_batch *mcp_batch_new(struct mcp_server *server, struct arena *arena, const json_t *messages,
                                const struct mcp_batch_callbacks *callbacks, void *callback_data)
{
    struct mcp_batch *batch = arena_alloc(arena, sizeof(*batch));
    *batch = (struct mcp_batch){ .server = server, .callbacks = callbacks, .callback_data = callback_data, .pending = 1 };
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
    note_request_completed(batch);
}
