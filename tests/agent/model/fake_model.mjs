// A model on loopback for testing the loop: an HTTP server that speaks both APIs and plays the script of a job. A call of the script
// becomes a call in its answer, and the next request brings the result.

import http from 'node:http';

const WRITERS = { '/v1/chat/completions': writeChat, '/v1/messages': writeMessages };

export class FakeModel {
  #server;
  #script;
  #said;
  #next;

  /** `job` is played with the values `given` of its brief. */
  static async start(job, given) {
    const fake = new FakeModel();
    fake.#script = () => job.golden(fake.#player(), given);
    fake.#server = http.createServer((request, response) => fake.#answer(request, response));
    await new Promise((resolve) => fake.#server.listen(0, '127.0.0.1', resolve));
    fake.url = `http://127.0.0.1:${fake.#server.address().port}/v1`;
    return fake;
  }

  stop() {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(resolve));
  }

  /** What the script uses of an assistant: each call is said, and waits for what the next request brings. */
  #player() {
    const call = async (tool, args = {}) => {
      const reply = JSON.parse(await this.#say({ call: { tool, args } }));
      if (reply.error) throw new Error(`${tool}: ${JSON.stringify(reply.error)}`);
      return reply;
    };
    const confirm = async (tool, args) => {
      const first = await call(tool, args);
      if (first.status !== 'confirmation_required') return first;
      const answer = await this.#say({ text: `This goes to ${first.preview.recipientCount}. Shall I?` });
      if (!answer.startsWith('Yes')) throw new Error('The user did not agree.');
      return call(tool, { ...args, confirmationToken: first.confirmationToken });
    };
    return { call, confirm };
  }

  /** Ends the answer to this request; settles with the last message of the next one. */
  #say(turn) {
    this.#said(turn);
    return new Promise((resolve) => (this.#next = resolve));
  }

  async #answer(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const { messages } = JSON.parse(Buffer.concat(chunks).toString());
    const turn = await new Promise((resolve) => {
      this.#said = resolve;
      if (this.#next === undefined) this.#script().then((text) => this.#said({ text }), (error) => this.#said({ text: `I stopped. ${error.message}` }));
      else this.#next(lastText(messages.at(-1)));
    });
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(WRITERS[request.url](turn)));
  }
}

const lastText = ({ content }) => (typeof content === 'string' ? content : (content[0].text ?? content[0].content));

function writeChat({ call, text = null }) {
  const calls = call && [{ id: 'call_1', type: 'function', function: { name: call.tool, arguments: JSON.stringify(call.args) } }];
  return { choices: [{ message: { role: 'assistant', content: text, tool_calls: calls } }], usage: { prompt_tokens: 100, completion_tokens: 10 } };
}

function writeMessages({ call, text }) {
  const content = call ? [{ type: 'tool_use', id: 'call_1', name: call.tool, input: call.args }] : [{ type: 'text', text }];
  return { content, usage: { input_tokens: 100, output_tokens: 10 } };
}
