import { SvcError } from '@svc/shared/errors.ts';
import type { Measurement } from '@svc/shared/metrics/values.ts';
import type { RecentError } from '@svc/shared/recent-errors.ts';
import { type Region, regionId } from '@svc/shared/regions.ts';
import { VERSION } from '@svc/shared/version.ts';
import { z } from 'zod';
import type { OverdueChannel } from '../../alerts/overdue.ts';
import type { EndpointState, TestAnswer } from '../../export/metrics-export.ts';
import type { Token } from '../../store/access/tokens.ts';
import { MONITOR_STATUSES } from '../../verdict/monitor.ts';
import { id, instant } from '../answers.ts';
import { type ApiParts, isLedElsewhere, type LedShard } from '../api-parts.ts';
import { AtOnce } from '../at-once.ts';
import { instantText, instantTextOrNull } from '../body-members.ts';
import { endpoint, idOf, ok, type ServedEndpoint, serve, workspaceOf } from '../endpoint.ts';
import { Problem } from '../problem.ts';

const seconds = z.number().nullable();

/**
 * Schema of the state of this coordinator. While it leads no
 * shard, `monitors` and `queues` are null, and `streams` is empty.
 */
const serviceStateView = z.object({
  version: z.string(),
  leading: z.boolean().meta({
    description:
      'Whether this coordinator leads at least one shard. The monitors of a shard without a leader are not checked.',
  }),
  another_leads: z.boolean().meta({
    description:
      'Whether another coordinator leads at least one shard. A coordinator that leads none serves the API, and takes over when another one ends.',
  }),
  shards: z
    .array(
      z.object({
        id: z.number().int(),
        led: z.boolean().meta({ description: 'Whether a coordinator leads the shard.' }),
        here: z.boolean().meta({ description: 'Whether this coordinator leads it.' }),
        holder: z.string().nullable().meta({
          description: 'Who leads it. Only the token of the operator sees this.',
        }),
      }),
    )
    .meta({
      description:
        'The parts of the monitors, each with its leader. Empty while the database cannot be read.',
    }),
  parts: z
    .record(z.string(), z.boolean())
    .meta({ description: 'The parts that `/readyz` names, and whether they work.' }),
  monitors: z.record(z.enum(MONITOR_STATUSES), z.number().int()).nullable().meta({
    description: 'Monitors of all workspaces by status, in the shards that this coordinator leads.',
  }),
  queues: z
    .object({
      jobs_in_flight: z
        .number()
        .int()
        .meta({ description: 'Jobs that regions have and did not report yet.' }),
      events: z.number().int().meta({ description: 'Events that wait in memory to be recorded.' }),
      results_age_seconds: seconds.meta({
        description: 'How long the oldest result has waited to be recorded.',
      }),
      deliveries: z
        .number()
        .int()
        .meta({ description: 'Pairs of monitor and channel with alerts that wait to be delivered.' }),
      rollups_behind_seconds: seconds.meta({
        description:
          'How long the oldest complete hour of results has waited to be rolled up. 0: none waits.',
      }),
    })
    .nullable(),
  streams: z
    .array(
      z.object({
        region: regionId,
        bytes: z.number().int(),
        max_bytes: z.number().int().meta({ description: 'Beyond it the oldest results are lost.' }),
      }),
    )
    .meta({ description: 'The streams of results in NATS, as they were up to 10 s ago.' }),
  errors: z
    .array(
      z.object({
        message: z.string(),
        detail: z.string(),
        count: z.number().int(),
        first_at: instant,
        last_at: instant,
      }),
    )
    .meta({
      description:
        'The last errors and alarms of the log since the start, the newest first. Only the token of the operator sees them.',
    }),
});
type ServiceState = z.infer<typeof serviceStateView>;

type ServiceStateParts = {
  readonly measurements: readonly Measurement[];
  readonly parts: Readonly<Record<string, boolean>>;
  readonly errors: readonly RecentError[];
  readonly shards: readonly LedShard[];
  /** Whether the answer may name machines. */
  readonly isOperator: boolean;
};

/**
 * Makes the state of this coordinator. All numbers are read from
 * the metrics, so that the API and the metrics never differ.
 */
