import type { Agent, AgentOptions } from 'node:http';
import type { HttpProxy, ProxyFor } from '../proxy/proxy.ts';
import { trustedContext } from '../trusted-authorities.ts';

type Parts = { readonly ca: readonly string[]; readonly proxyFor: ProxyFor | undefined };

const PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/** The connections of exports: with the authorities and the proxy of the settings, and each for one export. */
export class Connections {
  readonly #parts: Parts;
  #agent: Agent | null = null;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * An agent for connections to `url`.
   *
   * @param protocol `http:` or `https:`
   */
  async agent(url: string, protocol: string): Promise<Agent> {
    const options: AgentOptions = { keepAlive: false, ...this.#proxyOptions(new URL(url)) };
    if (protocol === 'https:') {
      const https = await import('node:https');
      this.#agent = new https.Agent({ ...options, secureContext: trustedContext(this.#parts.ca) });
    } else {
      const http = await import('node:http');
      this.#agent = new http.Agent(options);
    }
    return this.#agent;
  }

  /** Ends all connections. */
  cut(): void {
    this.#agent?.destroy();
  }

  #proxyOptions({ hostname, protocol, port }: URL): Pick<AgentOptions, 'proxyEnv'> {
    const host = hostname.replace(/^\[(.*)\]$/, '$1');
    const proxy = this.#parts.proxyFor?.(host, port === '' ? (PORTS[protocol] ?? 443) : Number(port));
    if (proxy === undefined) return {};
    const url = urlOf(proxy);
    return { proxyEnv: { HTTP_PROXY: url, HTTPS_PROXY: url } };
  }
}

/** The proxy as Node's agents are given one. */
function urlOf({ host, port, authorization }: HttpProxy): string {
  const basic = authorization?.reveal().replace(/^Basic /, '');
  const [user = '', ...password] =
    basic === undefined ? [] : Buffer.from(basic, 'base64').toString().split(':');
  const credentials =
    basic === undefined ? '' : `${encodeURIComponent(user)}:${encodeURIComponent(password.join(':'))}@`;
  return `http://${credentials}${host.includes(':') ? `[${host}]` : host}:${port}`;
}
