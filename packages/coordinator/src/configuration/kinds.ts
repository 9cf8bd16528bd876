import type { ResourceKind, Resources } from '@svc/shared/resources/registry.ts';
import type { ResourceTable } from '../store/resources.ts';

export type { ResourceKind, Resources } from '@svc/shared/resources/registry.ts';

/** Normalized attributes of one kind. */
export type AttributesOf<K extends ResourceKind> = Resources[K];

export type MonitorKind = 'svc_http_monitor' | 'svc_tcp_monitor' | 'svc_dns_monitor';

export function isMonitorKind(kind: ResourceKind): kind is MonitorKind {
  return TABLE_OF[kind] === 'monitors';
}

const TABLE_OF = {
  svc_http_monitor: 'monitors',
  svc_tcp_monitor: 'monitors',
  svc_dns_monitor: 'monitors',
  svc_notification: 'notifications',
  svc_status_page: 'status_pages',
  svc_status_page_component_group: 'component_groups',
  svc_status_page_component: 'components',
} as const satisfies { [K in ResourceKind]: ResourceTable };

/** For messages: `monitor 12`. */
export const NOUN_OF: { readonly [T in ResourceTable]: string } = {
  monitors: 'monitor',
  notifications: 'notification',
  status_pages: 'status page',
  component_groups: 'component group',
  components: 'component',
};
