// A conversation as the messages API has it; the turns are those of chat_completions.mjs.

export const PATH = '/messages';
const VERSION = '2023-06-01';
const MAX_TOKENS = 4096;

export const headersOf = (key) => ({ 'anthropic-version': VERSION, ...(key && { 'x-api-key': key }) });

export function requestOf(model, instructions, turns, tools) {
  return {
    model, max_tokens: MAX_TOKENS, system: instructions, messages: turns.map(messageOf),
    tools: tools.map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema })),
  };
}

function messageOf({ role, text, calls = [], results }) {
  if (role === 'results') return { role: 'user', content: results.map(({ id, text: content }) => ({ type: 'tool_result', tool_use_id: id, content })) };
  if (role === 'user') return { role, content: [{ type: 'text', text }] };
  const uses = calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args }));
  return { role, content: [...(text ? [{ type: 'text', text }] : []), ...uses] };
}

export function turnOf({ content, usage = {} }) {
  return {
    role: 'assistant', tokens: (usage.input_tokens ?? 0) + (usage.output_tokens ?? 0),
    text: content.filter(({ type }) => type === 'text').map(({ text }) => text).join('\n'),
    calls: content.filter(({ type }) => type === 'tool_use').map(({ id, name, input }) => ({ id, name, args: input })),
  };
}
