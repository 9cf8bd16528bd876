import type { z } from 'zod';
import { component } from './component.ts';
import { componentGroup } from './component-group.ts';
import type { ResourceKind, Resources } from './definitions.ts';
import { dnsMonitor } from './dns-monitor.ts';
import { httpMonitor } from './http-monitor.ts';
import { type Issue, inputSchema, issuesOf, type Surface } from './input.ts';
import { notification } from './notification.ts';
import { maskIssues } from './secrets.ts';
import { statusPage } from './status-page.ts';
import { tcpMonitor } from './tcp-monitor.ts';

export type { Monitor, ResourceKind, Resources } from './definitions.ts';
export { DEFINITIONS, isResourceKind, MONITOR_KINDS, RESOURCE_KINDS } from './definitions.ts';
export type { Issue, Surface } from './input.ts';
export type { Notification } from './notification.ts';

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

/**
 * Validates and normalizes what a user wrote; all that is wrong with it is reported at once. A secret that is the mask
 * is wrong on every surface: it would take the secret's place.
 */
export function parseResource<K extends ResourceKind>(
  kind: K,
  input: unknown,
  surface: Surface,
): Parsed<Resources[K]> {
  const parsed = resourceSchema(kind, surface).safeParse(input);
  const masks = maskIssues(kind, input);
  if (parsed.success) {
    return masks.length === 0 ? { ok: true, value: parsed.data } : { ok: false, issues: masks };
  }
  const masked = new Set(masks.map(({ path }) => path.join()));
  const others = issuesOf(parsed.error).filter(({ path }) => !masked.has(path.join()));
  return { ok: false, issues: [...others, ...masks] };
}
