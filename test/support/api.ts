import { urlRules } from '@svc/coordinator/alerts/declared-urls.ts';
import { Deliverer } from '@svc/coordinator/alerts/deliverer.ts';
import { createManualDeliveries } from '@svc/coordinator/alerts/manual-deliveries.ts';
import { channelProblems, createSender, type SenderParts } from '@svc/coordinator/alerts/sender.ts';
import { storedChannels } from '@svc/coordinator/alerts/stored-channels.ts';
import {
  type ApiParts,
  createApiCounters,
  type LiveAgent,
  monitorsIn,
} from '@svc/coordinator/api/api-parts.ts';
import { type Api, createApi } from '@svc/coordinator/api/server.ts';
import { Incidents } from '@svc/coordinator/declaration/notes/incidents.ts';
import { MaintenanceWindows } from '@svc/coordinator/declaration/notes/maintenance.ts';
import { type EndpointState, ExportTestError } from '@svc/coordinator/export/metrics-export.ts';
import { createHttpPost } from '@svc/coordinator/outgoing/http-post.ts';
import { createPageDomains } from '@svc/coordinator/pages/domains/domains.ts';
import { announceRemoval } from '@svc/coordinator/pages/subscribers/window-announcements.ts';
import { createSites } from '@svc/coordinator/serving.ts';
import { Tokens } from '@svc/coordinator/store/access/tokens.ts';
import type { StoreWorkers } from '@svc/coordinator/store/sqlite/store-thread.ts';
import type { MonitorStatus } from '@svc/coordinator/verdict/monitor.ts';
import type { Vote } from '@svc/coordinator/verdict/status.ts';
import { createEgressGuard } from '@svc/shared/egress.ts';
import { API_COUNTERS } from '@svc/shared/metrics/serving-instruments.ts';
import { measurementsOf } from '@svc/shared/metrics/values.ts';
import { type Region, regionTexts } from '@svc/shared/regions.ts';
import { Secret } from '@svc/shared/secret.ts';
import { type Dispatcher, request } from 'undici';
import { loopbackParts } from './channel-sending.ts';
import { type ConfiguredStore, configuredStore, DECLARED_FILE, silentLog } from './configured-store.ts';
import { OPERATOR_VALUES } from './operator-values.ts';
import { TEST_IDS } from './test-ids.ts';

export type ApiAnswer = { status: number; headers: Headers; body: unknown };

export type RunningApi = ConfiguredStore & {
  readonly url: string;
  readonly deliverer: Deliverer;
  readonly tokens: Tokens;
  /** Secrets of the operator's token and of a read token of the workspace `default`. */
  readonly operator: string;
  readonly reader: string;
  readonly states: Map<number, { status: MonitorStatus; votes: readonly Vote[] }>;
  readonly agents: Map<Region, LiveAgent[]>;
  /** Sends a request, by default with the operator's token and JSON. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<ApiAnswer>;
  /** Creates a resource and returns its id. Rejects when the API refuses it. */
  create(path: string, body: object): Promise<string>;
};

/** Key of the tokens of visitors of status pages. */
export const VISITOR_KEY = new Secret(new Uint8Array(32).fill(7));

/** Name of the monitor that is exported to an endpoint of the operator. */
export const EXPORTED_BY_DEFAULT = 'Exported by default';

/** The state of the export, which does not run with this API. */
const ENDPOINT: EndpointState = {
  key: 'k',
  url: 'https://otlp.example.com/v1/metrics',
  workspaceId: 1,
  monitors: 1,
  encoding: 'json',
  lastSuccessAt: Date.UTC(2026, 0, 1),
  lastError: { at: Date.UTC(2026, 0, 1), message: 'answered 503' },
  isFailing: false,
  taken: 8,
  rejected: 0,
  dropped: 0,
  bufferedRequests: 0,
  bufferedPoints: 0,
  bufferedBytes: 0,
};
const TAKEN = { encoding: 'json', isTaken: true, rejected: 0, error: null } as const;

/**
 * The API on a free port over a new database, with all parts behind it except dispatch.
 *
 * @param sending how alerts and mails are sent
 * @param workers workers of the store; left out: the thread of the test
 */
