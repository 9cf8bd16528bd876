import { randomBytes } from 'node:crypto';
import { Secret } from '@svc/shared/secret.ts';
import { factOrNew } from './facts.ts';
import type { Secrets } from './secrets.ts';
import type { Store } from './store.ts';

const JOB_KEY_BYTES = 32;

/** Values that are made at the first start of a database and never change. */
export type Installation = {
  /** 32 bytes: signs the tokens of jobs, so that a result can be checked without memory of its job. */
  readonly jobKey: Secret<Uint8Array>;
};

/** @throws StoreError `store-key` when the job key was sealed under another secret key */
export async function loadInstallation(store: Store, secrets: Secrets): Promise<Installation> {
  return store.transaction(async ({ db }) => {
    const sealed = await factOrNew(db, 'job_key', () =>
      Buffer.from(secrets.seal('facts.job_key', randomBytes(JOB_KEY_BYTES).toString('base64'))).toString(
        'base64',
      ),
    );
    const opened = secrets.open('facts.job_key', Buffer.from(sealed, 'base64'));
    return { jobKey: new Secret(Buffer.from(opened.reveal(), 'base64')) };
  });
}
