/**
 * Address of a thread of the bundle this stands in: imports the bundle again with the thread's name behind
 * its address. `Worker` drops that part of a file's address, `import` keeps it, hence the module in between.
 */
export function bundleUrl(name: string): URL {
  const bundle = new URL(import.meta.url);
  bundle.searchParams.set('thread', name);
  return codeUrl(`import ${JSON.stringify(bundle.href)};`);
}

/** Address of a thread that is all in this text. */
export function codeUrl(code: string): URL {
  return new URL(`data:text/javascript,${encodeURIComponent(code)}`);
}
