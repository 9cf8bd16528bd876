import { component, type StatusPageComponent } from './component.ts';
import { componentGroup, type StatusPageComponentGroup } from './component-group.ts';
import type { ResourceDefinition } from './definition.ts';
import { type DnsMonitor, dnsMonitor } from './dns-monitor.ts';
import { type HttpMonitor, httpMonitor } from './http-monitor.ts';
import { type Notification, notification } from './notification.ts';
import { type StatusPage, statusPage } from './status-page.ts';
import { type TcpMonitor, tcpMonitor } from './tcp-monitor.ts';

export type Monitor = HttpMonitor | TcpMonitor | DnsMonitor;

/** Normalized attributes by kind of resource, named as in Terraform and the declared file. */
export type Resources = {
  svc_http_monitor: HttpMonitor;
  svc_tcp_monitor: TcpMonitor;
  svc_dns_monitor: DnsMonitor;
  svc_notification: Notification;
  svc_status_page: StatusPage;
  svc_status_page_component_group: StatusPageComponentGroup;
  svc_status_page_component: StatusPageComponent;
};
export type ResourceKind = keyof Resources;

/** Every kind, in an order in which a resource follows those that it can refer to. */
export const DEFINITIONS: { readonly [K in ResourceKind]: ResourceDefinition } = {
  svc_http_monitor: httpMonitor,
  svc_tcp_monitor: tcpMonitor,
  svc_dns_monitor: dnsMonitor,
  svc_notification: notification,
  svc_status_page: statusPage,
  svc_status_page_component_group: componentGroup,
  svc_status_page_component: component,
};

export const RESOURCE_KINDS = Object.keys(DEFINITIONS) as [ResourceKind, ...ResourceKind[]];

export function isResourceKind(value: string): value is ResourceKind {
  return Object.hasOwn(DEFINITIONS, value);
}

export const MONITOR_KINDS = {
  http: 'svc_http_monitor',
  tcp: 'svc_tcp_monitor',
  dns: 'svc_dns_monitor',
} as const;
