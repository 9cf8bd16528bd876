import type { z } from 'zod';
import { component, type StatusPageComponent } from './component.ts';
import { componentGroup, type StatusPageComponentGroup } from './component-group.ts';
import type { ResourceDefinition } from './definition.ts';
import { type Issue, inputSchema, issuesOf, type Surface } from './input.ts';
import { forMonitors, type KindOfType, MONITORS, type Monitors } from './monitors.ts';
import { type Notification, notification } from './notification.ts';
import { type StatusPage, statusPage } from './status-page.ts';

export type { StatusPageComponent } from './component.ts';
export type { StatusPageComponentGroup } from './component-group.ts';
export type { DnsMonitor } from './dns-monitor.ts';
export type { HttpMonitor } from './http-monitor.ts';
export type { Issue, Surface } from './input.ts';
export { MONITOR_KINDS, type MonitorKind } from './monitors.ts';
export type { Notification, NotificationOf } from './notification.ts';
export type { StatusPage } from './status-page.ts';
export type { TcpMonitor } from './tcp-monitor.ts';

export type Monitor = Monitors[keyof Monitors];

type MonitorResources = { [T in keyof Monitors as KindOfType<T>]: Monitors[T] };

/** Normalized attributes by kind of resource, named as in Terraform and the declared file. */
export interface Resources extends MonitorResources {
  svc_notification: Notification;
  svc_status_page: StatusPage;
  svc_status_page_component_group: StatusPageComponentGroup;
  svc_status_page_component: StatusPageComponent;
}
export type ResourceKind = keyof Resources;

/** The definitions of all kinds. Each kind comes after the kinds that it can refer to. */
export const DEFINITIONS: { readonly [K in ResourceKind]: ResourceDefinition } = {
  ...forMonitors((type) => MONITORS[type].definition),
  svc_notification: notification,
  svc_status_page: statusPage,
  svc_status_page_component_group: componentGroup,
  svc_status_page_component: component,
};

export const RESOURCE_KINDS = Object.keys(DEFINITIONS) as [ResourceKind, ...ResourceKind[]];

export function isResourceKind(value: string): value is ResourceKind {
  return Object.hasOwn(DEFINITIONS, value);
}

type Schemas = { readonly [K in ResourceKind]: z.ZodType<Resources[K]> };

const schemas = {
  api: schemasFor('api'),
  file: schemasFor('file'),
};

function schemasFor(surface: Surface): Schemas {
  const each = RESOURCE_KINDS.map((kind) => [kind, inputSchema(DEFINITIONS[kind], surface)]);
  return Object.fromEntries(each) as Schemas;
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
