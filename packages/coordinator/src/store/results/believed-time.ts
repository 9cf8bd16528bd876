import { z } from 'zod';
import type { BelievedTime } from '../../verdict/believed-time.ts';
import { readFact, writeFact } from '../facts.ts';
import type { Store } from '../store.ts';

const KEY = 'believed_time';

const storedTime = z.object({
  at: z.int(),
  doubt: z.object({ aheadMs: z.number(), stoodMs: z.number() }).nullable(),
});

/**
 * Answers the time that the last process believed; null when none was stored.
 *
 * @throws ZodError when the stored value cannot be read
 */
export async function storedBelievedTime({ read }: Store): Promise<BelievedTime | null> {
  const text = await readFact(read, KEY);
  return text === null ? null : storedTime.parse(JSON.parse(text));
}

export async function writeBelievedTime(store: Store, { at, doubt }: BelievedTime): Promise<void> {
  const text = JSON.stringify({ at: Math.floor(at), doubt });
  await store.transaction(({ db }) => writeFact(db, KEY, text));
}
