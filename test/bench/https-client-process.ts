/**
 * One contender of https.ts, as a process of its own. Arguments: contender, URL, file
 * of the trusted root, requests a second, seconds. Prints its CPU time per request, ms.
 */
import { readFileSync } from 'node:fs';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { connect, createSecureContext, getCACertificates } from 'node:tls';
import { Client } from 'undici';
import { pace } from './pace.ts';

const WARM_UP_SECONDS = 2;

const [contender = '', url = '', root = '', rate = '', seconds = ''] = process.argv.slice(2);
const { port, host } = new URL(url);
const ca = [...getCACertificates('default'), readFileSync(root, 'utf8')];
const secureContext = createSecureContext({ ca });
const REQUEST = `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;

const REQUESTERS: Readonly<Record<string, () => Promise<void>>> = {
  'bare net.connect': () => bareRequest(false),
  'bare tls.connect': () => bareRequest(true),
  'undici Client': undiciRequest,
  'node:https': httpsGet,
};

function bareRequest(isTls: boolean): Promise<void> {
  const to = { host: '127.0.0.1', port: Number(port), autoSelectFamily: false };
  return new Promise((resolve, reject) => {
    const socket = isTls ? connect({ ...to, secureContext, ALPNProtocols: ['http/1.1'] }) : connectPlain(to);
    socket.once(isTls ? 'secureConnect' : 'connect', () => socket.write(REQUEST));
    socket.on('error', reject);
    // The answer is small enough to come in one piece.
    socket.once('data', () => {
      socket.destroy();
      resolve();
    });
  });
}

async function undiciRequest(): Promise<void> {
  const client = new Client(url, { connect: { secureContext, maxCachedSessions: 0 } as object });
  const response = await client.request({ path: '/', method: 'GET' });
  await response.body.dump();
  await client.destroy();
}

function httpsGet(): Promise<void> {
  return new Promise((resolve, reject) => {
    // Without an agent, no TLS session is cached. The types do not know `secureContext` here.
    const options = { agent: false, secureContext } as RequestOptions;
    const request = httpsRequest(url, options, (response) => {
      response.on('end', resolve).resume();
    });
    request.on('error', reject).end();
  });
}

/**
 * Makes requests at a steady rate.
 *
 * @returns the number of requests
 */
async function paced(request: () => Promise<void>, duration: number): Promise<number> {
  const made: Promise<void>[] = [];
  await pace(Number(rate), duration, () => made.push(request()));
  await Promise.all(made);
  return made.length;
}

const request = REQUESTERS[contender];
if (request === undefined) throw new Error(`unknown contender ${contender}`);
await paced(request, WARM_UP_SECONDS);
const before = process.cpuUsage();
const count = await paced(request, Number(seconds));
const { user, system } = process.cpuUsage(before);
process.stdout.write(`${(user + system) / 1_000 / count}\n`, () => process.exit());
