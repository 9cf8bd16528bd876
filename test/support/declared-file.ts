import { join } from 'node:path';
import { DeclaredFile, type DeclaredFileParts } from '@svc/coordinator/declaration/yaml/declared-file.ts';
import { type ConfiguredStore, configuredStore, silentLog, temporaryFolder } from './configured-store.ts';
import { readOnThisThread } from './read-declaration.ts';
import { ScaledClock } from './scaled-clock.ts';
import { STORE_IN_PROCESS } from './store-in-process.ts';

/** A folder for declared files with a store of its own, for one test. */
export type DeclaredFiles = {
  readonly store: ConfiguredStore;
  readonly folder: string;
  /** Path of `svc.yaml` in the folder. The file does not exist at first. */
  readonly path: string;
  /** Makes a declared file that is not started. It is stopped together with the others. */
  declaredFile(changes?: Partial<DeclaredFileParts>): DeclaredFile;
  dispose(): Promise<void>;
};

export async function declaredFiles(
  env: DeclaredFileParts['env'] = { HOOK: 'https://hook.example/a' },
  workers = STORE_IN_PROCESS,
): Promise<DeclaredFiles> {
  const [store, folder] = await Promise.all([configuredStore(workers), temporaryFolder()]);
  const path = join(folder.path, 'svc.yaml');
  const running: DeclaredFile[] = [];
  return {
    store,
    folder: folder.path,
    path,
    declaredFile(changes = {}) {
      const file = new DeclaredFile({
        path,
        workspaceId: store.workspaceId,
        configuration: store.configuration,
        store: store.store,
        version: '1.0.0',
        secrets: store.secrets,
        env,
        allowsDelete: false,
        channelProblem: () => null,
        // With this factor, the 500 ms for which a changed file must be quiet pass in 25 ms.
        clock: new ScaledClock(20),
        log: silentLog,
        // Reads on this thread, because starting a thread for every case takes long. One test uses the thread
        // of the service.
        read: async (request) => readOnThisThread(request),
        ...changes,
      });
      running.push(file);
      return file;
    },
    async dispose() {
      await Promise.all(running.map((file) => file.stop()));
      await Promise.all([store.dispose(), folder.remove()]);
    },
  };
}
