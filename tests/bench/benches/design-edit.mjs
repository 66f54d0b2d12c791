// An edit of one block beside an import of the same HTML, both as calls over MCP to one server, until the answer: `set` on a block of a
// document draws the document, hosts its pictures and saves a version; the import prepares the HTML and saves a design.

import { Installation } from '../../lib/installation.mjs';
import { McpHttpClient } from '../../lib/mcp_http_client.mjs';
import { ROUNDS, interleaved, sized } from '../programs.mjs';

const CALLS = sized(20, 2);
const BLOCKS = 12;
const AT_MOST = 1.2;

const text = (i) => ({ type: 'text', heading: `Story ${i + 1}`, body: 'The workshop is open again, the garden is ahead of schedule, and we have three stories for you.' });
const DOCUMENT = {
  title: 'News', subjectLine: 'News of May',
  blocks: [
    { type: 'hero', heading: 'News of May', text: 'What we learned in spring.', button: { label: 'Read on', href: 'https://example.com/may' } },
    ...Array.from({ length: BLOCKS - 2 }, (_, i) => text(i)),
    { type: 'footer', reason: 'You are our customer.', unsubscribe: 'Unsubscribe' },
  ],
};

async function caller(http) {
  const client = new McpHttpClient(http, {}, {});
  return async (name, args) => {
    const { result, error } = await client.request('tools/call', { name, arguments: args });
    if (error !== undefined || result.isError) throw new Error(`${name}: ${JSON.stringify(error ?? result.content)}`);
    return result.structuredContent;
  };
}

/** The milliseconds of a call, the mean of several, each with arguments of its own. */
async function timed(call, name, argsOf) {
  const from = performance.now();
  for (let i = 0; i < CALLS; i++) await call(name, argsOf());
  return { ms: (performance.now() - from) / CALLS };
}

export async function run(report) {
  const installation = new Installation();
  try {
    const server = await installation.serve();
    const http = server.client(await installation.key('--brand', await installation.brandId()));
    const call = await caller(http);
    const { emailId } = await call('create_email', { document: DOCUMENT });
    const { document, html } = await call('get_email', { emailId, include: ['document', 'html'], htmlChars: 200_000 });
    const { id } = document.blocks[1];
    let count = 0;
    const setting = () => ({ emailId, operations: [{ op: 'set', block: id, values: { heading: `Story ${++count}` } }] });
    const importing = () => ({ content: html, title: `Copy ${++count}` });
    for (const [name, argsOf] of [['edit_email', setting], ['import_email', importing]]) await timed(call, name, argsOf);
    const { ours, peer } = await interleaved(ROUNDS, { ours: () => timed(call, 'edit_email', setting), peer: () => timed(call, 'import_email', importing) });
    report.compare(`set on one of ${BLOCKS} blocks to ready, import of the same ${Math.round(html.length / 1000)} KB`, ours.ms, peer.ms, 'ms', { atMost: AT_MOST });
    http.close();
  } finally {
    await installation.dispose();
  }
}
