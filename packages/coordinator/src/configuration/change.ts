import { setChannelState } from '../store/notifications.ts';
import {
  createComponent,
  createGroup,
  removeComponent,
  removeGroup,
  updateComponent,
  updateGroup,
} from './change-component.ts';
import {
  createMonitor,
  createMonitors,
  removeMonitor,
  removeMonitors,
  updateMonitor,
} from './change-monitor.ts';
import { createNotification, removeNotification, updateNotification } from './change-notification.ts';
import { createPage, removePage, setPageAppearance, updatePage } from './change-page.ts';
import type { ConfigurationChange, PageTheme, ShownBy } from './configuration.ts';
import { NotFound } from './errors.ts';
import type { AttributesOf, MonitorKind, ResourceKind } from './kinds.ts';
import type { ChangeScope, WriteOptions } from './scope.ts';

type Declared = { localName: string };
type RemoveOptions = { shownBy?: ShownBy; expectedVersions?: readonly number[] };

/** Writes one kind of resource. */
type Writer<K extends ResourceKind> = {
  create(scope: ChangeScope, attributes: AttributesOf<K>, declared?: Declared): Promise<number>;
  update(scope: ChangeScope, id: number, attributes: AttributesOf<K>, options: WriteOptions): Promise<void>;
  remove(scope: ChangeScope, id: number, options: RemoveOptions): Promise<void>;
};

const WRITERS: { readonly [K in ResourceKind]: Writer<K> } = {
  svc_http_monitor: monitorWriter('svc_http_monitor'),
  svc_tcp_monitor: monitorWriter('svc_tcp_monitor'),
  svc_dns_monitor: monitorWriter('svc_dns_monitor'),
  svc_notification: { create: createNotification, update: updateNotification, remove: removeNotification },
  svc_status_page: { create: createPage, update: updatePage, remove: removePage },
  svc_status_page_component_group: { create: createGroup, update: updateGroup, remove: removeGroup },
  svc_status_page_component: { create: createComponent, update: updateComponent, remove: removeComponent },
};

function monitorWriter<K extends 'svc_http_monitor' | 'svc_tcp_monitor' | 'svc_dns_monitor'>(
  kind: K,
): Writer<K> {
  return {
    create: (scope, attributes, declared) => createMonitor(scope, kind, attributes, declared),
    update: (scope, id, attributes, options) => updateMonitor(scope, kind, id, attributes, options),
    remove: (scope, id, options) => removeMonitor(scope, kind, id, options),
  };
}

/** The change that a transaction's work gets; it is unusable after the work has ended. */
export class OpenChange implements ConfigurationChange {
  readonly #scope: ChangeScope;
  #isEnded = false;

  constructor(scope: ChangeScope) {
    this.#scope = scope;
  }

  get context() {
    return this.#scope.context;
  }

  get tx() {
    return this.#scope.tx;
  }

  async create<K extends ResourceKind>(
    kind: K,
    attributes: AttributesOf<K>,
    declared?: Declared,
  ): Promise<number> {
    await this.breathe();
    return WRITERS[kind].create(this.#scope, attributes, declared);
  }

  async update<K extends ResourceKind>(
    kind: K,
    id: number,
    attributes: AttributesOf<K>,
    options: WriteOptions = {},
  ): Promise<void> {
    await this.breathe();
    return WRITERS[kind].update(this.#scope, id, attributes, options);
  }

  async remove(kind: ResourceKind, id: number, options: RemoveOptions = {}): Promise<void> {
    await this.breathe();
    return WRITERS[kind].remove(this.#scope, id, options);
  }

  async createMonitors<K extends MonitorKind>(
    kind: K,
    entries: readonly { attributes: AttributesOf<K>; declared?: Declared }[],
  ): Promise<number[]> {
    await this.breathe();
    return createMonitors(this.#scope, kind, entries);
  }

  async removeMonitors(ids: readonly number[]): Promise<void> {
    await this.breathe();
    return removeMonitors(this.#scope, ids);
  }

  async setAppearance(
    pageId: number,
    appearance: { published?: boolean; theme?: PageTheme },
    options: { expectedVersions?: readonly number[] } = {},
  ): Promise<void> {
    await this.breathe();
    return setPageAppearance(this.#scope, pageId, appearance, options);
  }

  async setChannelState(
    notificationId: number,
    state: 'ok' | 'failing',
    reason: string | null,
  ): Promise<void> {
    await this.breathe();
    const { workspaceId } = this.context;
    const isThere = await setChannelState(this.tx, workspaceId, notificationId, { state, reason });
    if (!isThere) throw new NotFound(`there is no notification ${notificationId}`);
  }

  breathe(): Promise<void> {
    if (this.#isEnded)
      throw new TypeError('this change has ended: its transaction is committed or rolled back');
    return this.#scope.breathe();
  }

  end(): void {
    this.#isEnded = true;
  }
}
