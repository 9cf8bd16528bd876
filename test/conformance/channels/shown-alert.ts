import type { Alert } from '@svc/shared/channels/alert.ts';

/** The alert of the pages in `docs/channels/`. */
export const SHOWN_ALERT: Alert = {
  monitor: { id: 12, name: 'Shop', url: 'https://shop.example/health', type: 'http' },
  status: 'error',
  cronTimestamp: Date.UTC(2026, 0, 1),
  statusCode: 503,
  latency: 123.4,
  degradedAt: 800,
  errorMessage: 'expected a status code from 200 to 299, saw 503',
  at: Date.UTC(2026, 0, 1, 0, 0, 1),
  since: Date.UTC(2026, 0, 1, 0, 0, 1),
  reason: 'majority-failed',
  incident: '5f0c2a9be1d74836:12:7d9f3c52-0b1e-4a86-9c3d-2f6f0e8a1b47',
  regions: [
    { region: 'hosta-fra', outcome: 'failed' },
    { region: 'hostb-par', outcome: 'failed' },
    { region: 'hostc-us-east4', outcome: 'passed' },
  ],
};
