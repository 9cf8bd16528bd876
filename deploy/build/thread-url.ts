/**
 * Address of a thread of the bundle this stands in: imports the bundle again with the thread's name behind
 * its address. `Worker` drops that part of a file's address, `import` keeps it, hence the module in between.
 */
export function threadUrl(name: string): URL {
  const bundle = new URL(import.meta.url);
  bundle.searchParams.set('thread', name);
  return new URL(`data:text/javascript,${encodeURIComponent(`import ${JSON.stringify(bundle.href)};`)}`);
}
