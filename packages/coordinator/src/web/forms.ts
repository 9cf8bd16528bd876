/**
 * Default maximum size of a form, bytes. The percent-encoded form of a monitor with the largest body fits.
 */
const MOST_BYTES = 1_048_576;
/** Maximum number of fields of a form. A form that links 2,000 monitors has two fields for each monitor. */
const MOST_FIELDS = 8_000;

/** The fields of a form. */
export class Form {
  readonly #fields: URLSearchParams;

  constructor(fields: URLSearchParams = new URLSearchParams()) {
    this.#fields = fields;
  }

  /** The first value of a field; '' if the form does not have it. Line ends are LF. */
  text(name: string): string {
    return plainLines(this.#fields.get(name) ?? '');
  }

  /** Every value of a field, in the order of the form. */
  all(name: string): string[] {
    return this.#fields.getAll(name).map(plainLines);
  }

  has(name: string): boolean {
    return this.#fields.has(name);
  }

  /** The names of all fields, each once. */
  names(): string[] {
    return [...new Set(this.#fields.keys())];
  }
}

/** The refusal of a form, with a message for people. */
export type FormRefusal = { readonly status: 400 | 403 | 413 | 415; readonly message: string };

/**
 * Reads the form of a request, as browsers send it without files (`application/x-www-form-urlencoded`).
 *
 * @param mostBytes maximum size of the body, bytes; the default is 1 MiB
 */
export async function readForm(request: Request, mostBytes = MOST_BYTES): Promise<Form | FormRefusal> {
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded')
    return { status: 415, message: 'The request contains no form.' };
  const bytes = await bytesOf(request, mostBytes);
  if (!(bytes instanceof Uint8Array)) return bytes;
  const text = new TextDecoder().decode(bytes);
  if (hasManyFields(text)) return { status: 413, message: `The form has more than ${MOST_FIELDS} fields.` };
  return new Form(new URLSearchParams(text));
}

/**
 * Whether a form has more fields than allowed. This counts separators before the form is parsed, because
 * parsing a form that consists of separators would take a second.
 */
function hasManyFields(text: string): boolean {
  let at = -1;
  for (let count = 0; count < MOST_FIELDS; count += 1) {
    at = text.indexOf('&', at + 1);
    if (at === -1) return false;
  }
  return true;
}

async function bytesOf({ headers, body }: Request, mostBytes: number): Promise<Uint8Array | FormRefusal> {
  const tooLarge: FormRefusal = { status: 413, message: `The form has more than ${mostBytes} bytes.` };
  if (Number(headers.get('content-length') ?? 0) > mostBytes) return tooLarge;
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body ?? []) {
      size += chunk.byteLength;
      if (size > mostBytes) return tooLarge;
      chunks.push(chunk);
    }
  } catch {
    // The visitor closed the connection.
    return { status: 400, message: 'The connection ended before the form was complete.' };
  }
  return Buffer.concat(chunks);
}

/** Replaces CR LF by LF. Browsers send CR LF in multi-line fields. */
function plainLines(text: string): string {
  return text.replaceAll('\r\n', '\n');
}
