/** Temporal refuses a summary whose payload has more than 400 bytes; its encoding takes some of them. */
const MOST_BYTES = 300;

/**
 * A sentence as Temporal takes it for the summary of a workflow, an activity or a timer: cut by the bytes that it has
 * in JSON, and never within a character.
 */
export function summary(text: string): string {
  let bytes = 0;
  let kept = '';
  let fits = '';
  for (const character of text) {
    bytes += bytesOf(character);
    if (bytes > MOST_BYTES) return `${fits}…`;
    kept += character;
    if (bytes <= MOST_BYTES - 3) fits = kept;
  }
  return kept;
}

/** In UTF-8, with what JSON writes before some characters. */
function bytesOf(character: string): number {
  const code = character.codePointAt(0)!;
  if (code < 0x20 || (code >= 0xd800 && code <= 0xdfff)) return 6;
  if (code < 0x80) return character === '"' || character === '\\' ? 2 : 1;
  return code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}
