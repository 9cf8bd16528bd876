import { VALID } from './resources.ts';

/**
 * One independent entry of each kind, and entries that refer to each other and insert `env.NAME` and
 * `file.token`.
 */
export const DECLARED_SAMPLE = {
  ...Object.fromEntries(
    Object.entries(VALID)
      .filter(([kind]) => !kind.startsWith('svc_status_page_'))
      .map(([kind, resource]) => [kind, { a: resource, 'another-1': resource }]),
  ),
  svc_notification: {
    n: {
      name: `\${env.NAME} "quoted" \\ $\${`,
      provider_type: 'webhook',
      webhook: { endpoint: 'https://a.example', headers: [{ key: 'A', value: `\${file.token}` }] },
      monitor_ids: [`\${svc_tcp_monitor.a.id}`, `\${svc_http_monitor.another-1.id}`],
    },
  },
  svc_status_page: { p: { title: 'ü😀', slug: 'p' } },
  svc_status_page_component: {
    c: { type: 'static', name: 'c', page_id: `\${svc_status_page.p.id}` },
  },
};
