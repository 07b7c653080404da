/** Separates the sentences of a message, and never occurs within one. */
const BETWEEN = '; ';

/** A sentence about several things. */
export interface SentenceOfMany {
  sentence: string;
  /** How many things the sentence is about. */
  of: number;
}

/**
 * Joins as many sentences as fit into a message of this length, and says how many more there are, with `more` that are
 * not given at all. Users read it; nothing parses it.
 */
export function inOneMessage(
  sentences: readonly (string | SentenceOfMany)[],
  { length = 2_048, more = 0 }: { length?: number; more?: number } = {},
): string {
  const all = sentences.map((one) => (typeof one === 'string' ? { sentence: one, of: 1 } : one));
  for (let count = all.length; ; count--) {
    const omitted = all.slice(count).reduce((sum, { of }) => sum + of, more);
    const given = all.slice(0, count).map(({ sentence }) => sentence.replaceAll(BETWEEN, ', '));
    const message = [...given, ...(omitted === 0 ? [] : [`and ${omitted} more`])].join(BETWEEN);
    if (count === 0 || message.length <= length) return message;
  }
}
