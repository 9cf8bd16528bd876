import { forMonitors } from '@svc/shared/resources/monitors.ts';
import type { ResourceKind } from '@svc/shared/resources/registry.ts';
import type { Connection } from '../connection.ts';
import type { ManagedResource } from '../provider.ts';
import { componentAtApi } from './component.ts';
import { componentGroupAtApi } from './component-group.ts';
import { ResourceOverApi } from './managed-resource.ts';
import { monitorAtApi } from './monitors.ts';
import { notificationAtApi } from './notification.ts';
import type { ResourceAtApi } from './resource-at-api.ts';
import { statusPageAtApi } from './status-page.ts';

/** How the provider reads and writes each kind of resource over the API. */
export const RESOURCES_AT_API = {
  ...forMonitors(monitorAtApi),
  svc_notification: notificationAtApi,
  svc_status_page: statusPageAtApi,
  svc_status_page_component: componentAtApi,
  svc_status_page_component_group: componentGroupAtApi,
} satisfies { [K in ResourceKind]: ResourceAtApi };

export function resources(connection: Connection): Readonly<Record<string, ManagedResource>> {
  return Object.fromEntries(
    Object.entries(RESOURCES_AT_API).map(([kind, atApi]) => [kind, new ResourceOverApi(atApi, connection)]),
  );
}
