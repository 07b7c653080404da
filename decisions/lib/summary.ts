/** Temporal refuses a summary whose payload has more than 400 bytes, some of which are its encoding. */
const MAX_BYTES = 300;

/**
 * Truncates a sentence for the summary of a workflow, an activity or a timer, by its size in JSON, and never within a
 * character.
 */
export function summary(text: string): string {
  let bytes = 0;
  let kept = '';
  let fits = '';
  for (const character of text) {
    bytes += bytesOf(character);
    if (bytes > MAX_BYTES) return `${fits}…`;
    kept += character;
    if (bytes <= MAX_BYTES - 3) fits = kept;
  }
  return kept;
}

/** The size of a character in UTF-8, including its JSON escape. */
function bytesOf(character: string): number {
  const code = character.codePointAt(0)!;
  if (code < 0x20 || (code >= 0xd800 && code <= 0xdfff)) return 6;
  if (code < 0x80) return character === '"' || character === '\\' ? 2 : 1;
  if (code < 0x800) return 2;
  return code < 0x10000 ? 3 : 4;
}
