/**
 * A process with a PostgreSQL server in a network of the test's own, with
 * a database `svc`. It writes the address of the server to the named file.
 */
import { writeFileSync } from 'node:fs';
import { startPostgres } from '../postgres-server.ts';

const [file = ''] = process.argv.slice(2);
const server = await startPostgres();
await server.run('CREATE DATABASE svc');
writeFileSync(file, `${server.url('svc').reveal()}\n`);
process.once('SIGTERM', () => void server.dispose().then(() => process.exit(0)));
process.stdout.write('ready\n');
