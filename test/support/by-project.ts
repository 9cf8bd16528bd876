import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Vitest's own order, in which the files of a project stay together: they share its workers, which load the sources once.
 * Files that have workers of their own precede them.
 */
export class ByProject extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project.name))];
    return sorted.sort(
      (one, other) =>
        Number(other.project.config.isolate) - Number(one.project.config.isolate) ||
        projects.indexOf(one.project.name) - projects.indexOf(other.project.name),
    );
  }
}
