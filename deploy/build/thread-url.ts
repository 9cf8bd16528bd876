/**
 * The address of a thread of this bundle. The address is that of a small module, which imports the bundle
 * again with the thread's name in the query. It is needed because `Worker` drops the query of a file's
 * address, while `import` keeps it.
 */
export function bundleUrl(name: string): URL {
  const bundle = new URL(import.meta.url);
  bundle.searchParams.set('thread', name);
  return codeUrl(`import ${JSON.stringify(bundle.href)};`);
}

/** The address of a thread whose code is this text. */
export function codeUrl(code: string): URL {
  return new URL(`data:text/javascript,${encodeURIComponent(code)}`);
}
