import { expect, test } from 'vitest';
import { parseHostsFile } from './hosts-file.ts';

test('names and aliases of all lines, whatever their case', () => {
  const hosts = parseHostsFile(`
127.0.0.1\tlocalhost
::1       localhost ip6-localhost # comment
10.0.0.1  Db.Example.com db
10.0.0.2  db
10.0.0.1  db
#10.0.0.3 db
nonsense  db
10.0.0.4
`);
  expect(Object.fromEntries(hosts)).toEqual({
    localhost: [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ],
    'ip6-localhost': [{ address: '::1', family: 6 }],
    'db.example.com': [{ address: '10.0.0.1', family: 4 }],
    db: [
      { address: '10.0.0.1', family: 4 },
      { address: '10.0.0.2', family: 4 },
    ],
  });
});

test('names that objects know are names like others', () => {
  expect(parseHostsFile('10.0.0.1 constructor __proto__').get('constructor')).toEqual([
    { address: '10.0.0.1', family: 4 },
  ]);
  expect(parseHostsFile('').get('toString')).toBeUndefined();
});

test('comments of lines that end with CR LF are none of their names', () => {
  expect([...parseHostsFile('10.0.0.1 a # b\r\n#10.0.0.2 c\r\n').keys()]).toEqual(['a']);
});
