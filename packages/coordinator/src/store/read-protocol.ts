/** Data that the reading thread is started with. */
export type ReaderData = { readonly path: string };

export type ReaderRequest = { readonly sql: string; readonly parameters: readonly unknown[] };
