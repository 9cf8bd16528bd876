import type { Clock } from '@svc/shared/clock.ts';
import { LIMITS } from '@svc/shared/limits.ts';
import { existingResources, type ResourceTable } from '../../store/declaration/resources.ts';
import { componentsByIds } from '../../store/declaration/status-pages.ts';
import {
  type Acknowledgement,
  acknowledgementOf,
  findIncident,
  type IncidentContent,
  insertIncident,
  insertUpdate,
  removeIncident,
  removeUpdate,
  replaceIncident,
  replaceUpdate,
  type StoredIncident,
  type StoredUpdate,
  setAcknowledged,
  setIncidentClosed,
  type UpdateContent,
  updatesOf,
} from '../../store/incidents/incidents.ts';
import { type Readable, wholeMs } from '../../store/queries.ts';
import type { Store, Transaction } from '../../store/store.ts';
import { resolvedAt } from '../../verdict/incident-updates.ts';
import { ConfigurationError, Conflict, InvalidReference, NotFound } from '../errors.ts';
import { requireVersion } from '../scope.ts';

/**
 * How far in the future the instant of an update may be, ms. The clock of
 * the person who writes the update may be ahead of this machine's clock.
 */
const AHEAD_MS = 60_000;

/** Versions of the row that the caller may change; absent: any version. */
type Versions = { readonly expectedVersions?: readonly number[] };

/** A value in the body of an incident or update is not valid. */
class InvalidNote extends ConfigurationError {
  constructor(message: string, path: ConfigurationError['path']) {
    super('invalid-note', message, path);
  }
}

/**
 * The only way in which people change incidents: those that they create,
 * and the texts, updates and acknowledgements of any incident.
 */
export class Incidents {
  readonly #store: Store;
  readonly #clock: Clock;

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * Runs `work` in one transaction.
   *
   * @throws StoreError, or the error that `work` throws
   */
  transaction<T>(workspaceId: number, work: (change: IncidentChange) => Promise<T>): Promise<T> {
    return this.#store.declare((tx) =>
      work(
        new IncidentChange({
          tx,
          workspaceId,
          now: wholeMs(this.#clock.wall()),
        }),
      ),
    );
  }
}

type ChangeParts = {
  readonly tx: Transaction;
  readonly workspaceId: number;
  /** The instant of the change, epoch ms. */
  readonly now: number;
};

/** A change of incidents within a transaction. It can be used only while its `work` runs. */
class IncidentChange {
  readonly tx: Transaction;
  readonly #parts: ChangeParts;

  constructor(parts: ChangeParts) {
    this.tx = parts.tx;
    this.#parts = parts;
  }

  /** The instant of the change, epoch ms. */
  get now(): number {
    return this.#parts.now;
  }

  /**
   * Creates an incident without a monitor, with its first update. Returns the id of the incident.
   *
   * @throws InvalidNote, InvalidReference
   */
  async create(content: IncidentContent, first: UpdateContent): Promise<number> {
    const { workspaceId } = this.#parts;
    await this.#requirePages(content);
    const id = await insertIncident(this.tx, workspaceId, content, first.at);
    await this.addUpdate(id, first);
    return id;
  }

  /**
   * Replaces title, impact and pages of an incident. If they are unchanged, nothing is written.
   *
   * @throws NotFound, PreconditionFailed, InvalidNote, InvalidReference
   */
  async replace(id: number, content: IncidentContent, { expectedVersions }: Versions): Promise<void> {
    const incident = await this.#find(id);
    requireVersion(`incident ${id}`, incident.row_version, expectedVersions);
    if (incident.monitor_id === null) {
      if (content.title === null) throw new InvalidNote('must not be empty: no monitor names it', ['title']);
      if (content.pageIds.length === 0)
        throw new InvalidNote('must have at least one page: no monitor places it', ['page_ids']);
    }
    await this.#requirePages(content);
    const { title, impact, pageIds } = incident;
    const isSame = title === content.title && impact === content.impact && hasSame(pageIds, content.pageIds);
    if (isSame) return;
    await replaceIncident(this.tx, id, content);
  }

  /**
   * Removes an incident that people created.
   *
   * @throws NotFound, Conflict `kept-by-svc` when a monitor recorded the incident
   */
  async remove(id: number): Promise<void> {
    const { monitor_id: monitorId } = await this.#find(id);
    if (monitorId !== null) {
      throw new Conflict(
        'kept-by-svc',
        `incident ${id} was recorded by monitor ${monitorId} and is kept: its updates can be removed`,
      );
    }
    await removeIncident(this.tx, id);
  }

  /**
   * Acknowledges an open incident. If somebody has acknowledged it already, nothing is written.
   *
   * @throws NotFound, Conflict `ended`
   */
  async acknowledge(id: number, { by, note }: Omit<Acknowledgement, 'at'>): Promise<void> {
    const incident = await this.#find(id);
    if (incident.closed_at !== null) throw new Conflict('ended', `incident ${id} has ended`);
    if (acknowledgementOf(incident) === null) await setAcknowledged(this.tx, id, { at: this.now, by, note });
  }

