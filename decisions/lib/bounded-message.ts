/** Separates the sentences of a message, and never occurs within one. */
const BETWEEN = '; ';

/**
 * Joins as many sentences as fit into a message of this length, and says how many more there are, with `more` that are
 * not given at all. People read it; nothing parses it.
 */
export function inOneMessage(sentences: readonly string[], length: number, more = 0): string {
  const all = sentences.map((sentence) => sentence.replaceAll(BETWEEN, ', '));
  for (let count = all.length; ; count--) {
    const left = all.length - count + more;
    const message = [...all.slice(0, count), ...(left === 0 ? [] : [`and ${left} more`])].join(BETWEEN);
    if (count === 0 || message.length <= length) return message;
  }
}
