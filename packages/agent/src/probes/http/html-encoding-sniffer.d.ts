declare module 'html-encoding-sniffer' {
  /** Returns the name of the encoding, which `TextDecoder` accepts, or else `defaultEncoding`. */
  export default function sniffEncoding<T>(
    bytes: Uint8Array,
    options: { xml: boolean; transportLayerEncodingLabel?: string | undefined; defaultEncoding: T },
  ): string | T;
}
