import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take longest, in seconds of a quiet machine with two processors (2026-11-23). Only their order counts. A
 * fresh clone knows no durations, and the size of a file says little: a file of two minutes that begins last keeps one
 * worker busy while the others have nothing left.
 */
export const LONGEST: Readonly<Record<string, number>> = {
  'packages/agent/src/dns/client.test.ts': 12,
  'packages/coordinator/src/api/listener.test.ts': 8,
  'test/conformance/mail.test.ts': 7,
  'packages/agent/src/probes/http/hostile.test.ts': 5,
  'test/conformance/vendor-rules.test.ts': 5,
  'test/refusals/refusals.test.ts': 5,
  'packages/coordinator/src/rollups/rollups.test.ts': 5,
  'test/conformance/lives.test.ts': 4,
  'packages/coordinator/src/export/pipeline.test.ts': 4,
  'packages/coordinator/src/store/open.test.ts': 4,
  'packages/coordinator/src/configuration/configuration.test.ts': 4,
  'test/no-leaks.test.ts': 12,
  'packages/coordinator/src/recording/consumer.test.ts': 11,
  'packages/shared/src/nats-tls.test.ts': 10,
  'packages/coordinator/src/recording/consumer-regions.test.ts': 10,
  'packages/agent/src/app.test.ts': 9,
  'packages/agent/src/result-outbox.test.ts': 5,
  'packages/coordinator/src/export/metrics-export.test.ts': 15,
  'packages/agent/src/after-reading.test.ts': 10,
  'packages/coordinator/src/store/writing.test.ts': 9,
  'packages/coordinator/src/store/checkpoints.test.ts': 6,
  'packages/coordinator/src/dispatch/overload.test.ts': 5,
  'test/browser/resource-forms.test.ts': 75,
  'test/browser/every-page.test.ts': 55,
  'test/browser/monitor.test.ts': 35,
  'test/browser/status-page.test.ts': 15,
  'test/browser/status-page-editor.test.ts': 17,
  'test/browser/dashboard.test.ts': 14,
  'test/browser/channels.test.ts': 14,
  'test/browser/hostile-values.test.ts': 15,
  'test/browser/live.test.ts': 7,
  'test/browser/status-page-forms.test.ts': 15,
  'test/browser/notes.test.ts': 20,
  'test/browser/drafts.test.ts': 6,
  'test/browser/login.test.ts': 10,
  'test/browser/what-if.test.ts': 10,
  'test/browser/page-problems.test.ts': 4,
  'test/integration/leading.test.ts': 79,
  'test/integration/alert-rules.test.ts': 95,
  'test/integration/own-network.test.ts': 67,
  'test/integration/region-command.test.ts': 32,
  'test/integration/contract.test.ts': 55,
  'test/integration/otlp.test.ts': 45,
  'test/integration/changes.test.ts': 26,
  'test/integration/clocks.test.ts': 35,
  'test/integration/garbage.test.ts': 34,
  'test/integration/own-metrics.test.ts': 31,
  'test/integration/flood.test.ts': 33,
  'test/integration/regions.test.ts': 24,
  'test/integration/main-path.test.ts': 23,
  'test/integration/stream.test.ts': 21,
  'test/integration/locked-database.test.ts': 20,
  'test/integration/accounts.test.ts': 20,
  'test/integration/dashboards.test.ts': 20,
  'test/integration/doctor-command.test.ts': 19,
  'test/integration/held-up-agent.test.ts': 13,
  'test/integration/status-command.test.ts': 17,
  'test/integration/full-disk.test.ts': 5,
  'test/integration/workspaces.test.ts': 4,
  'test/integration/terraform-provider/plugin-process.test.ts': 14,
  'test/integration/rollups.test.ts': 14,
  'test/integration/held-database.test.ts': 12,
  'test/integration/export.test.ts': 17,
  'test/e2e/recovery.test.ts': 113,
  'test/e2e/operations.test.ts': 46,
  'test/e2e/terraform/examples.test.ts': 25,
  'test/e2e/terraform/lifecycle.test.ts': 72,
  'test/e2e/terraform/terraform.test.ts': 32,
  'test/e2e/killed-export.test.ts': 39,
  'test/e2e/release.test.ts': 44,
  'test/e2e/start.test.ts': 29,
  'test/e2e/terraform/faults.test.ts': 28,
  'test/e2e/versions.test.ts': 47,
  'test/e2e/deployed/containers.test.ts': 24,
  'test/e2e/deployed/company.test.ts': 24,
  'test/e2e/terraform/references.test.ts': 29,
  'test/e2e/terraform/export.test.ts': 22,
  'test/e2e/killed-groups.test.ts': 8,
  'test/e2e/terraform/shapes.test.ts': 4,
  'test/e2e/bundles.test.ts': 8,
  'test/e2e/deployed/images.test.ts': 15,
  'test/e2e/terraform/refused.test.ts': 12,
  'test/e2e/deployed/cluster.test.ts': 12,
  'test/e2e/terraform/plan-time.test.ts': 11,
  'test/e2e/terraform/alerts.test.ts': 6,
  'test/e2e/terraform/secrets.test.ts': 14,
  'test/e2e/terraform/agreement.test.ts': 5,
  'test/e2e/terraform/rules.test.ts': 1,
  'test/e2e/terraform/wire.test.ts': 1,
  'test/e2e/terraform/places.test.ts': 1,
  'test/e2e/kill.test.ts': 70,
  'test/e2e/stop-on-stalled-disk.test.ts': 2,
  'test/simulation/simulation.test.ts': 60,
  'test/simulation/mutations.test.ts': 26,
  'test/simulation/replay.test.ts': 26,
  'test/fuzz/fuzz.test.ts': 12,
};

/**
 * The {@link LONGEST} files come first. Those of projects whose files share workers stay together, by the longest one of
 * the project. Files that have workers of their own precede them.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const longest = new Map<string, number>();
    for (const file of sorted) {
      const sharing = sharingOf(file);
      longest.set(sharing, Math.max(longest.get(sharing) ?? 0, secondsOf(file)));
    }
    return sorted.sort(
      (one, other) =>
        Number(other.project.config.isolate) - Number(one.project.config.isolate) ||
        (longest.get(sharingOf(other)) ?? 0) - (longest.get(sharingOf(one)) ?? 0) ||
        sharingOf(one).localeCompare(sharingOf(other)) ||
        secondsOf(other) - secondsOf(one),
    );
  }
}

/** The project whose files share workers with this one; '': it has a worker of its own. */
function sharingOf({ project }: TestSpecification): string {
  return project.config.isolate ? '' : project.name;
}

function secondsOf({ project, moduleId }: TestSpecification): number {
  return LONGEST[relative(project.config.root, moduleId)] ?? 0;
}
