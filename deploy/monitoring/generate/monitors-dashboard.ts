import type { Dashboard } from './dashboard.ts';

const OF_MONITOR = '{svc_monitor_name=~"$monitor"}';

/** Monitors, from the metrics that are exported by OTLP, under the names that Prometheus gives them. */
export const MONITORS_DASHBOARD: Dashboard = {
  uid: 'svc-monitors',
  title: 'svc: monitors',
  description: 'Status, checks and durations of monitors, from the metrics that svc exports by OTLP.',
  variables: [
    { name: 'monitor', label: 'Monitor', query: 'label_values(svc_monitor_status_ratio, svc_monitor_name)' },
  ],
  rows: [
    {
      title: 'Now',
      panels: [
        {
          title: 'Down',
          description: 'Monitors whose status is error.',
          type: 'stat',
          unit: 'short',
          redFrom: 1,
          queries: [{ expr: 'sum(svc_monitor_status_ratio{svc_monitor_state="error"})', legend: '' }],
        },
        {
          title: 'Degraded',
          description: 'Monitors whose status is degraded.',
          type: 'stat',
          unit: 'short',
          queries: [{ expr: 'sum(svc_monitor_status_ratio{svc_monitor_state="degraded"})', legend: '' }],
        },
        {
          title: 'Unknown',
          description: 'Monitors that too few regions report on.',
          type: 'stat',
          unit: 'short',
          queries: [{ expr: 'sum(svc_monitor_status_ratio{svc_monitor_state="unknown"})', legend: '' }],
        },
        {
          title: 'Up',
          description: 'Monitors whose status is active.',
          type: 'stat',
          unit: 'short',
          queries: [{ expr: 'sum(svc_monitor_status_ratio{svc_monitor_state="active"})', legend: '' }],
        },
      ],
    },
    {
      title: 'Checks',
      panels: [
        {
          title: 'Uptime of 24 hours',
          description: 'The share of the known time in which the monitor was up. Degraded counts as up.',
          type: 'timeseries',
          unit: 'percentunit',
          queries: [{ expr: `svc_monitor_uptime_ratio${OF_MONITOR}`, legend: '{{svc_monitor_name}}' }],
        },
        {
          title: 'Checks by outcome',
          description: 'Checks per second of all regions.',
          type: 'timeseries',
          unit: 'ops',
          queries: [
            {
              expr: `sum by (svc_check_outcome) (rate(svc_checks_total${OF_MONITOR}[$__rate_interval]))`,
              legend: '{{svc_check_outcome}}',
            },
          ],
        },
        {
          title: 'Share of failed checks by region',
          description: 'If one region alone fails, look at the path from there.',
          type: 'timeseries',
          unit: 'percentunit',
          queries: [
            {
              expr: `sum by (svc_region) (rate(svc_checks_total{svc_monitor_name=~"$monitor",svc_check_outcome="failed"}[$__rate_interval])) / sum by (svc_region) (rate(svc_checks_total${OF_MONITOR}[$__rate_interval]))`,
              legend: '{{svc_region}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Durations',
      panels: [
        {
          title: 'Mean duration by region',
          description: 'Duration of the last attempt of each check.',
          type: 'timeseries',
          unit: 's',
          queries: [
            {
              expr: `sum by (svc_region) (rate(svc_check_duration_seconds_sum${OF_MONITOR}[$__rate_interval])) / sum by (svc_region) (rate(svc_check_duration_seconds_count${OF_MONITOR}[$__rate_interval]))`,
              legend: '{{svc_region}}',
            },
          ],
        },
        {
          title: 'Mean duration by phase',
          description: 'Names, connection, TLS, first byte and transfer.',
          type: 'timeseries',
          unit: 's',
          queries: [
            {
              expr: `sum by (svc_check_phase) (rate(svc_check_phase_duration_seconds_sum${OF_MONITOR}[$__rate_interval])) / sum by (svc_check_phase) (rate(svc_check_phase_duration_seconds_count${OF_MONITOR}[$__rate_interval]))`,
              legend: '{{svc_check_phase}}',
            },
          ],
        },
        {
          title: 'Certificates',
          description: 'Time until the certificate that a region saw last expires.',
          type: 'timeseries',
          unit: 's',
          queries: [
            {
              expr: `min by (svc_monitor_name) (svc_monitor_certificate_remaining_seconds${OF_MONITOR})`,
              legend: '{{svc_monitor_name}}',
            },
          ],
        },
      ],
    },
  ],
};
