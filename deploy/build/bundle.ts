import { isBuiltin } from 'node:module';
import { type BuildOptions, type BuildResult, build, type Plugin } from 'esbuild';

export type Bundle = BuildResult<{ metafile: true }>;

/** Longest line of a minified bundle, characters: Node prints the line of an uncaught error. */
export const LINE_LIMIT = 200;

/** Bundles with the options that all bundles share; `metafile` lists the inputs. */
export async function bundle(options: BuildOptions): Promise<Bundle> {
  const { plugins = [], ...rest } = options;
  return await build({
    bundle: true,
    platform: 'node',
    // The code needs Node 24. Older versions must be able to read the file, so that the check at its start
    // can name the version it needs.
    target: 'node16',
    // With a single character beyond Latin-1, V8 keeps the file's text with two bytes a character, in each
    // thread.
    charset: 'ascii',
    legalComments: 'none',
    logLevel: 'warning',
    metafile: true,
    plugins: [...plugins, onlyEnglish, onlyRequestsOfUndici],
    ...rest,
  });
}

/**
 * Escapes characters beyond ASCII. esbuild does that itself except in tagged templates, whose tag might read
 * the raw text. The tags in svc read the cooked text.
 */
export function withoutFurtherLetters(code: string): string {
  return code.replace(
    /[^\x00-\x7f]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/**
 * zod has its messages in some fifty languages, and its namespace object keeps all of them in the bundle. svc
 * uses English only: without the other languages a bundle is 250 KB smaller.
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
 * undici has caches, mocks, WebSockets and a `fetch` beside the parts that svc uses, a client and its
 * connections: 1 MB of a bundle, and 5 MiB of a process. An import of another part fails the build here.
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
      // As in undici's own index.js.
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
 * Makes an ES module load Node's modules when they are needed, instead of before its first line. Static
 * imports would fail on an old Node, which has no `node:sqlite`, before the check of its version. This way,
 * CommonJS packages in the bundle also work without `require`, which an ES module lacks.
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
