import { type Progress, writeProgress } from '../store/history/rollup-progress.ts';
import type { Store, Transaction } from '../store/store.ts';

/** Writes data together with the progress that it means, in one transaction. */
export async function moved(
  store: Store,
  progress: Progress,
  write: (tx: Transaction) => Promise<void>,
): Promise<Progress> {
  await store.transaction(async (tx) => {
    await write(tx);
    await writeProgress(tx, progress);
  });
  return progress;
}
