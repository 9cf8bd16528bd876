import { SvcError } from '@svc/shared/errors.ts';
import { type OwnRegion, REGIONS, type Region } from '@svc/shared/regions.ts';
import { z } from 'zod';
import { StoreError } from '../errors.ts';
import type { Store } from '../store.ts';

/**
 * Number of regions whose reports about a slot share a row of `slot_results`: a row has a bit for each of
 * them, and `INT` has 31 bits beside its sign.
 */
export const REGIONS_PER_ROW = 31;

/**
 * The numbers of regions in packed results. The 28 regions have 0 to 27. A region of one's own gets a greater
 * number when a coordinator first starts with it, and keeps it for ever: its row of `own_regions` is never
 * deleted, so results of a region that was taken away keep their name.
 */
export class RegionNumbers {
  readonly #regions: (Region | undefined)[] = [...REGIONS];
  readonly #numbers = new Map<Region, number>(REGIONS.map((region, number) => [region, number]));

  constructor(own: readonly { readonly id: number; readonly name: Region }[] = []) {
    for (const { id, name } of own) {
      const number = REGIONS.length - 1 + id;
      this.#regions[number] = name;
      this.#numbers.set(name, number);
    }
  }

  /** The regions of one's own that have a number. Regions that were taken away are included. */
  get own(): readonly Region[] {
    return [...this.#numbers.keys()].slice(REGIONS.length);
  }

  /** The number of the region; null: it has none, so it has no results. */
  numberIn(region: Region): number | null {
    return this.#numbers.get(region) ?? null;
  }

  /**
   * The number of the region.
   *
   * @throws StoreError `store-error` when the region has no number
   */
  numberOf(region: Region): number {
    const number = this.#numbers.get(region);
    if (number === undefined) throw new StoreError('store-error', `the region ${region} has no number`);
    return number;
  }

  /**
   * The region with this number; undefined: the number is damaged, or was assigned after these numbers were read.
   */
  regionOf(number: number): Region | undefined {
    return this.#regions[number];
  }

  /** The largest number of rows that a slot of a monitor can have. */
  get mostRows(): number {
    return Math.ceil(this.#regions.length / REGIONS_PER_ROW);
  }
}

/** The numbers of the 28 regions, which every database has. */
export const FIXED_NUMBERS = new RegionNumbers();

/** The stored numbers. Queries of results read them each time, because another coordinator may add some. */
export async function storedRegionNumbers({ read }: Pick<Store, 'read'>): Promise<RegionNumbers> {
  return new RegionNumbers(await read.selectFrom('own_regions').select(['id', 'name']).execute());
}

/**
 * The numbers of these regions and of all stored ones. A region without a number gets one. So each leadership has
 * the numbers that it needs, even if the database has lost the commit that first assigned them.
 */
export async function numbersFor(store: Store, regions: readonly Region[]): Promise<RegionNumbers> {
  const numbers = await storedRegionNumbers(store);
  // Without this check, each call would use up numbers in PostgreSQL.
  const unknown = regions.filter((region) => numbers.numberIn(region) === null);
  if (unknown.length === 0) return numbers;
  await store.transaction((tx) =>
    tx.runEach(
      'INSERT INTO own_regions (name) VALUES (?) ON CONFLICT (name) DO NOTHING',
      unknown.map((name) => [name]),
    ),
  );
  return storedRegionNumbers(store);
}

/**
 * Gives a number to each of these regions of one's own that has none.
 *
 * @param regions all regions of one's own that the settings name
 * @throws SvcError `bad-settings` when monitors name a region that the settings no longer name
 */
export async function admitRegions(store: Store, regions: readonly OwnRegion[]): Promise<void> {
  const own = regions.map(({ id }) => id);
  const known = await storedRegionNumbers(store);
  await refuseTakenAway(
    store,
    known.own.filter((name) => !own.includes(name)),
  );
  await numbersFor(store, own);
}

/** Maximum number of monitors that the message of a refusal names. */
const MOST_NAMED = 50;

/**
 * Refuses the start if monitors name one of the regions in `gone`. It does so before anything is written, so that
 * the votes, incidents and lists of regions of these monitors stay as they are, and the setting can be put back.
 */
async function refuseTakenAway({ read }: Store, gone: readonly Region[]): Promise<void> {
  if (gone.length === 0) return;
  const rows = await read
    .selectFrom('monitors')
    .select(['id', 'name', 'attributes'])
    // An id contains no wildcard of LIKE. Another attribute may contain the same text, so the list is read below.
    .where(({ or, eb }) => or(gone.map((region) => eb('attributes', 'like', `%"${region}"%`))))
    .orderBy('id')
    .execute();
  const named = rows.flatMap(({ id, name, attributes }) => {
    const { regions } = namedRegions.parse(JSON.parse(attributes));
    const missing = gone.filter((region) => regions?.includes(region));
    return missing.length === 0 ? [] : [`monitor ${id} (${name}) names ${missing.join(', ')}`];
  });
  if (named.length === 0) return;
  const more = named.length - MOST_NAMED;
  const shown = [...named.slice(0, MOST_NAMED), ...(more > 0 ? [`${more} more monitors`] : [])].join('; ');
  throw new SvcError(
    'bad-settings',
    `SVC_EXTRA_REGIONS lacks regions that monitors name: ${shown}. Put these regions back, start, take them out of the monitors, and then out of the setting`,
  );
}

const namedRegions = z.object({ regions: z.array(z.string()).nullish() });
