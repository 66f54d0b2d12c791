// The peer of a comparison must do the same work. Its reply is padded to exactly as many bytes as ours.

import { drive, everything, serveEverything } from './programs.mjs';

const SIZING_CALLS = 10;
const SIZING_MS = 50;

// Gives the command of a server-everything whose tool answers with as many bytes as `tool` of the server that `command` starts.
export async function stdioPeerOf(command, tool) {
  const sizeOf = async (server, called) => (await drive('stdio_load', { ...called, calls: SIZING_CALLS }, server)).replyBytes;
  return everything.stdioPadded(padding(await sizeOf(command, tool), await sizeOf(everything.stdioPadded(''), everything.tool)));
}

// Starts a server-everything whose tool answers with as many bytes as `tool` of `server`.
export async function httpPeerOf(server, tool) {
  const unpadded = await serveEverything('');
  const bytes = padding(await bodyBytes(server, tool), await bodyBytes(unpadded, everything.tool));
  unpadded.end();
  return serveEverything(bytes);
}

async function bodyBytes({ port, header }, tool) {
  return (await drive('http_load', { port, header, ...tool, connections: 1, warmupMs: 0, durationMs: SIZING_MS })).replyBytes;
}

function padding(bytes, unpaddedBytes) {
  if (bytes < unpaddedBytes) throw new Error(`the reply has ${bytes} bytes, and the shortest reply of the peer has ${unpaddedBytes}`);
  return 'x'.repeat(bytes - unpaddedBytes);
}

// Describes the two sides; fails when their replies differ in size.
export function equalBytes(ours, peer) {
  if (ours.replyBytes !== peer.replyBytes) throw new Error(`the replies have ${ours.replyBytes} and ${peer.replyBytes} bytes`);
  return `requests of ${ours.requestBytes} (ours) and ${peer.requestBytes} bytes, replies of ${ours.replyBytes} bytes on both sides`;
}
