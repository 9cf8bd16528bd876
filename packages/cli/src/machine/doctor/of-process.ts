import { type Finding, findingsOf, type Subject } from './finding.ts';

const { ok, warning, failed } = findingsOf('process');

/** Number of descriptors that a process needs in addition to those of its attempts or API connections. */
const RESERVE = 512;
const OF_COORDINATOR = 4_096;

type Report = { readonly userLimits?: { readonly open_files?: { readonly soft?: number | string } } };

/**
 * Checks the version of Node.js and the limit of open files. A
 * service that is started like this command has the same limit.
 */
export function processFindings(subject: Subject | null): Finding[] {
  const { version } = process;
  const major = Number(version.slice(1).split('.')[0]);
  return [
    major >= 24
      ? ok(`Node.js ${version}`)
      : failed(`Node.js ${version}, and svc needs 24 or newer`, 'install Node.js 24, or call it by its path'),
    descriptors(subject),
  ];
}

function descriptors(subject: Subject | null): Finding {
  const { userLimits } = process.report.getReport() as Report;
  const soft = Number(userLimits?.open_files?.soft ?? Number.NaN);
  const wanted = (subject?.role === 'agent' ? subject.config.concurrency : OF_COORDINATOR) + RESERVE;
  // The value may be the text "unlimited".
  if (Number.isNaN(soft) || soft >= wanted)
    return ok(`the bound on open files is ${Number.isNaN(soft) ? 'none' : soft}`);
  return warning(
    `at most ${soft} files may be open, and ${wanted} may be needed`,
    `set LimitNOFILE=${Math.max(65_536, wanted)} in the unit, or "ulimit -n" in the shell that starts it`,
  );
}
