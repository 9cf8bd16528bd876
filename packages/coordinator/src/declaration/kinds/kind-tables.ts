import { isDeepStrictEqual } from 'node:util';
import { forMonitors, type MonitorKind } from '@svc/shared/resources/monitors.ts';
import {
  DEFINITIONS,
  type Monitor,
  type Notification,
  RESOURCE_KINDS,
  type ResourceKind,
  type Resources,
  type StatusPage,
  type StatusPageComponent,
  type StatusPageComponentGroup,
} from '@svc/shared/resources/registry.ts';
import type { ResourceTable } from '../../store/declaration/resources.ts';

export type { MonitorKind } from '@svc/shared/resources/monitors.ts';
export type { ResourceKind } from '@svc/shared/resources/registry.ts';

/** Normalized attributes of one kind. */
export type AttributesOf<K extends ResourceKind> = Resources[K];

/** Database table of each kind. */
export type TableOf = { readonly [K in MonitorKind]: 'monitors' } & {
  readonly svc_notification: 'notifications';
  readonly svc_status_page: 'status_pages';
  readonly svc_status_page_component_group: 'component_groups';
  readonly svc_status_page_component: 'components';
};

export const TABLE_OF: TableOf = {
  ...forMonitors(() => 'monitors' as const),
  svc_notification: 'notifications',
  svc_status_page: 'status_pages',
  svc_status_page_component_group: 'component_groups',
  svc_status_page_component: 'components',
} satisfies { [K in ResourceKind]: ResourceTable };

interface KindsByTable {
  monitors: MonitorKind;
  notifications: 'svc_notification';
  status_pages: 'svc_status_page';
  component_groups: 'svc_status_page_component_group';
  components: 'svc_status_page_component';
}

interface AttributesByTable {
  monitors: Monitor;
  notifications: Notification;
  status_pages: StatusPage;
  component_groups: StatusPageComponentGroup;
  components: StatusPageComponent;
}

/** The kinds whose resources are rows of a table. {@link AttributesIn} is the type of their attributes. */
export type KindIn<T extends ResourceTable> = KindsByTable[T];
export type AttributesIn<T extends ResourceTable> = AttributesByTable[T];

/** Names of the attributes that cannot be changed in an existing resource. */
export function replacingAttributes(kind: ResourceKind): readonly string[] {
  return REPLACING.get(kind) ?? [];
}

const REPLACING: ReadonlyMap<ResourceKind, readonly string[]> = new Map(
  RESOURCE_KINDS.map((kind) => {
    const attributes = Object.entries(DEFINITIONS[kind].attributes);
    return [kind, attributes.flatMap(([name, { replaces }]) => (replaces ? [name] : []))];
  }),
);

/** Maximum number of resources in one batch, by table. */
export const MOST_TOGETHER: { readonly [T in ResourceTable]: number } = {
  // The row of a monitor has a few kilobytes.
  monitors: 250,
  // A channel is large if its declaration names all monitors.
  notifications: 10,
  // Each page is written alone, because its slug must differ
  // from the slugs of all pages that were written before.
  status_pages: 1,
  component_groups: 250,
  components: 250,
};

/**
 * Returns a kind and its attributes with the types that the table of the kind
 * has. The compiler cannot infer these types when the kind is a type parameter.
 */
export function attributesIn<K extends ResourceKind>(kind: K, attributes: AttributesOf<K>) {
  return { kind: kindIn(kind), attributes: attributes as unknown as AttributesIn<TableOf[K]> };
}

export function kindIn<K extends ResourceKind>(kind: K): KindIn<TableOf[K]> {
  return kind as unknown as KindIn<TableOf[K]>;
}

export function isMonitorKind(kind: ResourceKind): kind is MonitorKind {
  return TABLE_OF[kind] === 'monitors';
}

/** The noun for the resources of each table in messages: `monitor` in `monitor 12`. */
export const NOUN_OF = Object.fromEntries(
  RESOURCE_KINDS.map((kind) => [TABLE_OF[kind], DEFINITIONS[kind].noun]),
) as { readonly [T in ResourceTable]: string };

/**
 * Whether the attributes of two normalized resources of one kind are equal. The order of members does not
 * matter. The order of the entries of a list matters, but normalization has sorted the lists that are sets.
 */
export function sameAttributes(a: object, b: object): boolean {
  return isDeepStrictEqual(a, b);
}
