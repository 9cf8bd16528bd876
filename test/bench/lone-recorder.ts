import { closesIncidents } from '@svc/coordinator/alerts/registry.ts';
import type { Store } from '@svc/coordinator/store/store.ts';
import { DerivedIds } from '@svc/coordinator/verdict/derived-ids.ts';
import { Windows } from '@svc/coordinator/verdict/maintenance-window.ts';
import type { LiveMonitor } from '@svc/coordinator/verdict/monitor.ts';
import { systemClock } from '@svc/shared/clock.ts';
import type { Region } from '@svc/shared/regions.ts';
import { Secret } from '@svc/shared/secret.ts';

/** Stores these monitors, in a workspace of their own. */
export async function storeMonitors(store: Store, ids: Iterable<number>): Promise<void> {
  await store.commit([
    {
      sql: "INSERT INTO workspaces (id, name, created_at) VALUES (1, 'bench', 0) ON CONFLICT DO NOTHING",
      rows: [[]],
    },
    {
      sql: `INSERT INTO monitors (id, workspace_id, type, name, active, attributes, activated_at, created_at,
        updated_at) VALUES (?, 1, 'http', 'bench', 1, '{}', 0, 0, 0)`,
      rows: [...ids].map((id) => [id]),
    },
  ]);
}

/**
 * Parts of a recorder that works alone: without dispatch, roll-ups, held backlogs and deliveries.
 *
 * @param slotNow the clock of slots, epoch ms
 */
export function loneParts(
  monitors: ReadonlyMap<number, LiveMonitor>,
  regions: readonly Region[],
  slotNow: () => number,
) {
  return {
    monitors,
    presence: { regions, hadAgentWithin24h: (region: Region) => regions.includes(region) },
    rollups: { claimedUntil: 0 },
    maintenance: { windows: new Windows(), changeWindows: () => {} },
    slots: { isOfferedAgain: () => false, resultArrived: () => {}, outcomeRecorded: () => {} },
    clock: systemClock,
    slotClock: { now: slotNow, jumpedMs: 0, jumpedAt: null, aheadSlot: null, onJump: () => () => {} },
    ids: new DerivedIds('measured', new Secret(new Uint8Array(32))),
    closesIncidents,
    onResults: () => {},
    isHeld: () => false,
    onDeclared: () => {},
    onQueued: () => {},
  };
}
