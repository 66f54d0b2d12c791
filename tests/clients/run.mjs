// Drives a running Posthorn with the clients people use: the official SDKs, the Inspector, and the recorded handshakes of
// real hosts. Prints a line a check and ends with 'N passed, M failed'. tests/clients.sh sets what it needs:
//
//   CLIENTS_INSTALL   where tests/clients/package.json is installed
//   POSTHORN_BIN      the posthorn binary          POSTHORN_DATA   the data folder `posthorn mcp` shares with the server
//   POSTHORN_URL      the server's /mcp            POSTHORN_KEY    an API key
//
// Arguments choose groups: sdk, confirm, inspector, replay, probe. Without any, all run.

import { confirmation } from './confirmation.mjs';
import { inspector } from './inspector.mjs';
import { probe } from './probe.mjs';
import { replays } from './replay.mjs';
import { Report } from './report.mjs';
import { sdkClients } from './sdk_clients.mjs';

const GROUPS = { probe, sdk: sdkClients, confirm: confirmation, inspector, replay: replays };

const server = serverFromEnvironment();
const chosen = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(GROUPS);
const report = new Report();

for (const name of chosen) {
  if (!GROUPS[name]) throw new Error(`no group ${name}; there are ${Object.keys(GROUPS).join(', ')}`);
  await GROUPS[name](report, server);
}
process.exit(report.finish());

function serverFromEnvironment() {
  const { POSTHORN_BIN, POSTHORN_DATA, POSTHORN_URL, POSTHORN_KEY } = process.env;
  if (!POSTHORN_BIN || !POSTHORN_DATA || !POSTHORN_URL || !POSTHORN_KEY) {
    throw new Error('POSTHORN_BIN, POSTHORN_DATA, POSTHORN_URL and POSTHORN_KEY must be set');
  }
  const stdioCommandFor = (dataFolder) => [POSTHORN_BIN, 'mcp', '--data', dataFolder];
  return { stdioCommandFor, stdioCommand: stdioCommandFor(POSTHORN_DATA), url: POSTHORN_URL, key: POSTHORN_KEY };
}
