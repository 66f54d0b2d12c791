// The client of the hostile organization of the bench `neighbours`: it prints "ready" when its body is made, repeats one kind of call until its input ends,
// and prints how many calls were answered.
//
//   node hostile_client.mjs PORT KEY searches|imports|bodies|refused|connections WIDTH [control]
//
// With "control" the server refuses every call.

import http from 'node:http';
import net from 'node:net';

const BATCH_ROWS = 1000; // the most rows of one body
const VALUE_BYTES = 4000;
const IMPORT_BYTES = 6_000_000; // of at most 6 MiB
const ADDRESS = '127.0.0.2'; // connections are bounded by peer, and the quiet organization is another peer
const STORM_ADDRESS = '127.0.0.3'; // the storm reaches the bound, and the other loads must not be refused for it

const [portText, key, kind, width, control] = process.argv.slice(2);
const port = Number(portText);
const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });

// A search reads every contact: no index serves the condition, and no contact meets it.
function searches() {
  const body = JSON.stringify({ count: true, filters: [{ field: 'plan', operator: 'contains', value: 'nobody' }] });
  return () => post('/v1/contacts/search', body, [200]);
}

function imports() {
  const lines = ['email,firstName,plan'];
  for (let bytes = 0; bytes < IMPORT_BYTES; bytes += lines.at(-1).length + 1) lines.push(`imported${lines.length}@hostile.example,Person,gold`);
  const body = JSON.stringify({ csv: lines.join('\n') });
  return () => post('/v1/contacts/import-csv', body, [200, 202, 503]);
}

function bodies() {
  const body = largestBatch();
  return () => post('/v1/contacts', body, [200, 503]);
}

function refused() {
  const body = largestBatch();
  return () => post('/v1/contacts', body, [401, 503], 'wrong');
}

// Each connection sends the beginning of a request and leaves.
function connections() {
  return () => new Promise((resolve) => {
    const socket = net.connect({ port, host: '127.0.0.1', localAddress: STORM_ADDRESS }, () => {
      socket.write('POST /v1/contacts HTTP/1.1\r\nHost: x\r\n', () => socket.destroy());
    });
    socket.on('error', () => {});
    socket.on('close', resolve);
  });
}

function largestBatch() {
  const plan = 'x'.repeat(VALUE_BYTES);
  const contacts = Array.from({ length: BATCH_ROWS }, (_, row) => ({ email: `body${row}@hostile.example`, customFields: { plan } }));
  return JSON.stringify({ contacts });
}

function post(path, body, accepted, secret = key) {
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const options = { agent: secret === key ? agent : undefined, port, host: '127.0.0.1', localAddress: ADDRESS, path, method: 'POST', headers };
  return new Promise((resolve, reject) => {
    const request = http.request(options, (reply) => {
      let text = '';
      reply.setEncoding('utf8');
      reply.on('data', (part) => { text = (text + part).slice(0, 400); });
      reply.on('end', () => (isAccepted(accepted, reply.statusCode) ? resolve() : reject(new Error(`${path}: ${reply.statusCode} ${text}`))));
    });
    // A refusal may close the connection before the whole body is written.
    request.on('error', (error) => (accepted.includes(401) ? resolve() : reject(new Error(`${path}: ${error.message}`))));
    request.end(body);
  });
}

const isAccepted = (accepted, status) => (control ? status === 503 : accepted.includes(status));

let done = 0;
let ended = false;

async function repeat(act) {
  while (!ended) {
    await act();
    done++;
  }
}

const act = { searches, imports, bodies, refused, connections }[kind]();
console.log('ready');
process.stdin.resume();
process.stdin.on('end', () => { ended = true; });
await Promise.all(Array.from({ length: Number(width) }, () => repeat(act)));
agent.destroy();
console.log(done);
