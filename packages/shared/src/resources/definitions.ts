import { component, type StatusPageComponent } from './component.ts';
import { componentGroup, type StatusPageComponentGroup } from './component-group.ts';
import type { ResourceDefinition } from './definition.ts';
import { forMonitors, type KindOfType, MONITORS, type Monitors } from './monitors.ts';
import { type Notification, notification } from './notification.ts';
import { type StatusPage, statusPage } from './status-page.ts';

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
