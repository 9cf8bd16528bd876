import type { Agent, AgentOptions } from 'node:http';
import type { SecureContext } from 'node:tls';
import type { HttpProxy, ProxyFor } from '../proxy/proxy.ts';
import { type ClientIdentity, trustedContext } from '../server-trust.ts';

type Parts = {
  /** Authorities in PEM. They are trusted in addition to Node's. */
  readonly ca: readonly string[];
  /** The client certificate for the endpoint; null: none is sent. */
  readonly identity: ClientIdentity | null;
  readonly proxyFor: ProxyFor | undefined;
};

/**
 * Makes the connections of exports to one URL. Each export has a connection of its own, with the authorities
 * and the proxy of the settings.
 */
export class Connections {
  readonly #proxyEnv: AgentOptions['proxyEnv'];
  /**
   * The TLS context; null when the URL has no TLS. It is made at the start, because making
   * it holds the thread for a while.
   */
  readonly #secureContext: SecureContext | null;
  #agent: Agent | null = null;

  constructor(url: URL, { ca, identity, proxyFor }: Parts) {
    this.#proxyEnv = proxyEnvOf(proxyFor?.(hostOf(url), portOf(url)));
    this.#secureContext = url.protocol === 'https:' ? trustedContext(ca, identity ?? undefined) : null;
  }

  /** Creates the agent that makes the connections. */
  async agent(): Promise<Agent> {
    const options = {
      keepAlive: false,
      ...(this.#proxyEnv === undefined ? {} : { proxyEnv: this.#proxyEnv }),
    };
    if (this.#secureContext === null) {
      const http = await import('node:http');
      this.#agent = new http.Agent(options);
    } else {
      const https = await import('node:https');
      this.#agent = new https.Agent({ ...options, secureContext: this.#secureContext });
    }
    return this.#agent;
  }

  /** Ends all connections. The agent can make new connections. */
  cut(): void {
    this.#agent?.destroy();
  }
}

/** The host without the brackets of an IPv6 literal. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

function portOf({ port, protocol }: URL): number {
  return port === '' ? ({ 'http:': 80 }[protocol] ?? 443) : Number(port);
}

/** The proxy in the form that Node's agents take; undefined when there is no proxy. */
function proxyEnvOf(proxy: HttpProxy | undefined): AgentOptions['proxyEnv'] {
  if (proxy === undefined) return undefined;
  const url = new URL(`http://${proxy.host.includes(':') ? `[${proxy.host}]` : proxy.host}:${proxy.port}`);
  const basic = proxy.authorization?.reveal().replace(/^Basic /, '');
  if (basic !== undefined) {
    const [user = '', ...password] = Buffer.from(basic, 'base64').toString().split(':');
    url.username = encodeURIComponent(user);
    url.password = encodeURIComponent(password.join(':'));
  }
  return { HTTP_PROXY: url.href, HTTPS_PROXY: url.href };
}
