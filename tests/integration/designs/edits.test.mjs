// An official client makes a design, edits, compares and undoes it: blocks that no operation names keep their bytes, an undone edit gives
// the first bytes again (D-160 … D-163), and a worker that is killed in an edit leaves one version and one charge.

import assert from 'node:assert/strict';
import test from 'node:test';
import { holdOnceWritten, sql } from '../../lib/database.mjs';
import { BINARY, installationFor } from '../../lib/installation.mjs';
import { packagesOf } from '../../lib/packages.mjs';
import { killGroup, until } from '../../lib/processes.mjs';
import { Random } from '../../lib/random.mjs';

const load = packagesOf('clients');
const { Client, StdioClientTransport } = { ...load('@modelcontextprotocol/client'), ...load('@modelcontextprotocol/client/stdio') };

const BLOCKS = [
  { id: 'b1', type: 'header', variant: 'centered', name: 'Tea & Co' },
  { id: 'b2', type: 'hero', variant: 'centered', heading: 'Spring tea', text: 'Fresh **leaves** for {{ firstName }}.', button: { label: 'Shop', href: 'https://tea.example/shop' } },
  { id: 'b3', type: 'text', variant: 'plain', body: 'Until {{ payload.until }}, see [our shop](https://tea.example/).' },
  { id: 'b4', type: 'list', variant: 'plain', items: ['One', 'Two'] },
  { id: 'b5', type: 'footer', variant: 'centered', reason: 'You subscribed.', address: '1 Road, Town', unsubscribe: 'Unsubscribe' },
];
const DOCUMENT = { schema: 1, lang: 'en', title: 'Tea', subjectLine: 'Tea', blocks: BLOCKS };
const IMPORT = '<p>Hello {{ firstName }}, the <b>Sale</b> begins.</p><!--[if mso]><p>Outlook</p><![endif]--><p style="color:#111111"><a href="https://a.example/one">Shop now</a></p>'
  + '<p><a href="{{ unsubscribeUrl }}">Unsubscribe</a></p>';

async function connect(t, installation) {
  const transport = new StdioClientTransport({ command: BINARY, args: ['mcp'], env: installation.environment, stderr: 'ignore' });
  const client = new Client({ name: 'posthorn-tests', version: '1.0.0' });
  await client.connect(transport);
  t.after(() => client.close());
  return async (name, args) => {
    const { structuredContent, isError, content } = await client.callTool({ name, arguments: args });
    assert.ok(!isError, `${name} ${JSON.stringify(args)}: ${content?.[0]?.text}`);
    return structuredContent;
  };
}

/** A design with a document, whose first version is drawn. */
async function designOf(installation, tool, title) {
  const { emailId } = await tool('import_email', { content: '<p>To be drawn</p>', title, subjectLine: 'Tea' });
  await sql(installation, `update email_versions v set document = '${JSON.stringify(DOCUMENT)}', made_by = 'composer' from emails e
    where e.id = v.email_id and e.title = '${title}'; update emails set block_serial = 5 where title = '${title}'`);
  await tool('edit_email', { emailId, operations: [{ op: 'meta', values: { previewText: 'Fresh' } }] });
  return emailId;
}

async function read(tool, emailId) {
  const { html, document, emailVersionId } = await tool('get_email', { emailId, include: ['html', 'document'], htmlChars: 100_000 });
  return { html, document, emailVersionId };
}

/** A call is refused with SERVICE_UNAVAILABLE while the database of a killed runner begins again. */
async function settled(tool, emailId) {
  let email;
  const isSettled = async () => {
    try {
      email = await tool('get_email', { emailId, include: ['versions'] });
    } catch (error) {
      if (!error.message.includes('SERVICE_UNAVAILABLE')) throw error;
      return false;
    }
    return email.status !== 'generating';
  };
  await until('the edit has ended', isSettled, 180_000);
  assert.equal(email.status, 'ready');
  return email;
}

/** Operations that change the document at random, and those that undo them. */
function randomEdit(random, { blocks }) {
  const at = random.below(blocks.length);
  const { id, ...value } = blocks[at];
  const before = at > 0 ? blocks[at - 1].id : null;
  const other = blocks[(at + 1 + random.below(blocks.length - 1)) % blocks.length].id;
  const [tone, old] = [['tint', 'accent', 'dark'][random.below(3)], value.tone ?? null];
  return [
    { named: [id], operations: [{ op: 'set', block: id, values: { tone } }], undo: () => [{ op: 'set', block: id, values: { tone: old } }] },
    { named: [], operations: [{ op: 'insert', after: other, value: { type: 'divider' } }], undo: ([{ value: added }]) => [{ op: 'remove', block: added.id }] },
    other === before ? null : { named: [], operations: [{ op: 'move', block: id, after: other }], undo: () => [{ op: 'move', block: id, after: before }] },
  ][random.below(3)];
}

