import { z } from 'zod';
import { readFact, writeFact } from './facts.ts';
import type { Store } from './store.ts';

/*
 * Two clocks may have given slots of the same time: one that was ahead, and the one that was set right. A start
 * that finds slots ahead sets them aside, and later starts must not read them back when their time has come: they
 * would hide the votes of the clock that was right. Each result says how many such starts came before it.
 */

const KEY = 'clock_set_backs';
/** Slots older than this are no votes any more, ms. */
const REMEMBERED_MS = 2 * 24 * 3_600_000;

const setBack = z.object({ count: z.int(), from: z.int(), until: z.int() });

/** A start that has set slots aside: those after `from`, up to `until` (epoch ms), of results before it. */
export type ClockSetBack = z.infer<typeof setBack>;

/** The recent starts that have set slots aside, oldest first; `count` grows by one with each. */
export async function readSetBacks({ read }: Store): Promise<readonly ClockSetBack[]> {
  return parse(await readFact(read, KEY));
}

/** Notes a start that sets aside the recorded slots after `from`, of which `until` is the newest (epoch ms). */
export async function noteSetBack(
  store: Store,
  { from, until }: Omit<ClockSetBack, 'count'>,
): Promise<readonly ClockSetBack[]> {
  return store.transaction(async ({ db }) => {
    const known = parse(await readFact(db, KEY));
    const recent = known.filter((each) => each.until > from - REMEMBERED_MS);
    const noted = [...recent, { count: countOf(known) + 1, from, until }];
    await writeFact(db, KEY, JSON.stringify(noted));
    return noted;
  });
}

/** The count that results get now. */
export function countOf(setBacks: readonly ClockSetBack[]): number {
  return setBacks.at(-1)?.count ?? 0;
}

/** Whether a start has set aside the slot of a result with this count. */
export function isSetAside(setBacks: readonly ClockSetBack[], slot: number, resultCount: number): boolean {
  return setBacks.some(({ count, from, until }) => resultCount < count && slot > from && slot <= until);
}

function parse(text: string | null): readonly ClockSetBack[] {
  return text === null ? [] : z.array(setBack).parse(JSON.parse(text));
}
