import type { LiveWindow } from '../../verdict/maintenance-window.ts';
import { idChunks, type Readable, readingOf } from '../queries.ts';
import type { Transaction } from '../store.ts';

/**
 * A mute, which holds the alerts of a monitor until an instant. People set mutes by
 * hand, like acknowledgements: no file and no Terraform resource declares a mute.
 */
export type Mute = {
  readonly monitorId: number;
  /** When the mute was set, epoch ms. */
  readonly at: number;
  /** End of the mute, epoch ms. */
  readonly until: number;
  /** Name of the token with which the mute was set. */
  readonly by: string;
};

/** Stores a mute, in place of an earlier mute of the monitor. */
export async function setMute({ db }: Transaction, { monitorId, at, until, by }: Mute): Promise<void> {
  const values = { muted_at: at, muted_until: until, muted_by: by };
  await db
    .insertInto('mutes')
    .values({ monitor_id: monitorId, ...values })
    .onConflict((conflict) => conflict.column('monitor_id').doUpdateSet(values))
    .execute();
}

/** Removes the mute of a monitor. Returns whether the monitor had a mute, even one that was over. */
export async function removeMute({ db }: Transaction, monitorId: number): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('mutes')
    .where('monitor_id', '=', monitorId)
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}

/**
 * The mutes of these monitors that are not over, by monitor id. Monitors without such a mute are missing.
 *
 * @param now epoch ms on the slots' clock
 */
export async function mutesOf(
  source: Readable,
  monitorIds: readonly number[],
  now: number,
): Promise<ReadonlyMap<number, Mute>> {
  const found = new Map<number, Mute>();
  for (const some of idChunks(monitorIds)) {
    const rows = await readingOf(source)
      .selectFrom('mutes')
      .selectAll()
      .where('monitor_id', 'in', some)
      .where('muted_until', '>', now)
      .execute();
    for (const { monitor_id: monitorId, muted_at: at, muted_until: until, muted_by: by } of rows)
      found.set(monitorId, { monitorId, at, until, by });
  }
  return found;
}

/** All mutes that are not over at `now` (epoch ms), of all workspaces, as windows for the evaluation. */
export async function mutedWindows(source: Readable, now: number): Promise<LiveWindow[]> {
  const rows = await readingOf(source)
    .selectFrom('mutes')
    .select(['monitor_id', 'muted_until'])
    .where('muted_until', '>', now)
    .execute();
  return rows.map(({ monitor_id: monitorId, muted_until: until }) => muteWindow(monitorId, until));
}

/**
 * The mute of a monitor as a window for the evaluation. The window begins in 1970, because a mute holds
 * alerts as soon as the evaluation knows it.
 *
 * @param until end of the mute, epoch ms
 */
export function muteWindow(monitorId: number, until: number): LiveWindow {
  return {
    id: muteIdOf(monitorId),
    monitorIds: [monitorId],
    times: { startsAt: 0, endsAt: until, timeZone: 'UTC', repeat: null, endedAt: null },
  };
}

/** The id of the mute of a monitor among the ids of maintenance windows, see `LiveWindow.id`. */
export function muteIdOf(monitorId: number): number {
  return -monitorId;
}
