import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take longest, in seconds of a quiet machine with two processors (2026-11-22). Only their order counts. A
 * fresh clone knows no durations, and the size of a file says little: a file of two minutes that begins last keeps one
 * worker busy while the others have nothing left.
 */
export const LONGEST: Readonly<Record<string, number>> = {
  'packages/agent/src/dns/client.test.ts': 12,
  'packages/coordinator/src/export/metrics-export.test.ts': 9,
  'packages/coordinator/src/store/writing.test.ts': 9,
  'packages/coordinator/src/rollups/rollups.test.ts': 8,
  'packages/coordinator/src/configuration/configuration.test.ts': 5,
  'test/conformance/lives.test.ts': 6,
  'test/conformance/mail.test.ts': 6,
  'test/conformance/vendor-rules.test.ts': 5,
  'packages/agent/src/probes/http/hostile.test.ts': 5,
  'packages/coordinator/src/api/listener.test.ts': 4,
  'packages/shared/src/nats-tls.test.ts': 11,
  'packages/coordinator/src/recording/consumer-regions.test.ts': 9,
  'packages/coordinator/src/dispatch/overload.test.ts': 9,
  'packages/agent/src/app.test.ts': 8,
  'test/browser/every-page.test.ts': 40,
  'test/browser/resource-forms.test.ts': 25,
  'test/browser/monitor.test.ts': 20,
  'test/browser/status-page.test.ts': 12,
  'test/integration/otlp.test.ts': 83,
  'test/integration/contract.test.ts': 82,
  'test/integration/own-network.test.ts': 69,
  'test/integration/alert-rules.test.ts': 63,
  'test/integration/leading.test.ts': 53,
  'test/integration/changes.test.ts': 50,
  'test/integration/garbage.test.ts': 46,
  'test/integration/clocks.test.ts': 42,
  'test/integration/flood.test.ts': 40,
  'test/integration/region-command.test.ts': 33,
  'test/integration/own-metrics.test.ts': 32,
  'test/integration/main-path.test.ts': 27,
  'test/integration/stream.test.ts': 25,
  'test/integration/dashboards.test.ts': 23,
  'test/integration/regions.test.ts': 22,
  'test/integration/held-up-agent.test.ts': 20,
  'test/integration/doctor-command.test.ts': 15,
  'test/integration/rollups.test.ts': 15,
  'test/integration/held-database.test.ts': 14,
  'test/e2e/recovery.test.ts': 90,
  'test/e2e/operations.test.ts': 43,
  'test/e2e/terraform/lifecycle.test.ts': 40,
  'test/e2e/terraform/examples.test.ts': 39,
  'test/e2e/terraform/terraform.test.ts': 39,
  'test/e2e/versions.test.ts': 30,
  'test/e2e/start.test.ts': 25,
  'test/e2e/release.test.ts': 23,
  'test/e2e/terraform/export.test.ts': 19,
  'test/e2e/terraform/faults.test.ts': 19,
  'test/e2e/deployed/containers.test.ts': 16,
  'test/e2e/deployed/company.test.ts': 14,
};

/** Vitest's order, but within a project the {@link LONGEST} files come first. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = new Map(sorted.map(({ project }, index) => [project.name, index]));
    return sorted.sort(
      (one, other) =>
        (rank.get(one.project.name) ?? 0) - (rank.get(other.project.name) ?? 0) ||
        secondsOf(other) - secondsOf(one),
    );
  }
}

function secondsOf({ project, moduleId }: TestSpecification): number {
  return LONGEST[relative(project.config.root, moduleId)] ?? 0;
}
