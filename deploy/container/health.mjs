// The health check of the images: asks the process beside it whether it is ready. Exit code 0: it is.
import { existsSync } from 'node:fs';
import { request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';

const { SVC_AGENT_LISTEN = '', SVC_LISTEN = '', SVC_TLS_CERT = '' } = process.env;
// The bundle beside this file shows which process this is. A variable would not: one file of settings for
// both processes may name both addresses.
const isAgent = existsSync(new URL('agent.mjs', import.meta.url));
// An empty variable counts as unset, as it does in the processes.
const listen = isAgent ? SVC_AGENT_LISTEN : SVC_LISTEN || '127.0.0.1:8080';
// An agent without an address cannot be asked. It counts as healthy while it runs.
if (listen === '') process.exit(0);
const [, address = '', port = ''] = /^\[?(.*?)\]?:(\d+)$/.exec(listen) ?? [];
// A listener on all addresses also listens on loopback.
const host = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address;
const request = !isAgent && SVC_TLS_CERT !== '' ? tlsRequest : plainRequest;

// The certificate names the public address, not this one.
const asked = request(
  { host, port, path: '/readyz', timeout: 5_000, rejectUnauthorized: false },
  (answer) => {
    answer.resume();
    answer.on('end', () => {
      process.exitCode = answer.statusCode === 200 ? 0 : 1;
    });
  },
);
asked.on('timeout', () => {
  failed('no answer within 5 s');
  asked.destroy();
});
asked.on('error', (error) => failed(error.message));
asked.end();

/** @param {string} why */
function failed(why) {
  process.stderr.write(`${why}\n`);
  process.exitCode = 1;
}
