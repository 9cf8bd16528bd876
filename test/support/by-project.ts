import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Orders the test files as Vitest does. The files of a project stay together, because they share the project's workers,
 * which load the sources once. The worlds, one file that works all the time, come before the files that wait beside it.
 * Then come files with workers of their own.
 */
export class ByProject extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project.name))];
    const rank = ({ project }: TestSpecification) =>
      project.name === 'worlds' ? 0 : project.config.isolate ? 1 : 2;
    return sorted.sort(
      (one, other) =>
        rank(one) - rank(other) || projects.indexOf(one.project.name) - projects.indexOf(other.project.name),
    );
  }
}