export async function startApi(
  more: Partial<ApiParts> = {},
  sending: Partial<SenderParts> = {},
  workers?: StoreWorkers,
): Promise<RunningApi> {
  const configured = await configuredStore(workers);
  const { store, secrets, clock, workspaceId } = configured;
  const tokens = await Tokens.load(store);
  const operator = 'operator-token-of-the-tests';
  await tokens.setOperatorTokens(workspaceId, [operator], clock.wall());
  const reader = await tokens.create({ workspaceId, name: 'reader', scope: 'read' }, clock.wall());
  const guard = createEgressGuard({ base: 'channel', deny: [], allow: ['127.0.0.1'] });
  const deliverer = new Deliverer({
    store,
    secrets,
    ids: TEST_IDS,
    clock,
    log: silentLog,
    send: createSender(loopbackParts({ post: createHttpPost({ clock, guard }), ...sending })),
    source: storedChannels(store, secrets),
    publicUrl: 'http://svc.example',
  });
  await deliverer.start();
  const states: RunningApi['states'] = new Map();
  const agents: RunningApi['agents'] = new Map();
  const publicUrl = 'http://svc.example';
  const counters = createApiCounters();
  const domains = createPageDomains(
    {
      store,
      clock,
      log: silentLog,
      ask: async (domain) => ({ aliases: domain.startsWith('here.') ? ['svc.example'] : [], addresses: [] }),
      resolve: async () => [{ address: '192.0.2.1', family: 4 }],
    },
    publicUrl,
  );
  const api: Api = createApi({
    listen: { host: '127.0.0.1', port: 0 },
    publicUrl,
    ownRegions: [],
    store,
    secrets,
    reading: configured.reading,
    declaredFile: DECLARED_FILE,
    tokens,
    configuration: configured.configuration,
    maintenance: new MaintenanceWindows({
      store,
      effects: configured.effects,
      clock,
      onRemoval: announceRemoval,
    }),
    incidents: new Incidents({ store, clock }),
    monitors: monitorsIn(configured.monitors, states),
    agents: {
      agentsOf: (region) => agents.get(region) ?? [],
      liveRegions: () => [...agents.keys()],
    },
    shards: async () => [{ id: 0, holder: 'this one', isHere: true }],
    checks: { runNow: async () => [] },
    whatIfs: { compare: async () => null },
    deliveries: createManualDeliveries({ store, clock, deliverer, publicUrl }),
    overdue: () => [{ notificationId: 3, workspaceId, pairs: 2, oldestQueuedAt: clock.wall() - 180_000 }],
    exports: {
      endpoints: () => [{ ...ENDPOINT, workspaceId }],
      async testExport(id) {
        const monitor = configured.monitors.get(id);
        const hasOwn = (monitor?.declaredExport ?? null) !== null;
        if (!hasOwn && monitor?.name !== EXPORTED_BY_DEFAULT)
          throw new ExportTestError('not-exported', 'nothing is exported here');
        return { url: ENDPOINT.url, points: 8, durationMs: 1, warnings: [], answers: [TAKEN] };
      },
    },
    declaration: () => null,
    channelProblem: channelProblems({
      operator: OPERATOR_VALUES,
      urls: urlRules({ channelEgressAllow: ['127.0.0.1'], chatHosts: ['*'] }),
    }),
    guard: configured.guard,
    domains,
    visitorKey: VISITOR_KEY,
    readiness: () => ({ database: true }),
    counters,
    measurements: () => measurementsOf(API_COUNTERS, counters, 0),
    metricsToken: null,
    sites: (calls) =>
      createSites(
        {
          ...configured,
          tokens,
          domains,
          publicUrl,
          regionText: regionTexts(more.ownRegions ?? []),
          slotNow: () => clock.wall(),
          visitorKey: VISITOR_KEY,
          canMail: true,
          pageMailQueued: (queued) => deliverer.deliverQueued(queued),
          log: silentLog,
        },
        calls,
      ),
    clock,
    slotNow: () => clock.wall(),
    log: silentLog,
    ...more,
  });
  async function dispose(): Promise<void> {
    await api.stop();
    await deliverer.stop();
    await configured.dispose();
  }
  const { url } = await api.start().catch(async (error: unknown) => {
    await dispose();
    throw error;
  });

  async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    // `fetch` would take a third more CPU time (0.5 ms), for
    // its streams, and tests make thousands of requests.
    const response = await request(`${url}${path}`, {
      method: method as Dispatcher.HttpMethod,
      headers: {
        accept: '*/*',
        authorization: `Bearer ${operator}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.body.text();
    const answered = headersOf(response.headers);
    const isJson = answered.get('content-type')?.includes('json') === true;
    return { status: response.statusCode, headers: answered, body: isJson ? JSON.parse(text) : text };
  }

  return {
    ...configured,
    url,
    deliverer,
    tokens,
    operator,
    reader: reader.secret.reveal(),
    states,
    agents,
    call,
    async create(path, body) {
      const answer = await call('POST', path, body);
      if (answer.status === 201) return (answer.body as { id: string }).id;
      throw new Error(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    },
    dispose,
  };
}

function headersOf(received: Readonly<Record<string, string | string[] | undefined>>): Headers {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(received)) {
    for (const value of [values].flat()) headers.append(name, value);
  }
  return headers;
}
