/** Descriptors that are kept for what is not asked for from outside: alerts, the database, NATS, files. */
const RESERVE = 512;
/** Fewer connections would make the API useless, more serve no client. */
const FEWEST = 64;
const MOST = 4_096;

type Report = { readonly userLimits?: { readonly open_files?: { readonly soft?: number | string } } };

/**
 * How many connections the API takes at once: whoever opens more is dropped, and alerts still find a descriptor.
 *
 * @param report of the process; its soft limit of open files counts
 */
export function connectionLimit(report: Report = process.report.getReport() as Report): number {
  const soft = Number(report.userLimits?.open_files?.soft ?? 1_024);
  const left = Number.isNaN(soft) ? MOST : soft - RESERVE;
  return Math.max(FEWEST, Math.min(MOST, left));
}
