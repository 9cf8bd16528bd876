/**
 * Makes something once for each language: formats take some 50 µs to make, and pages show hundreds of figures.
 * Languages are few, so nothing is ever forgotten.
 */
export function perLanguage<T>(make: (language: string) => T): (language: string) => T {
  const made = new Map<string, T>();
  return (language) => {
    const known = made.get(language);
    if (known !== undefined) return known;
    const value = make(language);
    made.set(language, value);
    return value;
  };
}
