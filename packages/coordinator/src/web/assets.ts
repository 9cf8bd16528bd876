import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { Site } from './site.ts';

/**
 * The text of a file beside the source. Callers must write the call as in `web-assets.ts`, with a literal
 * file name and the URL of the calling module: the build of a bundle finds exactly this form and replaces it
 * by the text (`deploy/build/threads.ts`).
 */
export function textFile(url: URL): string {
  return readFileSync(url, 'utf8');
}

const TYPES = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
} as const;

/** A file that pages load. The path changes with the content, so caches may keep the file for ever. */
export type Asset = {
  /** Path like `/assets/base.0f3a9c2b17.css`. */
  readonly path: string;
  readonly contentType: string;
  readonly text: string;
  readonly gzipped: Uint8Array<ArrayBuffer>;
};

/**
 * Makes an asset. It is served only if it is also in the list that {@link createAssetSite} gets.
 *
 * @param name file name, such as `base.css`
 */
export function asset(name: `${string}.${keyof typeof TYPES}`, text: string): Asset {
  const dot = name.lastIndexOf('.');
  const extension = name.slice(dot + 1) as keyof typeof TYPES;
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 10);
  return {
    path: `/assets/${name.slice(0, dot)}.${digest}.${extension}`,
    contentType: TYPES[extension],
    text,
    gzipped: new Uint8Array(gzipSync(text, { level: 9 })),
  };
}

/** Serves the assets of the list under every host, because status pages have their own hosts. */
export function createAssetSite(assets: readonly Asset[]): Site {
  const byPath = new Map(assets.map((one) => [one.path, one]));
  return {
    answer({ url, method, request }) {
      const found = byPath.get(url.pathname);
      if (found === undefined || method !== 'GET') return null;
      const isGzipped = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '');
      return new Response(isGzipped ? found.gzipped : found.text, {
        headers: {
          'content-type': found.contentType,
          ...(isGzipped ? { 'content-encoding': 'gzip' } : {}),
          vary: 'accept-encoding',
          'cache-control': 'public, max-age=31536000, immutable',
          'x-content-type-options': 'nosniff',
          'cross-origin-resource-policy': 'same-origin',
        },
      });
    },
  };
}
