/**
 * The address of a thread of this bundle: it imports the bundle again with the thread's name in the query.
 * `Worker` drops the query of a file's address and `import` keeps it, hence the module in between.
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
