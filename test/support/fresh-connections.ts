import { Agent, setGlobalDispatcher } from 'undici';

/*
 * Setup for all tests: `fetch` opens a connection for each request. The server closes a kept connection after
 * some seconds without a request, and on a busy machine the next request may already be on its way then.
 */
const REGISTERED = Symbol.for('svc.fresh-connections');
if (Reflect.get(globalThis, REGISTERED) !== true) {
  Reflect.set(globalThis, REGISTERED, true);
  setGlobalDispatcher(new Agent({ pipelining: 0 }));
}
