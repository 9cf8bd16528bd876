/** Name of the instrumentation scope of everything that svc exports. */
export const SCOPE_NAME = 'svc';
