/** Separates the sentences of a message, and never occurs within one. */
const BETWEEN = '; ';
const MORE = /^and (\d+) more$/;

/** Returns the first `most` sentences, and how many more there are. */
export const shortened = (sentences: readonly string[], most: number): string[] =>
  sentences.length > most ? [...sentences.slice(0, most), moreOf(sentences.length - most)] : [...sentences];

/**
 * Joins as many sentences as fit into a message of this length, and says how many more there are. `sentencesIn` and
 * `leftOutOf` parse the message again.
 */
export function inOneMessage(sentences: readonly string[], length: number): string {
  const all = sentences.filter(isTold).map((sentence) => sentence.replaceAll(BETWEEN, ', '));
  const most = all.length + leftOut(sentences);
  for (let count = all.length; ; count--) {
    const message = [...all.slice(0, count), ...(count === most ? [] : [moreOf(most - count)])].join(BETWEEN);
    if (count === 0 || message.length <= length) return message;
  }
}

/** Returns the sentences of a message, without the note about those left out. */
export const sentencesIn = (message: string): string[] =>
  message.split(BETWEEN).filter((sentence) => sentence !== '' && isTold(sentence));

/** Returns how many sentences a message leaves out. */
export const leftOutOf = (message: string): number => leftOut(message.split(BETWEEN));

const moreOf = (count: number): string => `and ${count} more`;
const isTold = (sentence: string): boolean => !MORE.test(sentence);
const leftOut = (sentences: readonly string[]): number =>
  sentences.reduce((sum, sentence) => sum + Number(MORE.exec(sentence)?.[1] ?? 0), 0);
