declare module 'html-encoding-sniffer' {
  /**
   * Returns the name of the encoding, as `TextDecoder` accepts it, or `defaultEncoding` when none is found.
   */
  export default function sniffEncoding<T>(
    bytes: Uint8Array,
    options: { xml: boolean; transportLayerEncodingLabel?: string | undefined; defaultEncoding: T },
  ): string | T;
}
