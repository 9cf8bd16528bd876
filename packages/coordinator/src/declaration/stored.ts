import type { PAGE_LATENCIES } from '@svc/shared/resources/status-page.ts';
import type { ResourceTable, Row } from '../store/declaration/resources.ts';
import type { AttributesOf, MonitorKind, ResourceKind } from './kinds/kinds.ts';

/** Whether secrets are opened, or shown as a mask without being opened. */
export type SecretsShown = 'open' | 'masked';

/** The attributes of every kind, as users see them. */
export type Metadata = {
  readonly id: number;
  readonly workspaceId: number;
  /** Grows with every write: the ETag. */
  readonly rowVersion: number;
  /** 'file': declared in the file under `localName`, and read-only for the API. */
  readonly owner: 'file' | null;
  readonly localName: string | null;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Epoch ms. */
  readonly updatedAt: number;
};

/** A declared resource as it is stored. */
export type Stored<K extends ResourceKind> = Metadata & {
  readonly kind: K;
  readonly attributes: AttributesOf<K>;
};

export type StoredMonitor = { [K in MonitorKind]: Stored<K> }[MonitorKind];
export type StoredNotification = Stored<'svc_notification'> & {
  readonly state: 'ok' | 'failing';
  readonly stateReason: string | null;
  /** Epoch ms; null: it is not stopped. */
  readonly stoppedAt: number | null;
};
export type StoredPage = Stored<'svc_status_page'> & {
  readonly published: boolean;
  readonly theme: 'system' | 'light' | 'dark';
  /** The time over which the page shows latencies. */
  readonly latency: (typeof PAGE_LATENCIES)[number];
};
export type StoredGroup = Stored<'svc_status_page_component_group'>;
export type StoredComponent = Stored<'svc_status_page_component'>;

interface StoredByTable {
  monitors: StoredMonitor;
  notifications: StoredNotification;
  status_pages: StoredPage;
  component_groups: StoredGroup;
  components: StoredComponent;
}

/** A resource of this table. */
export type StoredIn<T extends ResourceTable> = StoredByTable[T];
export type AnyStored = StoredIn<ResourceTable>;

export function metadataOf(
  row: Pick<
    Row<ResourceTable>,
    'id' | 'workspace_id' | 'row_version' | 'owner' | 'local_name' | 'created_at' | 'updated_at'
  >,
): Metadata {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    rowVersion: row.row_version,
    owner: row.owner === 'file' ? 'file' : null,
    localName: row.local_name,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
