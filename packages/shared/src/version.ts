import manifest from '../package.json' with { type: 'json' };

/** Version of svc. All parts are released together, and a test compares every package's manifest with it. */
export const VERSION: string = manifest.version;
