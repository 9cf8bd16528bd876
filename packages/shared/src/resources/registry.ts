import type { z } from 'zod';
import { component, type StatusPageComponent } from './component.ts';
import { componentGroup, type StatusPageComponentGroup } from './component-group.ts';
import type { ResourceDefinition } from './definition.ts';
import { type DnsMonitor, dnsMonitor } from './dns-monitor.ts';
import { type HttpMonitor, httpMonitor } from './http-monitor.ts';
import { type Issue, inputSchema, issuesOf, type Surface } from './input.ts';
import { type Notification, notification } from './notification.ts';
import { type StatusPage, statusPage } from './status-page.ts';
import { type TcpMonitor, tcpMonitor } from './tcp-monitor.ts';

export type { StatusPageComponent } from './component.ts';
export type { StatusPageComponentGroup } from './component-group.ts';
export type { DnsMonitor } from './dns-monitor.ts';
export type { HttpMonitor } from './http-monitor.ts';
export type { Issue, Surface } from './input.ts';
export type { Notification, NotificationOf } from './notification.ts';
export type { StatusPage } from './status-page.ts';
export type { TcpMonitor } from './tcp-monitor.ts';

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

/** The definitions of all kinds. Each kind comes after the kinds that it can refer to. */
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

const schemas = {
  api: schemasFor('api'),
  file: schemasFor('file'),
};

function schemasFor(surface: Surface): { readonly [K in ResourceKind]: z.ZodType<Resources[K]> } {
  return {
    svc_http_monitor: inputSchema(httpMonitor, surface),
    svc_tcp_monitor: inputSchema(tcpMonitor, surface),
    svc_dns_monitor: inputSchema(dnsMonitor, surface),
    svc_notification: inputSchema(notification, surface),
    svc_status_page: inputSchema(statusPage, surface),
    svc_status_page_component_group: inputSchema(componentGroup, surface),
    svc_status_page_component: inputSchema(component, surface),
  };
}

/** The zod schema that validates and normalizes a resource. OpenAPI shows its input side. */
export function resourceSchema<K extends ResourceKind>(kind: K, surface: Surface): z.ZodType<Resources[K]> {
  return schemas[surface][kind];
}

export type Parsed<T> = { ok: true; value: T } | { ok: false; issues: Issue[] };

/** Validates and normalizes a resource that a user wrote. All problems are reported at once. */
export function parseResource<K extends ResourceKind>(
  kind: K,
  input: unknown,
  surface: Surface,
): Parsed<Resources[K]> {
  const parsed = resourceSchema(kind, surface).safeParse(input);
  return parsed.success ? { ok: true, value: parsed.data } : { ok: false, issues: issuesOf(parsed.error) };
}
