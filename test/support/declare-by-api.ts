import type { LocalService } from './local-service.ts';

/** Resources in the form of the declared file: kind, local name, attributes. */
export type Resources = Readonly<Record<string, Readonly<Record<string, object>>>>;

type Kind = { path: string; type?: string };

/** The kinds in the order in which their resources are created. */
const KINDS: Readonly<Record<string, Kind>> = {
  svc_http_monitor: { path: '/v1/monitors', type: 'http' },
  svc_tcp_monitor: { path: '/v1/monitors', type: 'tcp' },
  svc_dns_monitor: { path: '/v1/monitors', type: 'dns' },
  svc_notification: { path: '/v1/notifications' },
};

/**
 * Changes the service from one declaration to the next one, with one request for each resource that differs.
 */
export class DeclareByApi {
  readonly #service: LocalService;
  /** The last sent attributes by `kind.name`. */
  readonly #made = new Map<string, { path: string; id: string; sent: string }>();

  constructor(service: LocalService) {
    this.#service = service;
  }

  async declare(resources: Resources): Promise<void> {
    const wanted = new Set<string>();
    for (const [kind, { path, type }] of Object.entries(KINDS)) {
      for (const [name, attributes] of Object.entries(resources[kind] ?? {})) {
        const key = `${kind}.${name}`;
        wanted.add(key);
        await this.#write(
          key,
          path,
          this.#resolved({ ...(type === undefined ? {} : { type }), ...attributes }),
        );
      }
    }
    for (const [key, { path, id }] of this.#made) {
      if (wanted.has(key)) continue;
      await this.#send('DELETE', `${path}/${id}`);
      this.#made.delete(key);
    }
  }

  async #write(key: string, path: string, attributes: object): Promise<void> {
    const sent = JSON.stringify(attributes);
    const known = this.#made.get(key);
    if (known?.sent === sent) return;
    const { id } = known
      ? await this.#send('PUT', `${path}/${known.id}`, attributes)
      : await this.#send('POST', path, attributes);
    this.#made.set(key, { path, id, sent });
  }

  /** Returns the attributes with ids in the place of references such as `${kind.name.id}`. */
  #resolved(attributes: object): object {
    const text = JSON.stringify(attributes, (_key, value: unknown) =>
      Array.isArray(value) ? value.map((each) => this.#idIn(each)) : value,
    );
    return JSON.parse(text) as object;
  }

  #idIn(value: unknown): unknown {
    const key = typeof value === 'string' ? /^\$\{(.+)\.id\}$/.exec(value)?.[1] : undefined;
    return key === undefined ? value : this.#made.get(key)?.id;
  }

  async #send(method: string, path: string, attributes?: object): Promise<{ id: string }> {
    const { status, body } = await this.#service.request(method, path, attributes);
    if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${JSON.stringify(body)}`);
    return body as { id: string };
  }
}
