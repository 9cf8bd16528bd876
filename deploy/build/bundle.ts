import { isBuiltin } from 'node:module';
import { type BuildOptions, type BuildResult, build, type Plugin } from 'esbuild';

export type Bundle = BuildResult<{ metafile: true }>;

/** Lines of a bundle without blanks, characters: Node prints the line of an error that nobody catches. */
export const LINE_LIMIT = 200;

/** Bundles with what all our bundles have in common; `metafile` says what went in. */
export async function bundle(options: BuildOptions): Promise<Bundle> {
  const { plugins = [], ...rest } = options;
  return await build({
    bundle: true,
    platform: 'node',
    // What the code is written for is Node 24. Older ones must be able to read the file, so that the check
    // at its start can say what is needed.
    target: 'node16',
    // One letter beyond Latin-1 anywhere, and V8 keeps the text of the file in two bytes a letter, once a thread.
    charset: 'ascii',
    legalComments: 'none',
    logLevel: 'warning',
    metafile: true,
    plugins: [...plugins, onlyEnglish, onlyRequestsOfUndici],
    ...rest,
  });
}

/**
 * zod carries its messages in some fifty languages, and its namespace object keeps them all alive. Ours are
 * in English: without the others a bundle is 250 KB smaller.
 */
const onlyEnglish: Plugin = {
  name: 'only-english',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
      loader: 'js',
    }));
  },
};

/**
 * undici brings caches, mocks, WebSockets and a `fetch` beside what we use, a client and its connections: 1 MB of a
 * bundle, and 5 MiB of a process. Whoever imports more of it fails the build here.
 */
const onlyRequestsOfUndici: Plugin = {
  name: 'only-requests-of-undici',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^undici$/ }, ({ path, resolveDir }) => ({
      path,
      namespace: 'undici',
      pluginData: resolveDir,
    }));
    onLoad({ filter: /./, namespace: 'undici' }, ({ pluginData }) => ({
      // As its own index.js does it.
      contents: `
        import Client from 'undici/lib/dispatcher/client.js';
        import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';
        import api from 'undici/lib/api/index.js';
        import buildConnector from 'undici/lib/core/connect.js';
        Object.assign(Dispatcher.prototype, api);
        export { buildConnector, Client };`,
      resolveDir: pluginData,
      loader: 'js',
    }));
  },
};

/**
 * Lets an ES module load Node's modules when they are needed instead of before its first line. As static
 * imports they would fail on an old Node, which has no `node:sqlite`, before the check of its version; and
 * bundled CommonJS packages need no `require` this way.
 */
export const builtinsWhenNeeded: Plugin = {
  name: 'builtins-when-needed',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[a-z]/ }, ({ path }) =>
      isBuiltin(path) ? { path: path.replace(/^node:/, ''), namespace: 'builtin' } : undefined,
    );
    onLoad({ filter: /./, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(`node:${path}`)});`,
      loader: 'js',
    }));
  },
};
