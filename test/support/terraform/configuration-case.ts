import type { ResourceKind } from '@svc/shared/resources/registry.ts';

/** A block of a Terraform configuration in the form of its JSON syntax: nested blocks are arrays. */
export type ConfigurationCase = {
  readonly name: string;
  readonly of: 'resource' | 'data' | 'provider';
  /** `svc_http_monitor`; `svc` for the provider. */
  readonly type: string;
  readonly body: Readonly<Record<string, unknown>>;
};

/** The smallest valid body of each resource. */
const SMALLEST: Readonly<Record<ResourceKind, Readonly<Record<string, unknown>>>> = {
  svc_http_monitor: { name: 'a', url: 'https://example.com', periodicity: '1m' },
  svc_tcp_monitor: { name: 'a', uri: 'example.com:443', periodicity: '1m' },
  svc_dns_monitor: { name: 'a', uri: 'example.com', periodicity: '1m' },
  svc_notification: { provider_type: 'email', email: [{ email: 'a@example.com' }] },
  svc_status_page: { title: 'a', slug: 'a' },
  svc_status_page_component: { page_id: '1', type: 'static' },
  svc_status_page_component_group: { page_id: '1', name: 'a' },
};

/** The smallest body with other members; `undefined` removes one. */
export function bodyOf(kind: ResourceKind, members: Readonly<Record<string, unknown>>) {
  const entries = Object.entries({ ...SMALLEST[kind], ...members });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** A channel with only the block of its kind. */
export function channel(kind: string, ...blocks: readonly object[]): Readonly<Record<string, unknown>> {
  return { provider_type: kind, email: undefined, [kind]: blocks };
}
