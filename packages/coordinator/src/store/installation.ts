import { randomBytes, randomUUID } from 'node:crypto';
import { Secret } from '@svc/shared/secret.ts';
import { factOrNew } from './facts.ts';
import type { Secrets } from './secrets.ts';
import type { Store } from './store.ts';

const JOB_KEY_BYTES = 32;

/** What makes this installation different from every other; made at the first start and never changed. */
export type Installation = {
  /** Goes into what must be unique across installations: incident keys, delivery ids. */
  readonly id: string;
  /** 32 bytes: signs the tokens of jobs, so that a result can be checked without memory of its job. */
  readonly jobKey: Secret<Uint8Array>;
};

/** @throws StoreError `store-key` when the job key was sealed under another secret key */
export async function loadInstallation(store: Store, secrets: Secrets): Promise<Installation> {
  return store.transaction(async ({ db }) => {
    const id = await factOrNew(db, 'installation', randomUUID);
    const sealed = await factOrNew(db, 'job_key', () =>
      Buffer.from(secrets.seal('facts.job_key', randomBytes(JOB_KEY_BYTES).toString('base64'))).toString(
        'base64',
      ),
    );
    const jobKey = secrets.open('facts.job_key', Buffer.from(sealed, 'base64'));
    return { id, jobKey: new Secret(Buffer.from(jobKey.reveal(), 'base64')) };
  });
}
