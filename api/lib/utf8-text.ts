const UTF8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Returns the text of a file, without a byte order mark. Throws a `TypeError` for bytes that are not UTF-8: a decoder
 * that replaces them would have them applied as other characters.
 */
export const utf8Text = (bytes: Uint8Array): string => UTF8.decode(bytes);
