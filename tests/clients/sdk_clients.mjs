// Opens sessions with the official SDK clients, unmodified: 1.32.2, and 2.4.0 in each of its ways to negotiate.

import assert from 'node:assert/strict';
import { packagesOf } from '../lib/packages.mjs';
import { tour } from './tour.mjs';

const load = packagesOf('clients');
const v1 = {
  ...load('@modelcontextprotocol/sdk/client/index.js'),
  ...load('@modelcontextprotocol/sdk/client/stdio.js'),
  ...load('@modelcontextprotocol/sdk/client/streamableHttp.js'),
};
const v2 = { ...load('@modelcontextprotocol/client'), ...load('@modelcontextprotocol/client/stdio') };

const CLIENT_INFO = { name: 'posthorn-tests', version: '1.0.0' };

/** Each way a client comes, and the protocol revision it must end up with. */
const WAYS = [
  { name: 'sdk 1.32.2', sdk: v1, options: {}, era: 'legacy', version: '2025-11-25' },
  { name: 'sdk 2.4.0 legacy', sdk: v2, options: negotiate('legacy'), era: 'legacy', version: '2025-11-25' },
  { name: 'sdk 2.4.0 auto', sdk: v2, options: negotiate('auto'), era: 'modern', version: '2026-07-28' },
  { name: 'sdk 2.4.0 pinned', sdk: v2, options: negotiate({ pin: '2026-07-28' }), era: 'modern', version: '2026-07-28' },
];

function negotiate(mode) {
  return { versionNegotiation: { mode } };
}

/** All ways over stdio and over HTTP. */
export async function sdkClients(report, server) {
  for (const way of WAYS) {
    await overStdio(report, server, way);
    await overHttp(report, server, way);
  }
}

async function overStdio(report, server, way) {
  const label = `${way.name} stdio`;
  const [command, ...args] = server.stdioCommand;
  const transport = new way.sdk.StdioClientTransport({ command, args, stderr: 'ignore' });
  const client = await connect(report, label, way, transport);
  if (!client) return;

  await tour(report, label, client, way.era);
  await report.check(`${label}: the process leaves when its input ends`, async () => {
    const ended = endWithoutSignals(transport._process);
    await client.close();
    assert.equal(await ended, 0);
  });
}

async function overHttp(report, server, way) {
  const label = `${way.name} http`;
  const requestInit = { headers: { Authorization: `Bearer ${server.key}` } };
  const transport = new way.sdk.StreamableHTTPClientTransport(new URL(server.url), { requestInit });
  const client = await connect(report, label, way, transport);
  if (!client) return;

  await tour(report, label, client, way.era);
  await report.check(`${label}: the session ends`, async () => {
    if (way.era === 'legacy') await transport.terminateSession();
    await client.close();
  });
}

async function connect(report, label, way, transport) {
  return report.check(`${label}: connects and settles on ${way.version}`, async () => {
    const client = new way.sdk.Client(CLIENT_INFO, way.options);
    const errors = [];
    client.onerror = (error) => errors.push(error.message);

    // 1.x gives the settled version to its transport only, and the stdio transport has no method for it.
    let told;
    transport.setProtocolVersion ??= (version) => (told = version);
    await client.connect(transport);

    const settled = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion ?? told;
    assert.equal(settled, way.version);
    assert.deepEqual(errors, []);
    return client;
  });
}

/** The exit code of a child. The SDK signals a child that it thinks late; those signals are held back, so it must end by itself. */
function endWithoutSignals(child) {
  const really = child.kill.bind(child);
  child.kill = () => false;
  process.once('exit', () => really('SIGKILL'));
  return new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)));
}
