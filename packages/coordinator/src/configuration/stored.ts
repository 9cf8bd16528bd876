import type { Row } from '../store/resources.ts';
import type { Secrets } from '../store/secrets.ts';
import type { AttributesOf, MonitorKind, ResourceKind } from './kinds.ts';
import {
  componentAttributes,
  groupAttributes,
  type Metadata,
  metadataOf,
  monitorAttributes,
  monitorKindOf,
  notificationAttributes,
  pageAttributes,
  type SecretsShown,
} from './rows.ts';

/** A declared resource as it is stored. */
export type Stored<K extends ResourceKind> = Metadata & {
  readonly kind: K;
  readonly attributes: AttributesOf<K>;
};

export type StoredMonitor = { [K in MonitorKind]: Stored<K> }[MonitorKind];
export type StoredNotification = Stored<'svc_notification'> & {
  readonly state: 'ok' | 'failing';
  readonly stateReason: string | null;
};
export type StoredPage = Stored<'svc_status_page'> & {
  readonly published: boolean;
  readonly theme: 'system' | 'light' | 'dark';
};
export type StoredGroup = Stored<'svc_status_page_component_group'>;
export type StoredComponent = Stored<'svc_status_page_component'>;
export type AnyStored = StoredMonitor | StoredNotification | StoredPage | StoredGroup | StoredComponent;

export function storedMonitor(secrets: Secrets, row: Row<'monitors'>, shown: SecretsShown): StoredMonitor {
  const attributes = monitorAttributes(secrets, row, shown);
  return { kind: monitorKindOf(row), ...metadataOf(row), attributes } as StoredMonitor;
}

/** @param monitorIds the linked monitors, ascending */
export function storedNotification(
  secrets: Secrets,
  row: Row<'notifications'>,
  monitorIds: readonly number[],
  shown: SecretsShown,
): StoredNotification {
  return {
    kind: 'svc_notification',
    ...metadataOf(row),
    attributes: notificationAttributes(secrets, row, monitorIds, shown),
    state: row.state,
    stateReason: row.state_reason,
  };
}

export function storedPage(secrets: Secrets, row: Row<'status_pages'>, shown: SecretsShown): StoredPage {
  return {
    kind: 'svc_status_page',
    ...metadataOf(row),
    attributes: pageAttributes(secrets, row, shown),
    published: row.published === 1,
    theme: row.theme,
  };
}

export function storedGroup(row: Row<'component_groups'>): StoredGroup {
  return { kind: 'svc_status_page_component_group', ...metadataOf(row), attributes: groupAttributes(row) };
}

export function storedComponent(row: Row<'components'>): StoredComponent {
  return { kind: 'svc_status_page_component', ...metadataOf(row), attributes: componentAttributes(row) };
}
