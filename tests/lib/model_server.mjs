// A scripted server of a model on loopback. It answers in the recorded forms of three APIs: Anthropic Messages, OpenAI Responses and
// chat completions. A test gives a list of steps; each request takes the next one.

import http from 'node:http';

const TOKENS = { in: 100, out: 20 };

/** The forms of the answers by provider: a text, a refusal, an answer that is cut at the limit of tokens, one without a text, an error. */
export const FORMS = {
  anthropic: {
    path: '/v1/messages',
    text: (text) => ({
      id: 'msg_01', type: 'message', role: 'assistant', model: 'claude-test',
      content: [{ type: 'thinking', thinking: 'Two blocks.', signature: 'x' }, { type: 'text', text }],
      stop_reason: 'end_turn', stop_sequence: null, stop_details: null, usage: { input_tokens: TOKENS.in, output_tokens: TOKENS.out },
    }),
    refusal: () => ({ ...FORMS.anthropic.text('I cannot help with that.'), stop_reason: 'refusal' }),
    cut: (text) => ({ ...FORMS.anthropic.text(text), stop_reason: 'max_tokens' }),
    empty: () => ({ ...FORMS.anthropic.text(''), content: [] }),
    error: (type, message) => ({ type: 'error', error: { type, message }, request_id: 'req_01' }),
    mode: (body) => body.output_config?.format?.type ?? 'plain',
    schema: (body) => body.output_config?.format?.schema,
    system: (body) => body.system,
    turns: (body) => body.messages,
    key: (headers) => headers['x-api-key'],
  },
  openai: {
    path: '/responses',
    text: (text) => ({
      id: 'resp_01', object: 'response', status: 'completed', error: null, incomplete_details: null, model: 'gpt-test',
      output: [
        { type: 'reasoning', id: 'rs_01', summary: [] },
        { type: 'message', id: 'msg_01', status: 'completed', role: 'assistant', content: [{ type: 'output_text', annotations: [], text }] },
      ],
      usage: { input_tokens: TOKENS.in, output_tokens: TOKENS.out, output_tokens_details: { reasoning_tokens: 4 }, total_tokens: TOKENS.in + TOKENS.out },
    }),
    refusal: () => ({
      ...FORMS.openai.text(''),
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'I cannot help with that.' }] }],
    }),
    cut: (text) => ({ ...FORMS.openai.text(text), status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }),
    empty: () => ({ ...FORMS.openai.text(''), output: [] }),
    error: (type, message) => ({ error: { message, type, param: null, code: null } }),
    mode: (body) => body.text?.format?.type ?? 'plain',
    schema: (body) => body.text?.format?.schema,
    system: (body) => body.instructions,
    turns: (body) => body.input,
    key: (headers) => headers.authorization?.replace('Bearer ', ''),
  },
  compatible: {
    path: '/chat/completions',
    text: (text) => ({
      id: 'chatcmpl-01', object: 'chat.completion', model: 'local-test',
      choices: [{ index: 0, message: { role: 'assistant', content: text, refusal: null }, finish_reason: 'stop' }],
      usage: { prompt_tokens: TOKENS.in, completion_tokens: TOKENS.out, total_tokens: TOKENS.in + TOKENS.out },
    }),
    refusal: () => ({
      ...FORMS.compatible.text(''),
      choices: [{ index: 0, message: { role: 'assistant', content: null, refusal: 'I cannot help with that.' }, finish_reason: 'stop' }],
    }),
    cut: (text) => ({ ...FORMS.compatible.text(''), choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'length' }] }),
    empty: () => ({ ...FORMS.compatible.text(''), choices: [] }),
    error: (type, message) => ({ error: { message, type, code: 400 } }),
    mode: (body) => body.response_format?.type ?? 'plain',
    schema: (body) => body.response_format?.json_schema?.schema,
    system: (body) => body.messages[0].content,
    turns: (body) => body.messages.slice(1),
    key: (headers) => headers.authorization?.replace('Bearer ', ''),
  },
};

export const PROVIDERS = Object.keys(FORMS);

const asText = (value) => (typeof value === 'string' ? value : JSON.stringify(value));

/**
 * What a step may be, besides a function of the request that returns one:
 *   {text}, {cut}, {refusal: true}, {empty: true}   answers with 200; a text that is an object is sent as JSON
 *   {status, type?, message?, retryAfter?}          an error
 *   {raw, contentType?}                             another body with 200
 *   {break: 'before' | 'half' | 'drip' | 'flood'}   no answer, half of one, one that never ends slowly, one that never ends fast
 *   {redirect: address}
 */
export class ModelServer {
  #server;
  #steps = [];
  /** The requests so far: {provider, path, headers, body}. */
  requests = [];

  async start() {
    this.#server = http.createServer((request, response) => this.#collect(request, response));
    await new Promise((resolve) => { this.#server.listen(0, '127.0.0.1', resolve); });
    this.url = `http://127.0.0.1:${this.#server.address().port}`;
    return this;
  }

  /** The steps of the next requests; the last one is repeated. */
  script(...steps) {
    this.#steps = steps;
    this.requests = [];
  }

  stop() {
    this.#server.closeAllConnections();
    return new Promise((resolve) => { this.#server.close(resolve); });
  }

  async #collect(request, response) {
    const parts = [];
    response.on('error', () => {});
    for await (const part of request) parts.push(part);
    const provider = PROVIDERS.find((name) => request.url.endsWith(FORMS[name].path));
    const body = JSON.parse(Buffer.concat(parts).toString());
    this.requests.push({ provider, path: request.url, headers: request.headers, body });
    const step = this.#steps.length > 1 ? this.#steps.shift() : this.#steps[0];
    this.#answer(FORMS[provider], typeof step === 'function' ? step(body) : step, response);
  }

  #answer(form, step, response) {
    if (step.break !== undefined) return this.#break(form, step.break, response);
    if (step.redirect !== undefined) return response.writeHead(307, { location: step.redirect }).end();
    if (step.raw !== undefined) return response.writeHead(200, { 'content-type': step.contentType ?? 'application/json' }).end(step.raw);
    if (step.status !== undefined) {
      const headers = { 'content-type': 'application/json', ...(step.retryAfter === undefined ? {} : { 'retry-after': String(step.retryAfter) }) };
      return response.writeHead(step.status, headers).end(JSON.stringify(form.error(step.type ?? 'api_error', step.message ?? 'No.')));
    }
    const answer = step.refusal ? form.refusal() : step.empty ? form.empty() : step.cut !== undefined ? form.cut(asText(step.cut)) : form.text(asText(step.text));
    return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  }

  #break(form, kind, response) {
    if (kind === 'before') return response.destroy();
    response.writeHead(200, { 'content-type': 'application/json', ...(kind === 'half' ? { 'content-length': '5000' } : {}) });
    response.write('{"id":');
    if (kind === 'half') return response.socket.destroySoon();
    if (kind === 'drip') return response.write(' ');
    const block = Buffer.alloc(64 * 1024, 0x20);
    const pour = () => { while (!response.destroyed && response.write(block)); };
    response.on('drain', pour);
    return pour();
  }
}
