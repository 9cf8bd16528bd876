import { StoreError } from '@svc/coordinator/store/errors.ts';
import type { Store, Transaction } from '@svc/coordinator/store/store.ts';

/** What is lost of a transaction: its answer, although it is stored, or the whole transaction. */
export type Loss = 'answer' | 'all';

/** A store whose transactions have losses. `nextLoss` is asked by each transaction; undefined: nothing is lost. */
export function lossyStore(store: Store, nextLoss: () => Loss | undefined): Store {
  const lossy: Pick<Store, 'read' | 'work' | 'transaction'> = {
    read: store.read,
    work: store.work,
    async transaction(write) {
      const loss = nextLoss();
      if (loss === undefined) return store.transaction(write);
      if (loss === 'all') throw new StoreError('store-busy', 'lost');
      await store.transaction((tx: Transaction) =>
        write({ db: tx.db, runEach: tx.runEach.bind(tx), query: tx.query.bind(tx), onCommit: () => {} }),
      );
      throw new StoreError('store-unanswered', 'lost');
    },
  };
  return lossy as Store;
}