function serviceState({ measurements, parts, errors, shards, isOperator }: ServiceStateParts): ServiceState {
  const found = new Map(measurements.map((each) => [each.instrument.name, each.points]));
  // An instrument has points for each shard that this coordinator leads.
  const values = (name: string): number[] =>
    (found.get(name) ?? []).flatMap(({ value }) => (typeof value === 'number' ? [value] : []));
  const sum = (name: string): number => values(name).reduce((total, each) => total + each, 0);
  const largest = (name: string): number | null => {
    const known = values(name).filter((each) => !Number.isNaN(each));
    return known.length === 0 ? null : Math.max(...known);
  };
  const byLabel = (name: string, label: string): Map<string, number> => {
    const sums = new Map<string, number>();
    for (const { labels, value } of found.get(name) ?? []) {
      const key = labels[label] ?? '';
      if (typeof value === 'number') sums.set(key, (sums.get(key) ?? 0) + value);
    }
    return sums;
  };
  const isLeading = sum('svc_leading') === 1;
  const leads = isLeading && found.has('svc_jobs_in_flight');
  const limits = byLabel('svc_stream_limit_bytes', 'region');
  return {
    version: VERSION,
    leading: isLeading,
    another_leads: isLedElsewhere(shards),
    shards: shards.map(({ id, holder, isHere }) => ({
      id,
      led: holder !== null,
      here: isHere,
      holder: isOperator ? holder : null,
    })),
    parts: { ...parts },
    monitors: leads
      ? (Object.fromEntries(byLabel('svc_monitors', 'status')) as NonNullable<ServiceState['monitors']>)
      : null,
    queues: leads
      ? {
          jobs_in_flight: sum('svc_jobs_in_flight'),
          events: sum('svc_backlog_events'),
          results_age_seconds: largest('svc_backlog_age_seconds'),
          deliveries: sum('svc_delivery_lanes'),
          rollups_behind_seconds: largest('svc_rollups_behind_seconds'),
        }
      : null,
    streams: [...byLabel('svc_stream_bytes', 'region')].map(([region, bytes]) =>
      streamOf(region, bytes, limits),
    ),
    errors: errors.map(({ message, detail, count, firstAt, lastAt }) => ({
      message,
      detail,
      count,
      first_at: instantText(firstAt),
      last_at: instantText(lastAt),
    })),
  };
}

function streamOf(
  region: Region,
  bytes: number,
  limits: ReadonlyMap<string, number>,
): ServiceState['streams'][number] {
  return { region, bytes, max_bytes: limits.get(region) ?? 0 };
}

/* The answers about the export over OTLP. Instants are texts. Values that are not set are null. */

const endpointView = z.object({
  endpoint: z.string().meta({ description: 'Full URL, without its query.' }),
  default: z
    .boolean()
    .meta({ description: 'Whether it is the endpoint of the settings of the coordinator.' }),
  monitors: z.number().int().meta({ description: 'Number of monitors that are exported to this endpoint.' }),
  encoding: z
    .enum(['json', 'protobuf'])
    .meta({ description: 'Encoding of the last collection; `json` at first.' }),
  failing: z.boolean().meta({ description: 'Whether the endpoint did not accept the last request.' }),
  last_success_at: instant.nullable(),
  last_error: z
    .object({ at: instant, message: z.string() })
    .nullable()
    .meta({ description: 'The last error. It stays when the endpoint works again.' }),
  points_taken: z.number().int().meta({ description: 'Points since the start of the export.' }),
  points_rejected: z
    .number()
    .int()
    .meta({ description: 'Points that the endpoint rejected in requests that it accepted.' }),
  points_dropped: z.number().int().meta({ description: 'Points that were dropped.' }),
  buffered_requests: z.number().int().meta({ description: 'Number of requests that will be sent again.' }),
  buffered_points: z.number().int(),
  buffered_bytes: z.number().int().meta({ description: 'Bytes of these requests, compressed.' }),
});
type EndpointView = z.infer<typeof endpointView>;

const overdueChannel = z.object({
  notification_id: id,
  monitors: z.number().int().meta({ description: 'Monitors whose alerts wait.' }),
  oldest_at: instant.meta({ description: 'When the oldest alert was queued or sent again (RFC 3339).' }),
});

