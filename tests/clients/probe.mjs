// A modern host starts a process only to ask which era it speaks, and throws it away. That must cost nothing: no cluster,
// no data, and a prompt end. The process it starts next is another one, and may be spoken to in the old way.

import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { StdioClient } from '../lib/stdio_client.mjs';

const DISCOVER = JSON.stringify({
  jsonrpc: '2.0',
  id: 'server-discover-probe-1',
  method: 'server/discover',
  params: {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'probe', version: '1.0.0' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
});

const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'probe', version: '1.0.0' } },
});

export async function probe(report, server) {
  const folder = await mkdtemp(join(tmpdir(), 'posthorn-probe-'));
  const command = server.stdioCommandFor(join(folder, 'data'));
  try {
    await report.check('throw-away probe stdio: discovers and leaves, and made no database', async () => {
      const reply = await askAndLeave(command, DISCOVER, 'server-discover-probe-1');
      assert.ok(reply.result?.supportedVersions?.includes('2026-07-28'), JSON.stringify(reply));
      assert.deepEqual(await clustersIn(folder), []);
    });

    await report.check('throw-away probe stdio: the next process initializes, and made no database', async () => {
      const reply = await askAndLeave(command, INITIALIZE, 0);
      assert.equal(reply.result?.protocolVersion, '2025-11-25');
      assert.deepEqual(await clustersIn(folder), []);
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function askAndLeave(command, line, id) {
  const client = new StdioClient(command);
  try {
    client.write(`${line}\n`);
    const reply = await client.answer(id);
    assert.equal(await client.close(), 0, client.diagnostics);
    return reply;
  } finally {
    client.kill();
  }
}

/** PostgreSQL data directories below `folder`: each has its version in a file of this name. */
async function clustersIn(folder) {
  const entries = await readdir(folder, { recursive: true });
  return entries.filter((entry) => basename(entry) === 'PG_VERSION');
}
