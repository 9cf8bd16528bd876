import { mapInTurns } from '@svc/shared/turns.ts';
import { linkedMonitors } from '../store/links.ts';
import { type Filter, listResources, type Page } from '../store/resource-lists.ts';
import { findResource, type ResourceTable, type Row } from '../store/resources.ts';
import type { Secrets } from '../store/secrets.ts';
import type { Store } from '../store/store.ts';
import type { SecretsShown } from './rows.ts';
import {
  type StoredComponent,
  type StoredGroup,
  type StoredMonitor,
  type StoredNotification,
  type StoredPage,
  storedComponent,
  storedGroup,
  storedMonitor,
  storedNotification,
  storedPage,
} from './stored.ts';

export type Listed<T> = { readonly data: T[]; readonly total: number };

/**
 * The declared resources in the form of the API's answers, read on the reading thread. Ids of other
 * workspaces do not exist (null). `shown` decides about secrets: `open` is for callers that may write.
 */
export class Reading {
  readonly #store: Store;
  readonly #secrets: Secrets;

  constructor(store: Store, secrets: Secrets) {
    this.#store = store;
    this.#secrets = secrets;
  }

  async monitor(workspaceId: number, id: number, shown: SecretsShown): Promise<StoredMonitor | null> {
    const row = await this.#one('monitors', workspaceId, id);
    return row === null ? null : storedMonitor(this.#secrets, row, shown);
  }

  async monitors(
    workspaceId: number,
    page: Page,
    shown: SecretsShown,
    filter: Filter = {},
  ): Promise<Listed<StoredMonitor>> {
    const { rows, total } = await listResources(this.#store, 'monitors', { workspaceId }, page, filter);
    return { data: await mapInTurns(rows, (row) => storedMonitor(this.#secrets, row, shown)), total };
  }

  async notification(
    workspaceId: number,
    id: number,
    shown: SecretsShown,
  ): Promise<StoredNotification | null> {
    const row = await this.#one('notifications', workspaceId, id);
    if (row === null) return null;
    const links = await linkedMonitors(this.#store, [id]);
    return storedNotification(this.#secrets, row, links.get(id) ?? [], shown);
  }

  async notifications(
    workspaceId: number,
    page: Page,
    shown: SecretsShown,
    filter: Filter = {},
  ): Promise<Listed<StoredNotification>> {
    const { rows, total } = await listResources(this.#store, 'notifications', { workspaceId }, page, filter);
    const links = await linkedMonitors(
      this.#store,
      rows.map(({ id }) => id),
    );
    const data = await mapInTurns(rows, (row) =>
      storedNotification(this.#secrets, row, links.get(row.id) ?? [], shown),
    );
    return { data, total };
  }

  async statusPage(workspaceId: number, id: number, shown: SecretsShown): Promise<StoredPage | null> {
    const row = await this.#one('status_pages', workspaceId, id);
    return row === null ? null : storedPage(this.#secrets, row, shown);
  }

  async statusPages(
    workspaceId: number,
    page: Page,
    shown: SecretsShown,
    filter: Filter = {},
  ): Promise<Listed<StoredPage>> {
    const { rows, total } = await listResources(this.#store, 'status_pages', { workspaceId }, page, filter);
    return { data: rows.map((row) => storedPage(this.#secrets, row, shown)), total };
  }

  /** Also null when it is on another page. */
  async group(workspaceId: number, pageId: number, id: number): Promise<StoredGroup | null> {
    const row = await this.#one('component_groups', workspaceId, id);
    return row?.page_id === pageId ? storedGroup(row) : null;
  }

  async groups(
    workspaceId: number,
    pageId: number,
    page: Page,
    filter: Filter = {},
  ): Promise<Listed<StoredGroup>> {
    const scope = { workspaceId, pageId };
    const { rows, total } = await listResources(this.#store, 'component_groups', scope, page, filter);
    return { data: rows.map(storedGroup), total };
  }

  /** Also null when it is on another page. */
  async component(workspaceId: number, pageId: number, id: number): Promise<StoredComponent | null> {
    const row = await this.#one('components', workspaceId, id);
    return row?.page_id === pageId ? storedComponent(row) : null;
  }

  async components(
    workspaceId: number,
    pageId: number,
    page: Page,
    filter: Filter = {},
  ): Promise<Listed<StoredComponent>> {
    const scope = { workspaceId, pageId };
    const { rows, total } = await listResources(this.#store, 'components', scope, page, filter);
    return { data: rows.map(storedComponent), total };
  }

  async #one<T extends ResourceTable>(table: T, workspaceId: number, id: number): Promise<Row<T> | null> {
    return (await findResource(this.#store, table, workspaceId, id)) ?? null;
  }
}
