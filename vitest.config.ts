import { defineConfig } from 'vitest/config';

/**
 * Unit tests work the processor; what stands under `test/` mostly waits for periods to pass, so more of it
 * runs at once. Killing processes at 1,000 checks a second wants the machine for itself and comes last.
 */
export default defineConfig({
  test: {
    pool: 'forks',
    testTimeout: 20_000,
    hookTimeout: 30_000,
    globalSetup: ['test/support/temporary-folder.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: [
            'packages/*/src/**/*.test.ts',
            'deploy/**/*.test.ts',
            'test/*.test.ts',
            'test/conformance/**/*.test.ts',
            'test/simulation/oracle/*.test.ts',
          ],
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          maxWorkers: 4,
          sequence: { groupOrder: 1 },
        },
      },
      {
        // It takes all processors by itself.
        extends: true,
        test: {
          name: 'simulation',
          include: ['test/simulation/*.test.ts'],
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          maxWorkers: 1,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
