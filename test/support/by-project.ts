import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Orders the test files as Vitest does. The files of a project stay together, because they share
 * the project's workers, which load the sources once. Files with workers of their own come first.
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
