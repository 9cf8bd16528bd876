import manifest from '../package.json' with { type: 'json' };

/** Version of svc: all its parts are released together. A test holds every package's manifest to it. */
export const VERSION: string = manifest.version;