test('an official client makes, edits, compares and undoes a design', { timeout: 600_000 }, async (t) => {
  const installation = installationFor(t);
  const tool = await connect(t, installation);
  const emailId = await designOf(installation, tool, 'Tea');
  const random = new Random(14);

  await t.test('a made design is edited by operations and undone', async () => {
    const { emailId: made } = await tool('create_email', { prompt: 'A newsletter.\n---\n# Spring tea\n\nFresh leaves for {{ firstName }}.\n\n[Shop](https://tea.example/shop)' });
    await settled(tool, made);
    const first = await read(tool, made);
    const { id } = first.document.blocks.find(({ type }) => type === 'hero') ?? first.document.blocks[0];
    await tool('edit_email', { emailId: made, operations: [{ op: 'set', block: id, values: { tone: 'dark' } }] });
    const { changed } = await tool('get_email', { emailId: made, compareWith: 'previous' });
    assert.deepEqual(changed.map((block) => [block.id, block.members.map(({ member }) => member)]), [[id, ['tone']]]);
    await tool('restore_email_version', { emailId: made, emailVersionId: first.emailVersionId });
    assert.equal((await read(tool, made)).html, first.html);
  });

  await t.test('random operations leave the other blocks, and their inverse gives the first bytes again', async () => {
    const first = await read(tool, emailId);
    let before = first;
    const undo = [];
    for (let round = 0; round < 8; round++) {
      const edit = randomEdit(random, before.document);
      if (edit === null) continue;
      const { changes } = await tool('edit_email', { emailId, operations: edit.operations });
      const after = await read(tool, emailId);
      for (const block of after.document.blocks) {
        const old = before.document.blocks.find(({ id }) => id === block.id);
        if (old !== undefined && !edit.named.includes(block.id)) assert.equal(JSON.stringify(block), JSON.stringify(old), `round ${round}`);
      }
      undo.unshift(edit.undo(changes));
      before = after;
    }
    for (const operations of undo) await tool('edit_email', { emailId, operations });
    const last = await read(tool, emailId);
    assert.equal(JSON.stringify(last.document), JSON.stringify(first.document));
    assert.equal(last.html, first.html);
  });

  await t.test('an edit by prompt is compared and undone', async () => {
    const first = await read(tool, emailId);
    const { status, runId } = await tool('edit_email', { emailId, prompt: 'Replace "Spring" with "Summer" and move the list above the text.' });
    assert.equal(status, 'generating');
    assert.ok(runId);
    const { versions } = await settled(tool, emailId);
    assert.equal(versions[0].madeBy, 'instruction');
    const difference = await tool('get_email', { emailId, compareWith: 'previous' });
    assert.deepEqual(difference.changed, [{ id: 'b2', type: 'hero', members: [{ member: 'heading', before: 'Spring tea', after: 'Summer tea' }] }]);
    assert.equal(difference.moved.length, 1);
    await tool('restore_email_version', { emailId, emailVersionId: first.emailVersionId });
    const { isEqual } = await tool('get_email', { emailId, compareWith: first.emailVersionId });
    assert.equal(isEqual, true);
    assert.equal((await read(tool, emailId)).html, first.html);
  });

  await t.test('a prompt changes an imported design at its places only', async () => {
    const { emailId: imported } = await tool('import_email', { content: IMPORT, title: 'Imported' });
    const first = await read(tool, imported);
    await tool('edit_email', { emailId: imported, prompt: 'Replace "Sale" with "Deal". Link "Shop now" to https://a.example/two.' });
    await settled(tool, imported);
    const { html } = await read(tool, imported);
    assert.equal(html, first.html.replace('Sale', 'Deal').replace('https://a.example/one', 'https://a.example/two'));
    await tool('edit_email', { emailId: imported, prompt: 'Replace "Deal" with "Sale". Link "Shop now" to https://a.example/one.' });
    await settled(tool, imported);
    assert.equal((await read(tool, imported)).html, first.html);
  });

  await t.test('a worker is killed in an edit: one version, one charge', async () => {
    const versions = () => sql(installation, "select count(*) from email_versions where made_by = 'instruction'").then(([count]) => Number(count));
    const before = await versions();
    const [used] = await sql(installation, 'select used from credit_usage');
    await sql(installation, 'delete from generations');
    const hold = await holdOnceWritten(installation, 'generations');
    await tool('edit_email', { emailId, prompt: 'Make the button green' });
    await hold.held;
    const runner = installation.runnerPid;
    killGroup(runner);
    await until('another runner has come', () => installation.runnerPid > 0 && installation.runnerPid !== runner);
    await hold.release().catch(() => {});
    await settled(tool, emailId);
    assert.equal(await versions(), before + 1);
    assert.deepEqual(await sql(installation, 'select used from credit_usage'), [String(Number(used) + 1)]);
    assert.deepEqual(await sql(installation, 'select status, error is null from generations'), ['completed|t']);
    assert.deepEqual(await sql(installation, 'select count(*) from credit_holds'), ['0']);
    assert.deepEqual(await sql(installation, "select count(*) from audit_log where operation = 'emails.edit'"), ['4']);
  });
});
