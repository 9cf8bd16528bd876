declare module 'html-encoding-sniffer' {
  /** The name of the encoding as `TextDecoder` takes it, or `defaultEncoding`. */
  export default function sniffEncoding<T>(
    bytes: Uint8Array,
    options: { xml: boolean; transportLayerEncodingLabel?: string | undefined; defaultEncoding: T },
  ): string | T;
}
