import manifest from '../package.json' with { type: 'json' };

/** Version of the agent, as heartbeats and its User-Agent name it. */
export const VERSION: string = manifest.version;
