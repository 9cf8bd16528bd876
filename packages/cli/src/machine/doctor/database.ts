import { databaseOf } from '@svc/coordinator/config.ts';
import { examineServer, isShared } from '@svc/coordinator/store/database-url.ts';
import { messageOf } from '@svc/shared/errors.ts';
import { createLogger } from '@svc/shared/log.ts';
import { type Finding, findingsOf, type Subject } from './finding.ts';

const { ok, failed } = findingsOf('database');

/** Connects to PostgreSQL as the coordinator would, and writes nothing. An SQLite file has no server. */
export async function databaseFindings(subject: Subject): Promise<Finding[]> {
  if (subject.role === 'agent') return [];
  const { databaseUrl, dataDir } = subject.config;
  const url = databaseOf(databaseUrl, dataDir);
  if (!isShared(url)) return [];
  const { host, pathname } = new URL(url.reveal());
  const shown = `the database ${host}${pathname}`;
  try {
    const { version, isReadOnly } = await examineServer(url, createLogger('doctor', 'silent'));
    const what = `connected to ${shown}, PostgreSQL ${version}`;
    if (!isReadOnly) return [ok(what)];
    return [
      failed(`${what}, which is read-only`, 'let SVC_DATABASE_URL lead to the primary, not to a standby'),
    ];
  } catch (error) {
    return [
      failed(
        `cannot use ${shown}: ${messageOf(error)}`,
        'look at SVC_DATABASE_URL, the firewall and the log of the PostgreSQL server',
      ),
    ];
  }
}
