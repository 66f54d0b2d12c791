// An official client checks a design, reads its findings in pages, mends them, checks again, and gets a picture that it can show
//

import assert from 'node:assert/strict';
import test from 'node:test';
import { BINARY, installationFor } from '../../lib/installation.mjs';
import { packagesOf } from '../../lib/packages.mjs';
import { until } from '../../lib/processes.mjs';

const load = packagesOf('clients');
const { Client, StdioClientTransport } = { ...load('@modelcontextprotocol/client'), ...load('@modelcontextprotocol/client/stdio') };

/** More faults than a page of findings has. */
const FAULTY = `<html><head><title>Tea</title></head><body>
  ${Array.from({ length: 14 }, (_, i) => `<p><img src="https://tea.example/${i}.png" width="20" height="20"></p>`).join('\n')}
  <p>Fresh leaves have arrived in our shop in Spring Street, and we keep ten boxes for you until Friday.</p>
  <p style="color:#cccccc;font-size:9px">Terms apply</p><p><a href="https://tea.example/shop">click here</a></p></body></html>`;

async function connect(t, installation) {
  const transport = new StdioClientTransport({ command: BINARY, args: ['mcp'], env: installation.environment, stderr: 'ignore' });
  const client = new Client({ name: 'posthorn-tests', version: '1.0.0' });
  await client.connect(transport);
  t.after(() => client.close());
  const call = async (name, args) => {
    const result = await client.callTool({ name, arguments: args });
    assert.ok(!result.isError, `${name} ${JSON.stringify(args)}: ${result.content?.[0]?.text}`);
    return result;
  };
  return { client, call, tool: async (name, args) => (await call(name, args)).structuredContent };
}

test('an official client checks a design, mends it and looks at it', { timeout: 600_000 }, async (t) => {
  const installation = installationFor(t);
  const { client, call, tool } = await connect(t, installation);
  const { emailId } = await tool('import_email', { content: FAULTY, title: 'Tea', subjectLine: 'Tea' });
  let first;

  await t.test('it reads two pages of findings', async () => {
    first = await tool('audit_email', { emailId });
    assert.equal(first.completion.status, 'complete');
    const page = await tool('get_email_audit', { auditId: first.auditId });
    assert.equal(page.findings.length, 10);
    const rest = await tool('get_email_audit', { auditId: first.auditId, cursor: page.pagination.cursor });
    const ids = [...page.findings, ...rest.findings].map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
    assert.ok(ids.length > 10);
  });

  await t.test('it mends the design and sees what is left', async () => {
    await tool('edit_email', { emailId, replacements: [{ find: 'click here', with: 'Visit our tea shop' }] });
    const second = await tool('audit_email', { emailId });
    assert.ok(second.diff.fixedFindings.some(({ ruleId }) => ruleId === 'linkNameVague'), JSON.stringify(second.diff));
    assert.ok(second.completion.score >= first.completion.score);
    assert.ok(!second.findings.some(({ message }) => message.includes('click here')));
  });

  await t.test('it gets one picture', async () => {
    const started = await tool('test_email_rendering', { emailId, clients: ['applemail16'] });
    let shown;
    await until('the picture exists', async () => {
      shown = await call('get_email_rendering', { previewId: started.previewId, client: 'applemail16' });
      return shown.structuredContent.previews[0].status === 'completed';
    }, 60_000);
    const picture = shown.content.find(({ type }) => type === 'image');
    assert.equal(picture.mimeType, 'image/webp');
    assert.equal(Buffer.from(picture.data, 'base64').toString('latin1', 8, 12), 'WEBP');
    const link = shown.content.find(({ type }) => type === 'resource_link');
    const { contents: [resource] } = await client.readResource({ uri: link.uri });
    assert.equal(Buffer.from(resource.blob, 'base64').toString('latin1', 1, 4), 'PNG');
  });
});
