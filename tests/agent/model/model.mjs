// The model under test, as the environment names it:
//
//   AGENT_URL     address of the API, to which /chat/completions or /messages is added, such as http://127.0.0.1:11434/v1
//   AGENT_MODEL   name of the model
//   AGENT_KEY     key, where the API wants one
//   AGENT_API     chat (the default) or messages

import * as chat from './chat_completions.mjs';
import * as messages from './messages.mjs';

const APIS = { chat, messages };
const TRIES = 4;
const WAIT_MS = 5_000;

/** The model that the environment names: ask(instructions, turns, tools) → its turn. Null when it names none. */
export function modelFrom({ AGENT_URL, AGENT_MODEL, AGENT_KEY, AGENT_API = 'chat' }) {
  if (!AGENT_URL || !AGENT_MODEL) return null;
  const api = APIS[AGENT_API];
  if (api === undefined) throw new Error(`AGENT_API must be one of: ${Object.keys(APIS).join(', ')}`);
  const url = AGENT_URL.replace(/\/$/, '') + api.PATH;
  const headers = { 'content-type': 'application/json', ...api.headersOf(AGENT_KEY) };
  const ask = async (instructions, turns, tools) => {
    const body = JSON.stringify(api.requestOf(AGENT_MODEL, instructions, turns, tools));
    return api.turnOf(await post(url, headers, body));
  };
  return { name: AGENT_MODEL, ask };
}

/** Posts until it is answered; a busy server is asked again. */
async function post(url, headers, body) {
  for (let left = TRIES - 1; ; left--) {
    const answer = await fetch(url, { method: 'POST', headers, body });
    if (answer.ok) return answer.json();
    const text = await answer.text();
    const isBusy = answer.status === 429 || answer.status >= 500;
    if (!isBusy || left === 0) throw new Error(`${url} answered ${answer.status}: ${text.slice(0, 300)}`);
    await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
  }
}
