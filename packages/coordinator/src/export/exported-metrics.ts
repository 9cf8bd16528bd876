/** A metric that is exported about monitors. A test compares it with `docs/metrics.md`. */
export type ExportedMetric = {
  readonly name: string;
  /** Unit in the notation of UCUM. */
  readonly unit: string;
  readonly description: string;
  readonly kind: 'sum' | 'gauge' | 'histogram';
};

/** All metrics, in their order within a request. */
export const EXPORTED_METRICS = {
  checks: {
    name: 'svc.checks',
    unit: '{check}',
    description: 'Checks that were run, by outcome.',
    kind: 'sum',
  },
  duration: {
    name: 'svc.check.duration',
    unit: 's',
    description: 'How long the last attempt of a check took.',
    kind: 'histogram',
  },
  phase: {
    name: 'svc.check.phase.duration',
    unit: 's',
    description: 'How long the last attempt of a check was in a phase.',
    kind: 'histogram',
  },
  status: {
    name: 'svc.monitor.status',
    unit: '1',
    description: '1 for the status that the monitor has, 0 for the others.',
    kind: 'gauge',
  },
  uptime: {
    name: 'svc.monitor.uptime',
    unit: '1',
    description: 'Share of the known time of the last 24 hours in which the monitor was up; degraded is up.',
    kind: 'gauge',
  },
  certificate: {
    name: 'svc.monitor.certificate.remaining',
    unit: 's',
    description: 'Time until the certificate of the target expires; negative: it has expired.',
    kind: 'gauge',
  },
} as const satisfies Readonly<Record<string, ExportedMetric>>;

export type MetricKey = keyof typeof EXPORTED_METRICS;

/** Names of attributes. Names without `svc.` come from OpenTelemetry's semantic conventions. */
export const ATTRIBUTE = {
  monitorId: 'svc.monitor.id',
  monitorName: 'svc.monitor.name',
  monitorKind: 'svc.monitor.kind',
  target: 'svc.monitor.target',
  state: 'svc.monitor.state',
  region: 'svc.region',
  outcome: 'svc.check.outcome',
  phase: 'svc.check.phase',
  statusCode: 'http.response.status_code',
  errorType: 'error.type',
  overflow: 'otel.metric.overflow',
} as const;
