import { counter, gauge } from './instrument.ts';

/**
 * Counters of the export of monitors' metrics over OTLP. The counters of a
 * shard count from the moment when the coordinator began to lead the shard.
 */
export const EXPORT_COUNTERS = {
  points: counter(
    'svc_otlp_points_total',
    'Points of monitors that were exported over OTLP, or were to be.',
    {
      label: {
        name: 'outcome',
        values: {
          taken: 'The endpoint took it.',
          rejected: 'The endpoint took the request, and not this point.',
          dropped: 'The endpoint refused the request, or took none for so long that it was thrown away.',
        },
      },
      advice: 'Where `rejected` or `dropped` grows: `GET /v1/system` has what each endpoint answered.',
    },
  ),
};

/** Gauges of the export of monitors' metrics over OTLP. They are measured when they are read. */
export const EXPORT_GAUGES = {
  endpoints: gauge('svc_otlp_endpoints', 'Endpoints that metrics of monitors are exported to over OTLP.', {
    label: {
      name: 'state',
      values: {
        working: 'It took the last request, or none was sent yet.',
        failing: 'It did not take the last request.',
      },
    },
    advice: 'Where `failing` is above 0 for more than some minutes: `GET /v1/system` has the reason.',
  }),
  buffered: gauge('svc_otlp_buffered_bytes', 'Requests that endpoints have not taken yet, compressed.', {
    unit: 'bytes',
  }),
};