const systemView = serviceStateView
  .extend({
    deliveries: z.object({ overdue: z.array(overdueChannel) }).meta({
      description:
        'The delivery of alerts: channels with an alert that has waited for two minutes or more. Empty at a coordinator that does not lead shard 0.',
    }),
    export: z.object({ endpoints: z.array(endpointView) }).meta({
      description:
        'The export over OTLP of the monitors in the shards that this coordinator leads. Empty while it leads none, and in the first second of the export.',
    }),
  })
  .meta({
    examples: [
      {
        version: '0.1.0',
        leading: true,
        another_leads: false,
        shards: [{ id: 0, led: true, here: true, holder: 'monitor-1, process 812' }],
        parts: { nats: true, database: true },
        monitors: { active: 118, degraded: 1, error: 1, unknown: 0 },
        queues: {
          jobs_in_flight: 12,
          events: 0,
          results_age_seconds: 0.2,
          deliveries: 0,
          rollups_behind_seconds: 0,
        },
        streams: [{ region: 'hosta-fra', bytes: 81_920, max_bytes: 715_827_882 }],
        errors: [
          {
            message: 'a region that monitors declare has lost its last agent',
            detail: 'region=hosta-fra',
            count: 1,
            first_at: '2026-11-22T10:00:00.000Z',
            last_at: '2026-11-22T10:00:00.000Z',
          },
        ],
        deliveries: {
          overdue: [{ notification_id: '3', monitors: 2, oldest_at: '2026-11-22T10:00:00.000Z' }],
        },
        export: {
          endpoints: [
            {
              endpoint: 'https://otlp.example.com/v1/metrics',
              default: false,
              monitors: 12,
              encoding: 'protobuf',
              failing: true,
              last_success_at: '2026-11-22T10:00:00.000Z',
              last_error: { at: '2026-11-22T10:01:00.000Z', message: 'answered 503' },
              points_taken: 41_520,
              points_rejected: 0,
              points_dropped: 0,
              buffered_requests: 1,
              buffered_points: 346,
              buffered_bytes: 4_210,
            },
          ],
        },
      },
    ],
  });
export type SystemView = z.infer<typeof systemView>;

const otlpTestView = z
  .object({
    delivered: z.boolean().meta({ description: 'The endpoint took all points.' }),
    endpoint: z.string().meta({
      description:
        'Full URL, without its query. Only the token of the operator sees the default endpoint of the settings.',
    }),
    points: z.number().int().meta({ description: 'Points that were sent.' }),
    answers: z
      .array(
        z.object({
          encoding: z.enum(['json', 'protobuf']),
          taken: z.boolean(),
          points_rejected: z.number().int(),
          error: z.string().nullable().meta({ description: 'What the endpoint answered.' }),
        }),
      )
      .meta({
        description: 'The answer to one request, or to two if the endpoint refused the first encoding.',
      }),
    warnings: z.array(z.string()).meta({
      description:
        'Points that a receiver may accept and still drop. Only the token of the operator sees these warnings.',
    }),
    duration: z.number().meta({ description: 'Duration, ms.' }),
  })
  .meta({
    examples: [
      {
        delivered: true,
        endpoint: 'https://otlp.example.com/v1/metrics',
        points: 24,
        answers: [
          { encoding: 'json', taken: false, points_rejected: 0, error: 'answered 415' },
          { encoding: 'protobuf', taken: true, points_rejected: 0, error: null },
        ],
        warnings: [],
        duration: 18.2,
      },
    ],
  });
type OtlpTestView = z.infer<typeof otlpTestView>;

/**
 * Maximum numbers of simultaneous tests of one monitor, and of all monitors of one workspace. A test
 * sends one or two requests. Each may take 10 s, or up to a minute if OTEL_EXPORTER_OTLP_TIMEOUT says so.
 */
const TESTS_PER_MONITOR = 2;
const TESTS_PER_WORKSPACE = 8;
/**
 * Text that stands in place of the URL of the operator's default endpoint for all callers but the operator.
 */
const HIDDEN_ENDPOINT = 'the default of the coordinator';
const HIDDEN_ERROR = "a request to it with the operator's token says why";

type Parts = Pick<
  ApiParts,
  'exports' | 'monitors' | 'overdue' | 'measurements' | 'readiness' | 'recentErrors' | 'shards'
>;

const testExport = endpoint({
  method: 'POST',
  path: '/v1/monitors/{id}/otlp-test',
  access: 'write',
  tag: 'Monitors',
  summary: 'Export the metrics of the monitor to its OTLP endpoint, now',
  description:
    'Sends the present values once, and answers the reply of the endpoint. If the endpoint refuses the encoding (400 or 415), the other one is tried, as in exports.',
  answers: { 200: { description: 'The reply of the endpoint, good or bad.', schema: otlpTestView } },
  problems: ['conflict'],
});

