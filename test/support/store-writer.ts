import { openStore } from '@svc/coordinator/store/open.ts';
import { createLogger } from '@svc/shared/log.ts';

/**
 * Writes pairs of facts to the database named by its first argument until it is killed. It prints the number
 * of each pair (from the second argument on) once its transaction is acknowledged.
 */
const [path = '', first = '0'] = process.argv.slice(2);
const store = await openStore({ path, log: createLogger('writer', 'error') });

for (let number = Number(first); ; number += 1) {
  await store.transaction(async ({ db }) => {
    await db
      .insertInto('facts')
      .values({ key: `left:${number}`, value: 'x'.repeat(number % 5_000) })
      .execute();
    await db
      .insertInto('facts')
      .values({ key: `right:${number}`, value: 'x'.repeat(number % 5_000) })
      .execute();
  });
  // The reader may be slow, and then the pipe is full.
  await new Promise((resolve) => process.stdout.write(`${number}\n`, resolve));
}