  /**
   * Removes the acknowledgement of an open incident. If there is none, nothing is written.
   *
   * @throws NotFound, Conflict `ended`
   */
  async unacknowledge(id: number): Promise<void> {
    const incident = await this.#find(id);
    if (incident.closed_at !== null) throw new Conflict('ended', `incident ${id} has ended`);
    if (acknowledgementOf(incident) !== null) await setAcknowledged(this.tx, id, null);
  }

  /**
   * Adds an update to an incident. Returns the id of the update.
   *
   * @throws NotFound, InvalidNote, InvalidReference, Conflict `too-many`
   */
  async addUpdate(incidentId: number, content: UpdateContent): Promise<number> {
    const incident = await this.#find(incidentId);
    await this.#require(incident, content);
    if ((await this.#updates(incidentId)).length >= LIMITS.updatesPerIncident)
      throw new Conflict('too-many', `an incident may have at most ${LIMITS.updatesPerIncident} updates`);
    const id = await insertUpdate(this.tx, incidentId, content, this.now);
    await this.#follow(incident);
    return id;
  }

  /**
   * Replaces an update. If it is unchanged, nothing is written.
   *
   * @throws NotFound, PreconditionFailed, InvalidNote, InvalidReference
   */
  async replaceUpdate(
    incidentId: number,
    id: number,
    content: UpdateContent,
    { expectedVersions }: Versions,
  ): Promise<void> {
    const incident = await this.#find(incidentId);
    const update = await this.#findUpdate(incidentId, id);
    requireVersion(`update ${id}`, update.row_version, expectedVersions);
    // Only newly named components must exist. The update may still
    // name components that were removed after it was written.
    const { state, text, at, componentIds } = update;
    const isSame = state === content.state && text === content.text && at === content.at;
    if (isSame && hasSame(componentIds, content.componentIds)) return;
    const added = content.componentIds.filter((component) => !componentIds.includes(component));
    await this.#require(incident, { ...content, componentIds: added });
    await replaceUpdate(this.tx, id, content, this.now);
    await this.#follow(incident);
  }

  /**
   * Removes an update of an incident.
   *
   * @throws NotFound
   */
  async removeUpdate(incidentId: number, id: number): Promise<void> {
    const incident = await this.#find(incidentId);
    await this.#findUpdate(incidentId, id);
    await removeUpdate(this.tx, id);
    await this.#follow(incident);
  }

  /**
   * Closes or reopens an incident that has no monitor, as its updates say. The state of the newest update
   * decides. An incident of a monitor is left alone: it closes for example when the monitor recovers.
   */
  async #follow({ id, monitor_id, closed_at }: StoredIncident): Promise<void> {
    if (monitor_id !== null) return;
    const closedAt = resolvedAt(await this.#updates(id));
    if (closedAt !== closed_at) await setIncidentClosed(this.tx, id, closedAt);
  }

  async #find(id: number): Promise<StoredIncident> {
    const found = await findIncident(this.tx, this.#parts.workspaceId, id);
    if (found === null) throw new NotFound(`there is no incident ${id}`);
    return found;
  }

  async #findUpdate(incidentId: number, id: number): Promise<StoredUpdate> {
    const found = (await this.#updates(incidentId)).find((update) => update.id === id);
    if (found === undefined) throw new NotFound(`incident ${incidentId} has no update ${id}`);
    return found;
  }

  async #updates(incidentId: number): Promise<readonly StoredUpdate[]> {
    return (await updatesOf(this.tx, [incidentId])).get(incidentId) ?? [];
  }

  #requirePages({ pageIds }: IncidentContent): Promise<void> {
    return requireObjects(this.tx, this.#parts.workspaceId, [
      { member: 'page_ids', table: 'status_pages', ids: pageIds },
    ]);
  }

  async #require({ pageIds }: StoredIncident, { componentIds, at }: UpdateContent): Promise<void> {
    if (at > this.now + AHEAD_MS) throw new InvalidNote('must not be in the future', ['at']);
    await requireObjects(this.tx, this.#parts.workspaceId, [
      { member: 'component_ids', table: 'components', ids: componentIds },
    ]);
    if (pageIds.length === 0) return;
    for (const { id, page_id } of await componentsByIds(this.tx, componentIds)) {
      if (pageIds.includes(page_id)) continue;
      const message = `component ${id} is on page ${page_id}, which the incident does not name`;
      throw new InvalidReference(message, ['component_ids', componentIds.indexOf(id)]);
    }
  }
}

/** Whether both lists have the same ids, in any order. */
function hasSame(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((id) => other.includes(id));
}

const NOUNS = { monitors: 'monitor', status_pages: 'status page', components: 'component' } as const;

/** Objects that a request refers to, and the member of its body that contains their ids. */
export type Named = {
  readonly member: string;
  readonly table: ResourceTable & keyof typeof NOUNS;
  readonly ids: readonly number[];
};

/**
 * Checks that all of these objects exist in the workspace.
 *
 * @throws InvalidReference for the first object that does not exist
 */
export async function requireObjects(
  source: Readable,
  workspaceId: number,
  named: readonly Named[],
): Promise<void> {
  for (const { member, table, ids } of named) {
    const existing = await existingResources(source, table, workspaceId, ids);
    const missing = ids.findIndex((id) => !existing.has(id));
    if (missing !== -1)
      throw new InvalidReference(`there is no ${NOUNS[table]} ${ids[missing]}`, [member, missing]);
  }
}
