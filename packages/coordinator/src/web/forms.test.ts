import { expect, test } from 'vitest';
import { Form, readForm } from './forms.ts';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

const requestWith = (body: string | ReadableStream, headers: Record<string, string> = FORM) =>
  new Request('http://svc.example/', { method: 'POST', body, headers, duplex: 'half' } as RequestInit);

test('reads fields, also several of one name, with LF as line end', async () => {
  const form = await readForm(requestWith('name=a+b%26&region=x&region=y&text=1%0D%0A2'));
  expect(form).toBeInstanceOf(Form);
  if (!(form instanceof Form)) return;
  expect(form.text('name')).toBe('a b&');
  expect(form.all('region')).toEqual(['x', 'y']);
  expect(form.text('text')).toBe('1\n2');
  expect(form.text('absent')).toBe('');
  expect(form.has('absent')).toBe(false);
  expect(form.names()).toEqual(['name', 'region', 'text']);
});

test('bytes that are not UTF-8 become replacement characters', async () => {
  const form = await readForm(requestWith('name=%FF'));
  expect(form instanceof Form && form.text('name')).toBe('\uFFFD');
});

test('a body of another media type is refused', async () => {
  expect(await readForm(requestWith('{}', { 'content-type': 'application/json' }))).toMatchObject({
    status: 415,
  });
  expect(await readForm(requestWith('a=b', { 'content-type': 'text/plain' }))).toMatchObject({ status: 415 });
});

test('a body that is too large is refused before it is read, also without a length', async () => {
  expect(await readForm(requestWith(`a=${'x'.repeat(100)}`), 100)).toMatchObject({ status: 413 });
  let sent = 0;
  const endless = new ReadableStream({
    pull(controller) {
      sent += 1;
      controller.enqueue(new Uint8Array(50));
    },
  });
  expect(await readForm(requestWith(endless), 100)).toMatchObject({ status: 413 });
  expect(sent).toBeLessThan(10);
});

test('many fields are refused', async () => {
  expect(await readForm(requestWith('&'.repeat(1_000_000)))).toMatchObject({ status: 413 });
  const many = Array.from({ length: 8_001 }, (_, index) => `a${index}=`).join('&');
  expect(await readForm(requestWith(many))).toMatchObject({ status: 413 });
});

test('a body that ends early is refused', async () => {
  const broken = new ReadableStream({
    pull(controller) {
      controller.error(new Error('aborted'));
    },
  });
  expect(await readForm(requestWith(broken))).toMatchObject({ status: 400 });
});
