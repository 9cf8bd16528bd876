/** The fields of a head as they are added, in their order, whatever version of HTTP brought them. */
export class HeaderFields {
  /** By lower-case name; several values joined by `, `, but of equal `Location`s one. */
  readonly values = new Map<string, string>();
  /** The values of `Set-Cookie`, one per field; undefined when there is none. */
  setCookies: string[] | undefined;
  hasSeveralLocations = false;

  /** @param name in lower case */
  add(name: string, value: string): void {
    const before = this.values.get(name);
    if (name === 'set-cookie') {
      this.setCookies ??= [];
      this.setCookies.push(value);
    } else if (before !== undefined && name === 'location') {
      this.hasSeveralLocations ||= before !== value;
      return;
    }
    this.values.set(name, before === undefined ? value : `${before}, ${value}`);
  }

  /**
   * Goes on with the value of the field that was added last.
   *
   * @param name that field's
   */
  extend(name: string, value: string): void {
    const before = this.values.get(name) ?? '';
    this.values.set(name, before === '' ? value : `${before} ${value}`);
    const cookie = name === 'set-cookie' ? this.setCookies?.pop() : undefined;
    if (cookie !== undefined) this.setCookies?.push(`${cookie} ${value}`);
  }
}
