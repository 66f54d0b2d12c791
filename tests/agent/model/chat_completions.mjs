// A conversation as the chat completions API has it, which many servers of models speak. The turns of a conversation are
// {role: 'user', text}, {role: 'assistant', text, calls: [{id, name, args}]} and {role: 'results', results: [{id, text}]}.

export const PATH = '/chat/completions';

export const headersOf = (key) => (key ? { authorization: `Bearer ${key}` } : {});

export function requestOf(model, instructions, turns, tools) {
  return {
    model,
    messages: [{ role: 'system', content: instructions }, ...turns.flatMap(messagesOf)],
    tools: tools.map(({ name, description, inputSchema }) => ({ type: 'function', function: { name, description, parameters: inputSchema } })),
  };
}

function messagesOf({ role, text, calls = [], results }) {
  if (role === 'results') return results.map(({ id, text: content }) => ({ role: 'tool', tool_call_id: id, content }));
  if (role === 'user') return [{ role, content: text }];
  const toolCalls = calls.map(({ id, name, args }) => ({ id, type: 'function', function: { name, arguments: JSON.stringify(args) } }));
  return [{ role, content: text, ...(toolCalls.length > 0 && { tool_calls: toolCalls }) }];
}

/** The turn of the model, with `tokens`. Arguments that are no JSON become the member `unreadable`, which no tool accepts. */
export function turnOf({ choices, usage = {} }) {
  const { content, tool_calls: calls = [] } = choices[0].message;
  return {
    role: 'assistant', text: content ?? '', tokens: (usage.prompt_tokens ?? 0) + (usage.completion_tokens ?? 0),
    calls: (calls ?? []).map(({ id, function: { name, arguments: text } }) => ({ id, name, args: argumentsIn(text) })),
  };
}

function argumentsIn(text) {
  try {
    return JSON.parse(text || '{}');
  } catch {
    return { unreadable: text };
  }
}
