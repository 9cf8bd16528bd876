import { Agent, setGlobalDispatcher } from 'undici';

/*
 * Setup for all tests: `fetch` opens a connection for each request. One that is kept is closed by the server after some
 * seconds without a request, and on a busy machine that may meet the next request on its way.
 */
const REGISTERED = Symbol.for('svc.fresh-connections');
if (Reflect.get(globalThis, REGISTERED) !== true) {
  Reflect.set(globalThis, REGISTERED, true);
  setGlobalDispatcher(new Agent({ pipelining: 0 }));
}
