import { parseResource, type ResourceKind, type Resources } from '@svc/shared/resources/registry.ts';
import type { MonitorStatus } from '../../packages/coordinator/src/verdict/monitor.ts';
import type { ConfiguredStore } from './configured-store.ts';

type Options = {
  /** Names of public monitors, each shown by a component of the same name. */
  readonly monitors: readonly string[];
  readonly page?: Partial<Resources['svc_status_page']>;
};

/** A status page in a store, with functions that change the page and its monitors. */
export class DeclaredPage {
  readonly id: number;
  readonly #configured: ConfiguredStore;
  /** Ids of the monitors by name. */
  readonly #monitors = new Map<string, number>();
  readonly #components = new Map<string, number>();

  private constructor(configured: ConfiguredStore, id: number) {
    this.#configured = configured;
    this.id = id;
  }

  static async declare(configured: ConfiguredStore, { monitors, page }: Options): Promise<DeclaredPage> {
    const id = await create(configured, 'svc_status_page', { title: 'Example', slug: 'example', ...page });
    const declared = new DeclaredPage(configured, id);
    for (const name of monitors) await declared.addMonitor(name);
    return declared;
  }

  /**
   * Adds a monitor.
   *
   * @returns the id of the monitor
   */
  async addMonitor(name: string, { isPublic = true } = {}): Promise<number> {
    const id = await create(this.#configured, 'svc_tcp_monitor', monitorOf(name, isPublic));
    this.#monitors.set(name, id);
    const component = { type: 'monitor', monitor_id: String(id), page_id: String(this.id) };
    this.#components.set(name, await create(this.#configured, 'svc_status_page_component', component));
    return id;
  }

  async addStatic(name: string): Promise<void> {
    const component = { type: 'static', name, page_id: String(this.id) };
    this.#components.set(name, await create(this.#configured, 'svc_status_page_component', component));
  }

  async removeComponent(name: string): Promise<void> {
    await this.#change((change) =>
      change.remove('svc_status_page_component', this.#components.get(name) ?? 0),
    );
  }

  async renameMonitor(name: string, to: string): Promise<void> {
    await this.#updateMonitor(name, monitorOf(to, true));
  }

  async hideMonitor(name: string): Promise<void> {
    await this.#updateMonitor(name, monitorOf(name, false));
  }

  async setTitle(title: string): Promise<void> {
    const parsed = parsedAs('svc_status_page', { title, slug: 'example' });
    await this.#change((change) => change.update('svc_status_page', this.id, parsed));
  }

  /** Gives the page a password. */
  async protect(slug: string): Promise<void> {
    const attributes = { title: 'Example', slug, access_type: 'password', password: 'open sesame' };
    const parsed = parsedAs('svc_status_page', attributes);
    await this.#change((change) => change.update('svc_status_page', this.id, parsed));
  }

  async setTheme(theme: 'system' | 'light' | 'dark'): Promise<void> {
    await this.#change((change) => change.setAppearance(this.id, { theme }));
  }

  async setLatency(latency: 'none' | '24h' | '7d'): Promise<void> {
    await this.#change((change) => change.setAppearance(this.id, { latency }));
  }

  async unpublish(): Promise<void> {
    await this.#change((change) => change.setAppearance(this.id, { published: false }));
  }

  /** Records a change of the monitor's status now, as the recorder does, with its incident. */
  async setStatus(name: string, status: MonitorStatus): Promise<void> {
    const { store, clock } = this.#configured;
    const id = this.#monitors.get(name) ?? 0;
    const at = Math.floor(clock.wall());
    const isBad = status === 'error' || status === 'degraded';
    await store.transaction(async (tx) => {
      const [open] = await tx.query<{ key: string }>(
        'SELECT key FROM incidents WHERE monitor_id = ? AND closed_at IS NULL',
        [id],
      );
      const key = open?.key ?? (isBad ? `incident-${id}-${at}` : null);
      if (open === undefined && key !== null) {
        await tx.runEach('INSERT INTO incidents (key, monitor_id, opened_at) VALUES (?, ?, ?)', [
          [key, id, at],
        ]);
      }
      if (open !== undefined && status === 'active') {
        await tx.runEach('UPDATE incidents SET closed_at = ? WHERE key = ?', [[at, open.key]]);
      }
      await tx.runEach(
        `INSERT INTO transitions (monitor_id, from_status, to_status, reason, at, votes, incident)
         VALUES (?, coalesce((SELECT status FROM monitor_states WHERE monitor_id = ?), 'unknown'), ?, 'all-passed', ?, '[]', ?)`,
        [[id, id, status, at, key]],
      );
      await tx.runEach(
        `INSERT INTO monitor_states (monitor_id, status, since) VALUES (?, ?, ?)
         ON CONFLICT (monitor_id) DO UPDATE SET status = excluded.status, since = excluded.since`,
        [[id, status, at]],
      );
    });
  }

  async #updateMonitor(name: string, attributes: object): Promise<void> {
    const parsed = parsedAs('svc_tcp_monitor', attributes);
    const id = this.#monitors.get(name) ?? 0;
    await this.#change((change) => change.update('svc_tcp_monitor', id, parsed));
  }

  #change(work: Parameters<ConfiguredStore['configuration']['transaction']>[1]): Promise<unknown> {
    const { configuration, workspaceId } = this.#configured;
    return configuration.transaction({ workspaceId, actor: 'api' }, work);
  }
}

export const declarePage = DeclaredPage.declare;

function monitorOf(name: string, isPublic: boolean): object {
  return { name, uri: '127.0.0.1:9', periodicity: '30s', active: true, public: isPublic };
}

async function create<K extends ResourceKind>(
  { configuration, workspaceId }: ConfiguredStore,
  kind: K,
  attributes: object,
): Promise<number> {
  const parsed = parsedAs(kind, attributes);
  return configuration.transaction({ workspaceId, actor: 'api' }, (change) => change.create(kind, parsed));
}

function parsedAs<K extends ResourceKind>(kind: K, attributes: object): Resources[K] {
  const parsed = parseResource(kind, attributes, 'api');
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
  return parsed.value;
}