export const systemState = endpoint({
  method: 'GET',
  path: '/v1/system',
  access: 'read',
  tag: 'System',
  summary:
    'State of the coordinator, its queues, the streams of results, the delivery of alerts and the export over OTLP',
  description:
    'The answer has the channels and the endpoints of the workspace. Only the token of the operator sees the default endpoint of the settings and the last errors of the log.',
  answers: { 200: { description: 'The state of the service.', schema: systemView } },
});

export function exportEndpoints(parts: Parts): ServedEndpoint[] {
  const { exports, monitors, overdue } = parts;
  const atOnce = new AtOnce();
  return [
    serve(testExport, async (request) => {
      const id = idOf(request);
      const workspaceId = workspaceOf(request);
      const monitor = (await monitors.findMonitors([id])).get(id);
      if (monitor?.workspaceId !== workspaceId) {
        throw new Problem('not-found', `there is no monitor ${id}`);
      }
      const bounds = [
        { key: `monitor ${id}`, most: TESTS_PER_MONITOR },
        { key: `workspace ${workspaceId}`, most: TESTS_PER_WORKSPACE },
      ];
      const answer = await atOnce.runBounded('tests of the monitor or workspace', bounds, () =>
        exports.testExport(id).catch(refuse),
      );
      const isDefault = monitor.declaredExport === null;
      return ok(testViewOf(answer, { isDefault, isOperator: request.token?.isOperator === true }));
    }),
    serve(systemState, async (request) => {
      const { token } = request;
      const shown = exports.endpoints().filter((each) => token !== null && isShownTo(token, each));
      const state = serviceState({
        measurements: parts.measurements(),
        parts: parts.readiness(),
        shards: await parts.shards(),
        isOperator: token?.isOperator === true,
        errors: token?.isOperator === true ? (parts.recentErrors?.() ?? []) : [],
      });
      const late = overdue().filter(({ workspaceId }) => workspaceId === workspaceOf(request));
      return ok({
        ...state,
        deliveries: { overdue: late.map(overdueView) },
        export: { endpoints: shown.map(viewOf) },
      } satisfies SystemView);
    }),
  ];
}

/**
 * Makes the answer to a test. The warnings are about settings of the operator, so only the
 * operator sees them. Of the default endpoint, only the operator sees the URL and the errors.
 */
function testViewOf(
  { url, points, answers, durationMs, warnings }: TestAnswer,
  { isDefault, isOperator }: { readonly isDefault: boolean; readonly isOperator: boolean },
): OtlpTestView {
  const isHidden = isDefault && !isOperator;
  return {
    delivered: answers.some(({ isTaken, rejected }) => isTaken && rejected === 0),
    endpoint: isHidden ? HIDDEN_ENDPOINT : url,
    points,
    answers: answers.map(({ encoding, isTaken, rejected, error }) => ({
      encoding,
      taken: isTaken,
      points_rejected: rejected,
      error: isHidden && error !== null ? HIDDEN_ERROR : error,
    })),
    warnings: isOperator ? [...warnings] : [],
    duration: Math.round(durationMs * 10) / 10,
  };
}

function isShownTo({ workspaceId, isOperator }: Token, state: EndpointState): boolean {
  return state.workspaceId === null ? isOperator : state.workspaceId === workspaceId;
}

function viewOf(state: EndpointState): EndpointView {
  const { lastSuccessAt, lastError } = state;
  return {
    endpoint: state.url,
    default: state.workspaceId === null,
    monitors: state.monitors,
    encoding: state.encoding,
    failing: state.isFailing,
    last_success_at: instantTextOrNull(lastSuccessAt),
    last_error: lastError === null ? null : { at: instantText(lastError.at), message: lastError.message },
    points_taken: state.taken,
    points_rejected: state.rejected,
    points_dropped: state.dropped,
    buffered_requests: state.bufferedRequests,
    buffered_points: state.bufferedPoints,
    buffered_bytes: state.bufferedBytes,
  };
}

function overdueView({
  notificationId,
  pairs,
  oldestQueuedAt,
}: OverdueChannel): SystemView['deliveries']['overdue'][number] {
  return {
    notification_id: String(notificationId),
    monitors: pairs,
    oldest_at: instantText(oldestQueuedAt),
  };
}

function refuse(error: unknown): never {
  if (error instanceof SvcError && error.code === 'not-exported')
    throw new Problem('conflict', error.message);
  if (error instanceof SvcError && error.code === 'export-unavailable') {
    throw new Problem('unavailable', error.message, { headers: { 'retry-after': '5' } });
  }
  throw error;
}
