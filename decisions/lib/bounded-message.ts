/** Between two sentences of a message, and within none of them. */
const BETWEEN = '; ';
const MORE = /^and (\d+) more$/;

/** The first `most` of these sentences, and how many more there are. */
export const shortened = (sentences: readonly string[], most: number): string[] =>
  sentences.length > most ? [...sentences.slice(0, most), moreOf(sentences.length - most)] : [...sentences];

/**
 * As many of these sentences, whatever their words, as a message of this length holds, and how many more there are. It
 * can be read again: `sentencesIn` and `leftOutOf` tell what it says, and how much it does not.
 */
export function inOneMessage(sentences: readonly string[], length: number): string {
  const all = sentences.filter(isTold).map((sentence) => sentence.replaceAll(BETWEEN, ', '));
  const most = all.length + leftOut(sentences);
  for (let count = all.length; ; count--) {
    const message = [...all.slice(0, count), ...(count === most ? [] : [moreOf(most - count)])].join(BETWEEN);
    if (count === 0 || message.length <= length) return message;
  }
}

/** The sentences of a message; what it says of those that it leaves out is none. */
export const sentencesIn = (message: string): string[] =>
  message.split(BETWEEN).filter((sentence) => sentence !== '' && isTold(sentence));

/** How many sentences a message leaves out. */
export const leftOutOf = (message: string): number => leftOut(message.split(BETWEEN));

const moreOf = (count: number): string => `and ${count} more`;
const isTold = (sentence: string): boolean => !MORE.test(sentence);
const leftOut = (sentences: readonly string[]): number =>
  sentences.reduce((sum, sentence) => sum + Number(MORE.exec(sentence)?.[1] ?? 0), 0);
