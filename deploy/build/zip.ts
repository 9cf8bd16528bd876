import { buffer } from 'node:stream/consumers';
import { ZipFile } from 'yazl';

export type ZipEntry = {
  readonly name: string;
  readonly content: Buffer;
  readonly isExecutable?: boolean;
};

/**
 * The first instant that a zip can hold. Zips store local time, so this value is the same in every time zone.
 */
const MTIME = new Date(1980, 0, 1);

/** A zip file that depends only on its entries: it has the same bytes on every machine and at any time. */
export async function zip(entries: readonly ZipEntry[]): Promise<Buffer> {
  const file = new ZipFile();
  for (const { name, content, isExecutable = false } of entries) {
    file.addBuffer(content, name, {
      mtime: MTIME,
      // The additional field for the time in UTC is left out.
      forceDosTimestamp: true,
      mode: isExecutable ? 0o100755 : 0o100644,
    });
  }
  file.end();
  return await buffer(file.outputStream);
}
