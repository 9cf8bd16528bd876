import { createHash } from 'node:crypto';
import { dayOf } from '../domain/summary-range.ts';
import type { ShownIncident } from '../store/shown-pages.ts';
import type { State } from '../web/design/states.ts';
import type { NotedIncident } from './notes.ts';
import { stateOf } from './states.ts';

/** A component that an incident is about. */
export type AffectedComponent = { readonly id: string; readonly name: string };

/** One step of an incident. */
export type IncidentUpdate = {
  /** Unique and stable: the entry of a feed keeps it. */
  readonly id: string;
  /** Epoch ms. */
  readonly at: number;
  /** `ended`: it ended because the monitor is no longer run. */
  readonly state: State | 'ended';
  /** Of an operator: what was written, and the stage of the work; null: the update was made of a measurement. */
  readonly note: { readonly stage: NotedIncident['state']; readonly text: string } | null;
};

/** An incident as visitors see it. Instants are epoch ms. */
export type IncidentView = {
  readonly id: string;
  /** As an operator wrote it; null: it follows from the components and the impact. */
  readonly title: string | null;
  readonly impact: State;
  readonly components: readonly AffectedComponent[];
  readonly startedAt: number;
  /** Null: it lasts. */
  readonly endedAt: number | null;
  readonly updatedAt: number;
  /** Newest first, at least one. */
  readonly updates: readonly IncidentUpdate[];
};

type MonitoredComponent = AffectedComponent & { readonly monitorId: number };

/**
 * The incidents of a page, newest first: those of its monitors, and those that operators noted.
 *
 * @param monitored components that show a monitor
 * @param all       every component of the page
 */
export function incidentViews(
  monitored: readonly MonitoredComponent[],
  measured: readonly ShownIncident[],
  noted: readonly NotedIncident[],
  all: readonly AffectedComponent[],
): IncidentView[] {
  const byMonitor = Map.groupBy(monitored, ({ monitorId }) => monitorId);
  const views = [
    ...measured.flatMap((incident) => {
      const components = byMonitor.get(incident.monitorId);
      return components === undefined ? [] : [measuredIncident(incident, components)];
    }),
    ...noted.map((incident) => notedIncident(incident, all)),
  ];
  return views.toSorted((one, other) => other.startedAt - one.startedAt);
}

function measuredIncident(incident: ShownIncident, components: readonly MonitoredComponent[]): IncidentView {
  const { key, openedAt, closedAt, closure, wasDown, changes } = incident;
  const id = publicId(key);
  const steps: Omit<IncidentUpdate, 'id'>[] = changes.map(({ at, status }) => ({
    at,
    state: stateOf(status),
    note: null,
  }));
  if (closedAt !== null && closure !== null) steps.push({ at: closedAt, state: 'ended', note: null });
  const impact: State = wasDown ? 'down' : 'degraded';
  if (steps.length === 0) steps.push({ at: openedAt, state: impact, note: null });
  return {
    id,
    title: null,
    impact,
    components: components.map(({ id: componentId, name }) => ({ id: componentId, name })),
    startedAt: openedAt,
    endedAt: closedAt,
    updatedAt: Math.max(openedAt, ...steps.map(({ at }) => at)),
    updates: withIds(id, steps).reverse(),
  };
}

function notedIncident(incident: NotedIncident, all: readonly AffectedComponent[]): IncidentView {
  const { id, title, impact, startedAt, endedAt, componentIds } = incident;
  const updates = incident.updates.map(
    (update): IncidentUpdate => ({
      id: `n${update.id}`,
      at: update.at,
      state: update.state === 'resolved' ? 'operational' : impact,
      note: { stage: update.state, text: update.text },
    }),
  );
  return {
    id: `n${id}`,
    title,
    impact,
    components: all
      .filter((component) => componentIds.includes(component.id))
      .map(({ id: componentId, name }) => ({ id: componentId, name })),
    startedAt,
    endedAt,
    updatedAt: Math.max(startedAt, ...updates.map(({ at }) => at)),
    updates,
  };
}

/** Ids by instant: updates that leave the list for their number do not change those of the others. */
function withIds(incidentId: string, steps: readonly Omit<IncidentUpdate, 'id'>[]): IncidentUpdate[] {
  const used = new Map<number, number>();
  return steps.map((step) => {
    const before = used.get(step.at) ?? 0;
    used.set(step.at, before + 1);
    const suffix = before === 0 ? '' : `-${before}`;
    return { ...step, id: `${incidentId}-${step.at.toString(36)}${suffix}` };
  });
}

/** Id of an incident for visitors. The key itself is known to incident channels only. */
function publicId(key: string): string {
  return createHash('sha256').update(`incident ${key}`).digest('base64url').slice(0, 12);
}

/** The incidents that began on a day. */
export type IncidentDay = {
  /** Beginning of the day in UTC, epoch ms. */
  readonly at: number;
  /** Newest first, at least one. */
  readonly incidents: readonly IncidentView[];
};

/**
 * Incidents by the day on which they began, newest day first.
 *
 * @param incidents newest first
 */
export function incidentDays(incidents: readonly IncidentView[]): IncidentDay[] {
  return [...Map.groupBy(incidents, ({ startedAt }) => dayOf(startedAt))].map(([at, ofDay]) => ({
    at,
    incidents: ofDay,
  }));
}
