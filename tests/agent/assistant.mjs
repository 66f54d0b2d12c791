// An assistant without a model: the calls of a scripted player, counted. It sees results through a lens, asks the user before it
// confirms anything, and fails at the first refusal that its script does not expect.

import { see } from './connections.mjs';
import { pause } from '../lib/processes.mjs';

const POLL_MS = 50;
const POLL_LIMIT_MS = 240_000;

export class Refused extends Error {
  constructor(tool, args, error) {
    super(`${tool} ${JSON.stringify(args).slice(0, 500)} was refused: ${JSON.stringify(error)}`);
    this.error = error;
  }
}

/** The user did not say yes. */
export class NotAgreed extends Error {}

/** The results of a call that the user declined. */
const isDeclined = ({ status }) => status === 'not_sent' || status === 'not_launched';

export class Assistant {
  /** What happened, in order: {tool, args, ok, value, bytes} of calls, {question, answer} of questions. */
  trace = [];

  /** `user(question)` answers 'yes', 'no' or nothing. */
  constructor(connection, lens, user) {
    Object.assign(this, { connection, lens, user });
  }

  /** One call: {ok, value, error}. */
  async attempt(tool, args = {}, params = {}) {
    const reply = see(await this.connection.request('tools/call', { name: tool, arguments: args, ...params }), this.lens);
    this.trace.push({ tool, args, ok: reply.ok, value: reply.value, error: reply.error, bytes: reply.bytes });
    return reply;
  }

  /** A call that must succeed: its value. */
  async call(tool, args = {}) {
    const { ok, value, error } = await this.attempt(tool, args);
    if (!ok) throw new Refused(tool, args, error);
    return value;
  }

  /** Repeats a call until `holds`; repetitions count as one call. */
  async poll(tool, args, holds) {
    const deadline = Date.now() + POLL_LIMIT_MS;
    for (;;) {
      const reply = await this.attempt(tool, args);
      if (reply.ok && holds(reply.value)) return reply.value;
      if (!reply.ok && reply.error.code !== 'AUDIENCE_BUILD_ACTIVE') throw new Refused(tool, args, reply.error);
      if (Date.now() > deadline) throw new Error(`${tool} never answered as the script waits for: ${JSON.stringify(reply.value)}`);
      this.trace.pop();
      await pause(POLL_MS);
    }
  }

  async ask(question) {
    const answer = await this.user(question);
    this.trace.push({ question, answer });
    return answer;
  }

  /** A call that the user must agree to where the server asks for it: by the host's form, or by the token of the preview. */
  async confirm(tool, args) {
    const first = await this.attempt(tool, args);
    if (!first.ok) throw new Refused(tool, args, first.error);
    if (first.asks) return this.#repeatWithForm(tool, args, first.asks);
    if (isDeclined(first.value)) throw new NotAgreed();
    if (first.value.status !== 'confirmation_required') return first.value;
    if ((await this.ask(first.value.preview)) !== 'yes') throw new NotAgreed();
    return this.call(tool, { ...args, confirmationToken: first.value.confirmationToken });
  }

  /** The answer to a question that the server asks by a form. */
  async answerForm({ message }) {
    return (await this.ask(message)) === 'yes' ? { action: 'accept', content: { send: true } } : { action: 'decline' };
  }

  async #repeatWithForm(tool, args, { requestState, inputRequests }) {
    const [[name, { params }]] = Object.entries(inputRequests);
    const answer = await this.answerForm(params);
    const { ok, value, error } = await this.attempt(tool, args, { requestState, inputResponses: { [name]: answer } });
    if (!ok) throw new Refused(tool, args, error);
    if (isDeclined(value)) throw new NotAgreed();
    return value;
  }

  // ---- Figures ----

  get calls() {
    return this.trace.filter(({ tool }) => tool !== undefined);
  }

  get figures() {
    const { calls } = this;
    return { calls: calls.length, errors: calls.filter(({ ok }) => !ok).length, bytes: calls.reduce((sum, { bytes }) => sum + bytes, 0) };
  }

  get agreements() {
    return this.trace.filter(({ answer }) => answer === 'yes').length;
  }
}
