// The control of the bench `neighbours`: a server that reads every body and answers 503 after a time.
//
//   node refusing_server.mjs PORT MILLISECONDS

import http from 'node:http';

const [port, wait] = process.argv.slice(2).map(Number);

// The clients keep their connections, and wait for long answers.
http.createServer({ keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 }, (request, reply) => {
  request.resume();
  request.on('end', () => setTimeout(() => reply.writeHead(503, { 'content-length': 0 }).end(), wait));
}).listen(port, '127.0.0.1');
