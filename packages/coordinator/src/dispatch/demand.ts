import { REGIONS, type Region } from '@svc/shared/regions.ts';
import type { LiveMonitor } from '../domain/monitor.ts';
import { regionIndex } from './job.ts';

/** Index of the jobs of monitors without declared regions, after the regions. */
const EVERYWHERE = REGIONS.length;

/** Active monitors of a workspace, and their jobs per second by region. */
type Workspace = { monitors: number; readonly perSecond: Float64Array };

/** Jobs per second that the active monitors of each workspace ask for, by region. */
export class Demand {
  readonly #workspaces = new Map<number, Workspace>();

  changed(before: LiveMonitor | null, after: LiveMonitor | null): void {
    this.#add(before, -1);
    this.#add(after, 1);
  }

  /** By workspace, the sum over these regions; a workspace without jobs there is missing. */
  askedIn(regions: readonly Region[]): Map<number, number> {
    const asked = new Map<number, number>();
    for (const [id, { perSecond }] of this.#workspaces) {
      let sum = 0;
      for (const region of regions)
        sum += (perSecond[regionIndex(region)] ?? 0) + (perSecond[EVERYWHERE] ?? 0);
      if (sum > 0) asked.set(id, sum);
    }
    return asked;
  }

  #add(monitor: LiveMonitor | null, by: 1 | -1): void {
    if (monitor === null || !monitor.active) return;
    const workspace = this.#of(monitor.workspaceId);
    workspace.monitors += by;
    const rate = (by * 1_000) / monitor.periodMs;
    const places = monitor.regions?.map(regionIndex) ?? [EVERYWHERE];
    for (const place of places) workspace.perSecond[place] = (workspace.perSecond[place] ?? 0) + rate;
    // This also drops the remainder of rounding.
    if (workspace.monitors === 0) this.#workspaces.delete(monitor.workspaceId);
  }

  #of(id: number): Workspace {
    let workspace = this.#workspaces.get(id);
    if (workspace === undefined) {
      workspace = { monitors: 0, perSecond: new Float64Array(REGIONS.length + 1) };
      this.#workspaces.set(id, workspace);
    }
    return workspace;
  }
}
