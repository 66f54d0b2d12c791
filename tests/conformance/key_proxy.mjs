// The suites cannot send an API key. This loopback proxy adds it, and changes nothing else: bodies and streams pass
// untouched, a client that hangs up is felt by the server, and a foreign Host or Origin reaches the server as sent.

import http from 'node:http';

/** Starts the proxy before `target` (an http URL); gives its own URL for the same path, and close(). */
export async function startKeyProxy(target, key) {
  const server = http.createServer((request, response) => forward(server, target, key, request, response));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));

  const own = new URL(target);
  own.port = String(server.address().port);
  return {
    url: own.href,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function forward(server, target, key, request, response) {
  const ownAuthority = `127.0.0.1:${server.address().port}`;
  const asTarget = (value) => value?.replace(ownAuthority, target.host);
  const headers = { ...request.headers, host: asTarget(request.headers.host), authorization: `Bearer ${key}` };
  if (request.headers.origin) headers.origin = asTarget(request.headers.origin);

  const upstream = http.request(
    { host: target.hostname, port: target.port, path: request.url, method: request.method, headers },
    (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      response.flushHeaders();
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    },
  );
  upstream.on('error', () => response.destroy());
  response.on('close', () => upstream.destroy());
  request.pipe(upstream);
}
