import http from 'node:http';
import https from 'node:https';

/** As Node's shared agents, but they ask no proxy. */
const OPTIONS: https.AgentOptions = { keepAlive: true, scheduling: 'lifo', timeout: 5_000 };
const overHttp = new http.Agent(OPTIONS);
const overHttps = new https.Agent(OPTIONS);

/** As {@link URL} writes them; the last one is 127.0.0.0/8 as IPv6. */
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\]|\[::ffff:7f[\da-f]{2}:[\da-f]+\])$/;

/**
 * The agent for a server on this machine; undefined for any other.
 *
 * A proxy could not reach that server, and would be shown the token. Node asks the environment's proxy for
 * loopback as well, unless NO_PROXY names it; providers written in Go never do.
 */
export function directAgent({ protocol, hostname }: URL): http.Agent | undefined {
  if (!LOOPBACK.test(hostname)) return undefined;
  return protocol === 'https:' ? overHttps : overHttp;
}
