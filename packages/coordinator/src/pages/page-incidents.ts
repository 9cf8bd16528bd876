import type { ShownIncident } from '../store/pages/shown-pages.ts';
import type { UpdateState } from '../verdict/incident-updates.ts';
import { dayOf } from '../verdict/summary-range.ts';
import type { State } from '../web/design/states.ts';
import type { NotedComponent, WrittenIncident } from './notes.ts';
import { stateOf, worstState } from './page-states.ts';
import type { PublicIds } from './public-ids.ts';

/** A component that an incident is about. */
export type AffectedComponent = NotedComponent & { readonly name: string };

/** One step in the life of an incident. */
export type IncidentUpdate = {
  /** The id of the update. It is unique and never changes, because feeds use it as the id of an entry. */
  readonly id: string;
  /** When the step happened, epoch ms. */
  readonly at: number;
  /**
   * The state that the update reports. `ended`: the incident ended without a recovery, because its monitor
   * was deactivated or removed.
   */
  readonly state: State | 'ended';
  /**
   * The operator's text, and the stage of the operator's work; null: svc made the update from a measurement.
   */
  readonly note: { readonly stage: UpdateState; readonly text: string } | null;
};

/** An incident as visitors see it. Instants are epoch ms. */
export type PageIncident = {
  readonly id: string;
  /** The operator's title; null: pages make a title from the components and the impact. */
  readonly title: string | null;
  readonly impact: State;
  readonly components: readonly AffectedComponent[];
  readonly startedAt: number;
  /** When the incident ended; null: the incident is open. */
  readonly endedAt: number | null;
  readonly updatedAt: number;
  /** The updates, newest first; at least one. */
  readonly updates: readonly IncidentUpdate[];
};

/**
 * Returns the incidents of a page, newest first: the incidents of its monitors
 * with the updates of operators, and the incidents that operators wrote.
 *
 * @param components the components that the page shows
 */
export function incidentViews(
  components: readonly AffectedComponent[],
  measured: readonly ShownIncident[],
  written: readonly WrittenIncident[],
  publicId: PublicIds,
): PageIncident[] {
  const notes = new Map(written.map((incident) => [incident.id, incident]));
  const shown = measured.filter(({ monitorId }) => components.some((one) => one.monitorId === monitorId));
  const ids = new Set(shown.map(({ id }) => id));
  return [
    ...shown.map((incident) => incidentView(incident, notes.get(incident.id) ?? null, components, publicId)),
    ...written.flatMap((incident) =>
      ids.has(incident.id) || incident.updates.length === 0
        ? []
        : [writtenView(incident, components, publicId)],
    ),
  ].sort((one, other) => other.startedAt - one.startedAt);
}

function incidentView(
  incident: ShownIncident,
  written: WrittenIncident | null,
  components: readonly AffectedComponent[],
  publicId: PublicIds,
): PageIncident {
  const { openedAt, closedAt, closure, monitorId, wasDown, changes } = incident;
  const id = publicId('incident', incident.id);
  const measured: State = wasDown ? 'down' : 'degraded';
  const steps: Omit<IncidentUpdate, 'id'>[] = changes.map(({ at, status }) => ({
    at,
    state: stateOf(status),
    note: null,
  }));
  if (closedAt !== null && closure !== null) steps.push({ at: closedAt, state: 'ended', note: null });
  if (steps.length === 0) steps.push({ at: openedAt, state: measured, note: null });
  const impact = worstState([measured, ...(written === null ? [] : impactOf(written))]);
  const updates = [
    ...withIds(id, steps),
    ...(written === null ? [] : notesOf(written, { id, publicId }, impact)),
  ];
  const noted = new Set(written?.updates.flatMap(({ componentIds }) => componentIds));
  return viewOf({
    id,
    title: written?.title ?? null,
    impact,
    components: components.filter((one) => one.monitorId === monitorId || noted.has(Number(one.id))),
    startedAt: openedAt,
    endedAt: closedAt,
    updates,
  });
}

function writtenView(
  incident: WrittenIncident,
  components: readonly AffectedComponent[],
  publicId: PublicIds,
): PageIncident {
  const id = publicId('incident', incident.id);
  const [impact = 'unknown'] = impactOf(incident);
  const noted = new Set(incident.updates.flatMap(({ componentIds }) => componentIds));
  return viewOf({
    id,
    title: incident.title,
    impact,
    components: components.filter((one) => noted.has(Number(one.id))),
    startedAt: incident.opened_at,
    endedAt: incident.closed_at,
    updates: notesOf(incident, { id, publicId }, impact),
  });
}

function viewOf(view: Omit<PageIncident, 'updatedAt'>): PageIncident {
  return {
    ...view,
    updatedAt: Math.max(view.startedAt, ...view.updates.map(({ at }) => at)),
    // The sort is stable: of two updates at one instant, the update that was stored later counts as newer.
    updates: view.updates.toSorted((one, other) => one.at - other.at).reverse(),
  };
}

function impactOf({ impact }: WrittenIncident): State[] {
  return impact === 'none' ? [] : [impact];
}

function notesOf(
  { updates }: WrittenIncident,
  incident: { readonly id: string; readonly publicId: PublicIds },
  impact: State,
): IncidentUpdate[] {
  return updates.map(({ id, at, state, text }) => ({
    id: `${incident.id}-n${incident.publicId('update', id)}`,
    at,
    state: state === 'resolved' ? 'operational' : impact,
    note: { stage: state, text },
  }));
}

/**
 * Gives each update an id that is made from its instant. So the ids of
 * the other updates do not change when an old update leaves the list.
 */
function withIds(incidentId: string, steps: readonly Omit<IncidentUpdate, 'id'>[]): IncidentUpdate[] {
  const used = new Map<number, number>();
  return steps.map((step) => {
    const before = used.get(step.at) ?? 0;
    used.set(step.at, before + 1);
    const suffix = before === 0 ? '' : `-${before}`;
    return { ...step, id: `${incidentId}-${step.at.toString(36)}${suffix}` };
  });
}

/** The incidents that began on one day. */
export type IncidentDay = {
  /** Beginning of the day in UTC, epoch ms. */
  readonly at: number;
  /** The incidents, newest first; at least one. */
  readonly incidents: readonly PageIncident[];
};

/**
 * Groups incidents by the day on which they began, newest day first.
 *
 * @param incidents newest first
 */
export function incidentDays(incidents: readonly PageIncident[]): IncidentDay[] {
  return [...Map.groupBy(incidents, ({ startedAt }) => dayOf(startedAt))].map(([at, ofDay]) => ({
    at,
    incidents: ofDay,
  }));
}
