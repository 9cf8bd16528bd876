import type { Case } from './case.ts';
import { API_VERDICTS } from './vendor-verdicts.ts';

const KEY = '0123456789abcdef0123456789s3cret';

export const incidentACase: Case<'incident_a'> = {
  settings: () => ({ integration_key: KEY }),
  operator: (url) => ({ incidentABaseUrl: `${url}/` }),
  secrets: [KEY],
  path: '/v2/enqueue',
  payload: {
    routing_key: KEY,
    dedup_key: '0b3c:12:1767225600000',
    event_action: 'trigger',
    payload: {
      summary: 'Error: Shop "größte" \u{1F6D2}: status code 503, expected 200',
      source: 'https://shop.example/health?…',
      severity: 'critical',
      timestamp: '2026-01-01T00:00:01.234Z',
      component: 'Shop "größte" \u{1F6D2}',
      class: 'majority-failed',
      custom_details: {
        Problem: 'status code 503, expected 200',
        'Status code': '503',
        Latency: '123.4 ms',
        'HTTP target': 'https://shop.example/health?…',
        Regions: '1 of 1 (hosta-fra)',
        'Failing since': '2026-01-01 00:00:01 UTC',
      },
    },
    links: [{ href: 'https://svc.example/monitors/12/incident', text: 'Monitor' }],
    client: 'svc',
    client_url: 'https://svc.example/monitors/12/incident',
  },
  taken: 202,
  verdicts: { ...API_VERDICTS, 202: 'delivered' },
};
