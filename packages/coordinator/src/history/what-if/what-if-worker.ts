import { parentPort, workerData } from 'node:worker_threads';
import { createLogger } from '@svc/shared/log.ts';
import { Secret } from '@svc/shared/secret.ts';
import { openReading } from '../../store/database-url.ts';
import { type Comparison, compare } from './compare.ts';
import type { WhatIfRequest } from './what-ifs.ts';

/** The entry of the thread of one replay. The thread posts the comparison to the main thread, and ends. */
const port = parentPort;
if (port === null) throw new TypeError('what-if-worker.ts runs as a worker thread only');

const { database, present, ...asked } = workerData as WhatIfRequest;
const store = await openReading(new Secret(database), createLogger('what-if', 'silent'));
try {
  // A replay probes nothing and exports nothing.
  const monitor = { ...present, checkText: new Secret('{}'), declaredExport: null };
  port.postMessage((await compare(store, { ...asked, present: monitor })) satisfies Comparison | null);
} finally {
  await store.close();
}
