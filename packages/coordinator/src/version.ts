import manifest from '../package.json' with { type: 'json' };

/** Version of the coordinator. */
export const VERSION: string = manifest.version;
