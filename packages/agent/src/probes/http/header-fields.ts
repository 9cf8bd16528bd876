/** The fields of a head in the order in which they are added, for every version of HTTP. */
export class HeaderFields {
  /** Values by lower-case name. Several values are joined by `, `; equal `Location`s count once. */
  readonly values = new Map<string, string>();
  /** The values of `Set-Cookie`, one for each field; undefined when there is none. */
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
   * Continues the value of the field that was added last.
   *
   * @param name name of that field
   */
  extend(name: string, value: string): void {
    const before = this.values.get(name) ?? '';
    this.values.set(name, before === '' ? value : `${before} ${value}`);
    const cookie = name === 'set-cookie' ? this.setCookies?.pop() : undefined;
    if (cookie !== undefined) this.setCookies?.push(`${cookie} ${value}`);
  }
}
