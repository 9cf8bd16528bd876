const MOST_BYTES = 320 * 1024;
export const LARGE_MONITOR = '"type":"http","name":"a","url":"https://a.example/","periodicity":"1m"';
const CHANNEL = '"name":"a","provider_type":"email","email":{"email":"a@example.com"}';

/** `text` filled with repetitions of `part` up to nearly 320 KiB. */
function filled(before: string, part: string, after: string): string {
  return `${before}${part.repeat(Math.floor((MOST_BYTES - before.length - after.length - 10) / part.length))}${after}`;
}

const unknown = Array.from({ length: 25_000 }, (_, index) => `"k${index}":1`).join(',');

/** Bodies of 320 KiB that take long to read, to refuse or to answer, by their content. */
export const LARGE_BODIES: Readonly<Record<string, readonly [path: string, body: string, status: number]>> = {
  'unknown members': ['monitors', `{${LARGE_MONITOR},${unknown}}`, 422],
  'unknown members of what is no resource': ['tokens', `{"name":"a","scope":"read",${unknown}}`, 422],
  'lists in what is no resource': [
    'tokens',
    filled('{"name":"a","scope":[', '{"a":"aaaaaaaa"},', '[]]}'),
    422,
  ],
  'regions that are none': ['monitors', filled(`{${LARGE_MONITOR},"regions":[`, '"aaaaaa",', '"a"]}'), 422],
  'headers that are none': ['monitors', filled(`{${LARGE_MONITOR},"headers":[`, '{"k":1},', '{}]}'), 422],
  'ids that are numbers': ['notifications', filled(`{${CHANNEL},"monitor_ids":[`, '0,', '0]}'), 422],
  'ids that are not there': [
    'notifications',
    filled(`{${CHANNEL},"monitor_ids":[`, '"99999",', '"9"]}'),
    404,
  ],
  'lists without end': ['monitors', filled('', '[', ''), 400],
  'a text too long': ['monitors', filled(`{${LARGE_MONITOR},"body":"`, 'x', '"}'), 422],
  'a text of escapes': ['monitors', filled(`{${LARGE_MONITOR},"body":"`, '\\u0001', '"}'), 422],
};
