import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { requireWritable, writeNewFile } from './write-file.ts';

const run = promisify(execFile);

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-write-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
});

const place = (name: string): string => join(folder, name);
const modeOf = async (name: string) => ((await stat(place(name))).mode & 0o777).toString(8);
const FORCED = { replaces: true, isSecret: true };

describe('writeNewFile', () => {
  test('replaces no file unless it is asked to', async () => {
    await writeFile(place('a'), 'former');
    await expect(writeNewFile(place('a'), 'new', { replaces: false, isSecret: false })).rejects.toThrow(
      '--force replaces it',
    );
    expect(await readFile(place('a'), 'utf8')).toBe('former');
  });

  test('takes a secret from other readers, and leaves the mode of other files', async () => {
    for (const name of ['a', 'b']) {
      await writeFile(place(name), 'former');
      await chmod(place(name), 0o640);
    }
    await writeNewFile(place('a'), 'new', FORCED);
    await writeNewFile(place('b'), 'new', { replaces: true, isSecret: false });
    expect([await modeOf('a'), await modeOf('b')]).toEqual(['600', '640']);
  });

  test('replaces what a link leads to, and not the link', async () => {
    await writeFile(place('real'), 'former and longer');
    await symlink(place('real'), place('link'));
    await symlink(place('later'), place('dangling'));
    await writeNewFile(place('link'), 'new', FORCED);
    await writeNewFile(place('dangling'), 'new', FORCED);
    expect(await readFile(place('real'), 'utf8')).toBe('new');
    expect(await readFile(place('later'), 'utf8')).toBe('new');
    expect((await readdir(folder)).sort()).toEqual(['dangling', 'later', 'link', 'real']);
  });

  test('leaves no part of a text that cannot be written, and a link that led to no file', async () => {
    await symlink(place('later'), place('dangling'));
    const module = JSON.stringify(new URL('./write-file.ts', import.meta.url).href);
    for (const name of ['new', 'dangling']) {
      const call = `writeNewFile(${JSON.stringify(place(name))}, 'x'.repeat(10_000), ${JSON.stringify(FORCED)})`;
      const script = `import { writeNewFile } from ${module}; await ${call}.catch(({ message }) => console.log(message))`;
      const limited = ['--fsize=4096', process.execPath, '--input-type=module', '--eval', script];
      expect((await run('prlimit', limited)).stdout).toMatch(/cannot write .*EFBIG/);
    }
    expect(await readdir(folder)).toEqual(['dangling']);
  });

  test('writes to a path that is no regular file, and refuses a folder', async () => {
    await writeNewFile('/dev/null', 'new', FORCED);
    expect((await stat('/dev/null')).isCharacterDevice()).toBe(true);
    await expect(writeNewFile(folder, 'new', FORCED)).rejects.toThrow(/cannot write .*EISDIR/);
  });
});

describe('requireWritable', () => {
  test.each([
    ['a folder that is missing', 'missing/file', 'ENOENT'],
    ['a file in place of a folder', 'file/file', 'ENOTDIR'],
    ['a folder in place of the file', 'folder', 'is a folder'],
  ])('refuses %s', async (_what, name, message) => {
    await writeFile(place('file'), '');
    await mkdir(place('folder'));
    await expect(requireWritable(place(name), true)).rejects.toThrow(message);
  });

  test('takes a new file and one that may be replaced, and leaves no trace', async () => {
    await writeFile(place('file'), 'former');
    await requireWritable(place('file'), true);
    await requireWritable(place('new'), false);
    await expect(requireWritable(place('file'), false)).rejects.toThrow('--force replaces it');
    expect(await readdir(folder)).toEqual(['file']);
  });
});
