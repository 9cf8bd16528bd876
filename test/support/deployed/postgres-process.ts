/** A PostgreSQL server in a network of the test's own, with a database `svc`. Its address is written to the named file. */
import { writeFileSync } from 'node:fs';
import { startPostgres } from '../postgres-server.ts';

const [file = ''] = process.argv.slice(2);
const server = await startPostgres();
await server.run('CREATE DATABASE svc');
writeFileSync(file, `${server.url('svc').reveal()}\n`);
process.once('SIGTERM', () => void server.dispose().then(() => process.exit(0)));
process.stdout.write('ready\n');
