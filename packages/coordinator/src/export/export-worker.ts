import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '@svc/shared/clock.ts';
import { createEgressGuard, type EgressGuard } from '@svc/shared/egress.ts';
import { proxyFor } from '@svc/shared/proxy/proxy.ts';
import { NO_PROXY_SETTINGS } from '@svc/shared/proxy/settings.ts';
import { Secret } from '@svc/shared/secret.ts';
import { readEnvironment } from '@svc/shared/settings.ts';
import type { ClientIdentity } from '@svc/shared/trusted-authorities.ts';
import { createHttpPost } from '../outgoing/http-post.ts';
import { ExportThread } from './export-thread.ts';
import type { ExportThreadData, FromExportThread, ToExportThread } from './protocol.ts';

/** The thread of the export: nothing that an endpoint does reaches the thread that schedules. */
const port = parentPort;
if (port === null) throw new TypeError('export-worker.ts runs as a worker thread only');

const data = workerData as ExportThreadData;

/** It is a function, which cannot be cloned for a thread. */
const { noProxy } = readEnvironment(NO_PROXY_SETTINGS, process.env).values;

/** Of the four threads that the process has for names: alerts and NATS need some too. */
const LOOKUPS = { atOnce: 2, ofSuspects: 1 };

function poster(guard: EgressGuard, tls: { ca: readonly string[]; identity?: ClientIdentity | undefined }) {
  const { proxy, timeoutMs } = data;
  const authorization = proxy?.authorization ?? null;
  const used =
    proxy === null
      ? undefined
      : { ...proxy, authorization: authorization === null ? null : new Secret(authorization) };
  return createHttpPost({
    clock: systemClock,
    guard,
    ...tls,
    timeoutMs,
    lookups: LOOKUPS,
    proxyFor: proxyFor(used, noProxy),
  });
}

function operatorTls() {
  const { ca, identity } = data.operator;
  return {
    ca: [...data.ca, ...ca],
    identity: identity === null ? undefined : { cert: identity.cert, key: new Secret(identity.key) },
  };
}

const thread = new ExportThread({
  data,
  clock: systemClock,
  post: {
    guarded: poster(createEgressGuard({ base: 'channel', deny: [], allow: data.egressAllow }), {
      ca: data.ca,
    }),
    // The operator has set the address himself.
    free: poster(createEgressGuard({ base: 'agent', deny: [], allow: ['0.0.0.0/0', '::/0'] }), operatorTls()),
  },
  tell: (message: FromExportThread) => port.postMessage(message),
});

port.on('message', (message: ToExportThread) => thread.take(message));
