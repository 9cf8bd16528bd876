#!/usr/bin/env bash
# A server of OpenSSL 3.5 prefers a hybrid group without a key share to a classical group with one, and asks for a second
# ClientHello.
# Versions: Node 24.21.0 (npm package `node`, OpenSSL 3.5), on both sides. Run on 2026-11-29.
# Expected: a client that sends a key share of X25519, and only names X25519MLKEM768 as a further group, agrees on X25519 in one
# round trip, because the server supports that group and has everything it needs.
# Seen: the server asks for a share of X25519MLKEM768 (HelloRetryRequest), so the client sends two ClientHellos. If the client names
# only X25519 and P-256, it sends one.
# Exit code 1: this has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --save-exact --no-audit --no-fund node@24.21.0 >/dev/null
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -days 2 -keyout key.pem -out cert.pem 2>/dev/null
cat > shown.mjs <<'END'
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as connectPlain, createServer as createPlain } from 'node:net';
import { connect, createServer } from 'node:tls';

const CLIENT_HELLO = 1;
const HANDSHAKE = 22;
const server = createServer({ key: readFileSync('key.pem'), cert: readFileSync('cert.pem') }, (socket) => socket.on('error', () => {}));
server.listen(0, '127.0.0.1');
await once(server, 'listening');

/** Connects by way of a relay that counts ClientHellos. */
async function hellosOf(ecdhCurve) {
  let hellos = 0;
  const relay = createPlain((near) => {
    const far = connectPlain(server.address().port, '127.0.0.1');
    near.on('data', (bytes) => {
      // A ClientHello begins a record; a compatibility record of ChangeCipherSpec (6 bytes) may come before it.
      const at = bytes[0] === 20 ? 6 : 0;
      if (bytes[at] === HANDSHAKE && bytes[at + 5] === CLIENT_HELLO) hellos += 1;
    });
    near.pipe(far).pipe(near);
    for (const socket of [near, far]) socket.on('error', () => {});
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const client = connect({ port: relay.address().port, host: '127.0.0.1', rejectUnauthorized: false, ecdhCurve });
  await once(client, 'secureConnect');
  const { name } = client.getEphemeralKeyInfo();
  client.destroy();
  relay.close();
  console.log(`${ecdhCurve}: ${hellos} ClientHello, agreed on ${name}`);
  return hellos;
}

const withHybrid = await hellosOf('X25519:X25519MLKEM768:P-256');
const without = await hellosOf('X25519:P-256');
server.close();
console.log(`Node ${process.version}, OpenSSL ${process.versions.openssl}`);
process.exit(withHybrid === 2 && without === 1 ? 0 : 1);
END
node_modules/.bin/node shown.mjs
