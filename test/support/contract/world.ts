import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { confirmSubscription, recipientAt } from '@svc/coordinator/store/pages/page-recipients.ts';
import type { ResourceKind } from '@svc/shared/resources/registry.ts';
import { parseResource } from '@svc/shared/resources/registry.ts';
import type { RunningApi } from '../api.ts';
import { SECRET } from '../channel-samples.ts';
import { addResults } from '../recorded-results.ts';
import { VALID } from '../resources.ts';
import type { Answer } from './judge.ts';

/**
 * Time without use after which a connection is not used
 * again, ms. The API ends a connection after 5 s without use.
 */
const UNUSED_MS = 1_000;
/**
 * Length above which a body has a connection of its own, characters. The API may
 * answer a long body before all of it has come, and then ends the connection.
 */
const LONG_BODY = 4_096;

/** Keeps connections open, because opening one takes as much CPU time as an answer of the API. */
class KeptConnections extends Agent {
  readonly #freeSince = new WeakMap<object, number>();

  constructor() {
    super({ keepAlive: true });
    this.on('free', (socket) => this.#freeSince.set(socket, performance.now()));
  }

  /** Time without use after which a connection is ended, ms. */
  endUnused(unusedMs: number): void {
    const before = performance.now() - unusedMs;
    for (const socket of Object.values(this.freeSockets).flatMap((free = []) => free)) {
      if ((this.#freeSince.get(socket) ?? before) <= before) socket.destroy();
    }
  }

  for(body: string | Uint8Array | undefined): Agent | false {
    if ((body?.length ?? 0) > LONG_BODY) return false;
    this.endUnused(UNUSED_MS);
    return this;
  }
}

const CONNECTIONS = new KeptConnections();

/** Ends the connections that no request uses. */
export const endConnections = (): void => CONNECTIONS.endUnused(0);

/**
 * Sends a request. `fetch` is not used, because it takes more CPU time than the API, and
 * there are thousands of requests. Like `fetch`, this function sets the host itself.
 */
async function answered(
  url: string,
  method: string,
  headers: readonly (readonly [string, string])[],
  body: string | Uint8Array | undefined,
): Promise<Answer> {
  const own = headers.filter(([name]) => name !== 'host');
  const sent = request(url, {
    method,
    agent: CONNECTIONS.for(body),
    headers: { accept: '*/*', ...Object.fromEntries(own) },
  });
  const answer = once(sent, 'response') as Promise<[IncomingMessage]>;
  sent.end(body);
  const [response] = await answer;
  // The answer to a body that is too long may come before all of it is sent.
  sent.on('error', () => {});
  const pairs = Object.entries(response.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  return { status: response.statusCode ?? 0, headers: new Headers(pairs), text: await textOf(response) };
}

export type Ids = Readonly<Record<string, string>>;
export type Sent = {
  readonly method: string;
  readonly path: string;
  readonly body?: string | Uint8Array | object;
  readonly headers?: Readonly<Record<string, string | undefined>>;
};

/** A workspace that a test can fill with every kind of object. */
export class World {
  readonly api: RunningApi;
  readonly token: string;
  readonly reader: string;
  readonly workspaceId: number;
  static #made = 0;

  private constructor(api: RunningApi, workspaceId: number, token: string, reader: string) {
    this.api = api;
    this.workspaceId = workspaceId;
    this.token = token;
    this.reader = reader;
  }

  /** The operator's workspace. */
  static ofOperator(api: RunningApi): World {
    return new World(api, api.workspaceId, api.operator, api.reader);
  }

  static async create(api: RunningApi): Promise<World> {
    const workspace = await api.call('POST', '/v1/workspaces', { name: World.unique() });
    const { id } = workspace.body as { id: string };
    const [token, reader] = await Promise.all(
      (['admin', 'read'] as const).map(async (scope) => {
        const grant = { workspaceId: Number(id), name: scope, scope };
        return (await api.tokens.create(grant, api.clock.wall())).secret.reveal();
      }),
    );
    return new World(api, Number(id), token ?? '', reader ?? '');
  }

  /** Returns a text that no other call returns. */
  static unique(): string {
    World.#made += 1;
    return `unique-${World.#made}`;
  }

  /**
   * Sends a request with the write token and JSON. `headers`
   * replace the default headers; undefined removes a header.
   */
  async send({ method, path, body, headers = {} }: Sent): Promise<Answer> {
    const text = typeof body === 'object' && !(body instanceof Uint8Array) ? JSON.stringify(body) : body;
    const all = {
      authorization: `Bearer ${this.token}`,
      ...(text === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    };
    const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
    return answered(`${this.api.url}${path}`, method, given, text);
  }

  /** Creates an object and returns its id. */
  async made(path: string, body: object): Promise<string> {
    const { status, text } = await this.send({ method: 'POST', path, body });
    if (status !== 201) throw new Error(`POST ${path} answered ${status}: ${text}`);
    return (JSON.parse(text) as { id: string }).id;
  }

  monitor(): Promise<string> {
    const secret = { key: 'X-Key', value: `${SECRET}-header` };
    return this.made('/v1/monitors', { type: 'http', ...VALID.svc_http_monitor, headers: [secret] });
  }

  exportedMonitor(): Promise<string> {
    const otlp_endpoint = 'https://otlp.example.com';
    return this.made('/v1/monitors', { type: 'tcp', ...VALID.svc_tcp_monitor, otlp_endpoint });
  }

  /** Creates a channel whose address has no listener. */
  async notification(): Promise<string> {
    const headers = [{ key: 'X-Key', value: `${SECRET}-header` }];
    return this.made('/v1/notifications', {
      name: 'a',
      provider_type: 'webhook',
      monitor_ids: [await this.monitor()],
      webhook: { endpoint: 'http://127.0.0.1:9/', headers },
    });
  }

  page(): Promise<string> {
    const secret = { access_type: 'password', password: `${SECRET}-password` };
    return this.made('/v1/status-pages', { title: 'a', slug: World.unique(), ...secret });
  }

  pageWithDomain(): Promise<string> {
    const slug = World.unique();
    return this.made('/v1/status-pages', { title: 'a', slug, custom_domain: `here.${slug}.example` });
  }

  /** Creates a page, and a subscriber of its news. */
  async subscriber(): Promise<Ids> {
    const page_id = await this.page();
    const recipient = { pageId: Number(page_id), address: 'ada@example.com', language: 'en' };
    const { id } = await this.api.store.transaction(async (tx) => {
      const { id } = await recipientAt(tx, recipient, this.api.clock.wall());
      await confirmSubscription(
        tx,
        { id, pageId: recipient.pageId, credential: null },
        this.api.clock.wall(),
      );
      return { id };
    });
    return { page_id, id: String(id) };
  }

  async group(): Promise<Ids> {
    const page_id = await this.page();
    return { page_id, id: await this.made(`/v1/status-pages/${page_id}/component-groups`, { name: 'a' }) };
  }

  async component(): Promise<Ids> {
    const { page_id = '', id: group_id } = await this.group();
    const body = { type: 'monitor', monitor_id: await this.monitor(), group_id };
    return { page_id, id: await this.made(`/v1/status-pages/${page_id}/components`, body) };
  }

  /** Creates an incident that people write, and its first update. */
  async incident(): Promise<Ids> {
    const { page_id = '', id: component = '' } = await this.component();
    const update = { state: 'investigating', text: 'a', component_ids: [component] };
    const incident_id = await this.made('/v1/incidents', { title: 'a', page_ids: [page_id], ...update });
    const { text } = await this.send({ method: 'GET', path: `/v1/incidents/${incident_id}` });
    const { latest_update } = JSON.parse(text) as { latest_update: { id: string } };
    return { incident_id, id: latest_update.id };
  }

  /** Creates a maintenance window for a monitor, a page and a component. */
  async window(): Promise<string> {
    const { page_id = '', id: component = '' } = await this.component();
    return this.made('/v1/maintenance-windows', {
      title: 'a',
      starts_at: '2026-01-02T00:00:00Z',
      ends_at: '2026-01-02T01:00:00Z',
      repeat: { frequency: 'daily' },
      monitor_ids: [await this.monitor()],
      page_ids: [page_id],
      component_ids: [component],
    });
  }

  async newToken(): Promise<string> {
    return this.made('/v1/tokens', { name: World.unique(), scope: 'read' });
  }

  /** Creates a delivery that is in the ledger, with an attempt. */
  async delivery(
    state: 'delivered' | 'dead' = 'dead',
    of: { notification?: string; monitor?: string } = {},
  ): Promise<string> {
    const notification = of.notification ?? (await this.notification());
    const alert = {
      monitor: { id: 1, name: 'a', url: 'https://example.com/', type: 'http' },
      status: 'error',
      cronTimestamp: 1,
      at: 1,
      reason: 'majority-failed',
      incident: 'a',
      regions: [{ region: 'hosta-fra', outcome: 'failed' }],
    };
    return this.api.store.transaction(async ({ db }) => {
      const { id } = await db
        .insertInto('deliveries')
        .values({
          uid: World.unique(),
          notification_id: Number(notification),
          monitor_id: Number(of.monitor ?? 1),
          alert: JSON.stringify(alert),
          state,
          attempts: 1,
          next_attempt_at: null,
          last_error: null,
          created_at: 1,
          replayed_at: null,
          finished_at: 2,
        })
        .returning('id')
        .executeTakeFirstOrThrow();
      const attempt = {
        number: 1,
        at: 1,
        duration: 1.5,
        outcome: 'retry',
        status_code: 503,
        error: 'status 503',
      };
      await db
        .insertInto('delivery_attempts')
        .values({ delivery_id: id, ...attempt })
        .execute();
      return String(id);
    });
  }

  /** Creates a monitor with a result, a change of status and votes. */
  async checkedMonitor(): Promise<string> {
    const id = await this.monitor();
    const now = this.api.clock.wall();
    const vote = { region: 'hosta-fra', outcome: 'failed', slot: now, at: now, latency: 1.5 } as const;
    const votes = [{ ...vote, status_code: 503, error_message: 'status code 503', counted: true }];
    await addResults(this.api.store, {
      ...{ slot: now, monitor_id: Number(id), region: 'hosta-fra', outcome: 'failed', latency: 1.5 },
      ...{ status_code: 503, error_message: 'status code 503', attempts: [], agent: 'fra-1' },
    });
    await this.api.store.transaction(async ({ db }) => {
      await db
        .insertInto('off_grid_slots')
        .values({ monitor_id: Number(id), slot: now })
        .execute();
      const change = { from_status: 'active', to_status: 'error', reason: 'majority-failed', incident: 'a' };
      await db
        .insertInto('transitions')
        .values({ monitor_id: Number(id), ...change, at: now, slot: now, votes: JSON.stringify(votes) })
        .execute();
    });
    const facts = { statusCode: 503, errorMessage: 'status code 503' };
    const voted = { ...vote, endedAt: now, failedSince: now, upSlot: 0, expiresAt: now, ...facts };
    this.api.states.set(Number(id), { status: 'error', votes: [voted] });
    return id;
  }

  /** Creates an object that the declared file owns. */
  async declared(kind: ResourceKind, more: object = {}): Promise<string> {
    const parsed = parseResource(kind, { ...VALID[kind], ...more }, 'api');
    if (!parsed.ok) throw new Error(`${kind} is not valid: ${JSON.stringify(parsed.issues)}`);
    const context = { workspaceId: this.workspaceId, actor: 'file' } as const;
    const id = await this.api.configuration.transaction(context, (change) =>
      change.create(kind, parsed.value, { localName: World.unique() }),
    );
    return String(id);
  }
}
