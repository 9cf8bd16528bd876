import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '@svc/coordinator/store/open.ts';
import type { Store } from '@svc/coordinator/store/store.ts';
import { createLogger } from '@svc/shared/log.ts';

const TABLES = [
  'results',
  'monitor_states',
  'transitions',
  'incidents',
  'links',
  'notifications',
  'off_grid_slots',
  'stream_position',
  'monitors',
];

export async function withStore(work: (fresh: () => Promise<Store>) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(process.env.SIM_DIR ?? tmpdir(), 'svc-simulation-'));
  const store = await openStore({
    path: join(directory, 'svc.db'),
    log: createLogger('simulation', 'silent'),
  });
  try {
    await work(async () => {
      await store.transaction(({ sqlite }) => {
        for (const table of TABLES) sqlite.exec(`DELETE FROM ${table}`);
        sqlite.exec(
          "INSERT INTO workspaces (id, name, created_at) VALUES (1, 'test', 0) ON CONFLICT DO NOTHING",
        );
      });
      return store;
    });
  } finally {
    await store.close();
    await rm(directory, { recursive: true });
  }
}
