import manifest from '../package.json' with { type: 'json' };

/** Version of the provider, as `--version`, its User-Agent and the release name it. */
export const VERSION: string = manifest.version;
