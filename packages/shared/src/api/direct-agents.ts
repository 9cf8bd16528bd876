import http from 'node:http';
import https from 'node:https';

/** The options of Node's shared agents. These agents use no proxy. */
const OPTIONS: https.AgentOptions = { keepAlive: true, scheduling: 'lifo', timeout: 5_000 };
const overHttp = new http.Agent(OPTIONS);
const overHttps = new https.Agent(OPTIONS);

/**
 * Loopback host names as {@link URL} writes them. The last form is 127.0.0.0/8 as an IPv4-mapped IPv6
 * address.
 */
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\]|\[::ffff:7f[\da-f]{2}:[\da-f]+\])$/;

/**
 * Returns the agent for a server on this machine, or undefined for any other server.
 *
 * A proxy could not reach a server on this machine, and it would see the token. Node uses the proxy of the
 * environment for loopback too unless NO_PROXY names it; programs written in Go never do.
 */
export function directAgent({ protocol, hostname }: URL): http.Agent | undefined {
  if (!LOOPBACK.test(hostname)) return undefined;
  return protocol === 'https:' ? overHttps : overHttp;
}
