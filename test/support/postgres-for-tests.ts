import { startPostgres } from './postgres-server.ts';

/** Starts the PostgreSQL server of a run of tests. Each test has a database of its own on it. */
export default async function setup(): Promise<() => Promise<void>> {
  const server = await startPostgres();
  process.env.TESTS_POSTGRES = server.url('').reveal().replace(/\/$/, '');
  return () => server.dispose();
}
