import { SvcError } from '@svc/shared/errors.ts';
import type { EndpointState, TestAnswer } from '../../export/metrics-export.ts';
import type { OverdueChannel } from '../../notify/overdue.ts';
import type { Token } from '../../store/tokens.ts';
import type { ApiParts } from '../api-parts.ts';
import { AtOnce } from '../at-once.ts';
import { endpoint, idOf, ok, type ServedEndpoint, serve, workspaceOf } from '../endpoint.ts';
import {
  type EndpointView,
  type OtlpTestView,
  otlpTestView,
  type SystemView,
  systemView,
} from '../export-answers.ts';
import { Problem } from '../problem.ts';
import { serviceState } from '../service-state.ts';

/** At once; one may take two minutes where the endpoint hangs. */
const TESTS_PER_MONITOR = 2;
const TESTS_PER_WORKSPACE = 8;
/** The text that other callers than the operator get for the endpoint of the settings. */
const HIDDEN_ENDPOINT = 'the default of the coordinator';
const HIDDEN_ERROR = "a request to it with the operator's token says why";

type Parts = Pick<
  ApiParts,
  'exports' | 'monitors' | 'overdue' | 'measurements' | 'readiness' | 'recentErrors'
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
      const monitor = monitors.get(id);
      if (monitor?.workspaceId !== workspaceId) {
        throw new Problem('not-found', `there is no monitor ${id}`);
      }
      const bounds = [
        { key: `monitor ${id}`, most: TESTS_PER_MONITOR },
        { key: `workspace ${workspaceId}`, most: TESTS_PER_WORKSPACE },
      ];
      const answer = await atOnce.run('tests of the monitor or workspace', bounds, () =>
        exports.test(id).catch(refuse),
      );
      const isDefault = monitor.declaredExport === null;
      return ok(testViewOf(answer, { isDefault, isOperator: request.token?.isOperator === true }));
    }),
    serve(systemState, (request) => {
      const { token } = request;
      const shown = exports.endpoints().filter((each) => token !== null && isShownTo(token, each));
      const state = serviceState({
        measurements: parts.measurements(),
        parts: parts.readiness(),
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

/** The operator's endpoint, its words, and warnings about his settings are shown to the operator only. */
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
    last_success_at: lastSuccessAt === null ? null : new Date(lastSuccessAt).toISOString(),
    last_error:
      lastError === null ? null : { at: new Date(lastError.at).toISOString(), message: lastError.message },
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
  lanes,
  oldestQueuedAt,
}: OverdueChannel): SystemView['deliveries']['overdue'][number] {
  return {
    notification_id: String(notificationId),
    monitors: lanes,
    oldest_at: new Date(oldestQueuedAt).toISOString(),
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
