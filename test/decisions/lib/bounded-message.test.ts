import fc from 'fast-check';
import { expect, test } from 'vitest';
import { inOneMessage, leftOutOf, sentencesIn, shortened } from '../../../decisions/lib/bounded-message.ts';

test('a message tells what it can, and how much it leaves out', () => {
  expect(inOneMessage([], 20)).toBe('');
  expect(inOneMessage(['one', 'two'], 20)).toBe('one; two');
  expect(inOneMessage(['one; and a half', 'two'], 20)).toBe('one, and a half; two');
  expect(inOneMessage(['one; and a half', 'two'], 19)).toBe('and 2 more');
  const sentences = [...shortened(['one', 'two', 'three'], 2), ...shortened(['four', 'five'], 1)];
  expect(inOneMessage(sentences, 99)).toBe('one; two; four; and 2 more');
});

test('no sentence gets lost unsaid, whatever its words', () =>
  fc.assert(
    fc.property(fc.array(fc.string({ minLength: 1 })), fc.nat(80), (words, length) => {
      const sentences = words.map((word, index) => `web-${index} is sick (${word}; ; ${word}): later`);
      const message = inOneMessage(sentences, length);
      expect(message.length).toBeLessThanOrEqual(Math.max(length, `and ${sentences.length} more`.length));
      const told = sentencesIn(message);
      expect(told.map((sentence) => sentence.split(' ')[0])).toEqual(told.map((_, index) => `web-${index}`));
      expect(told.length + leftOutOf(message)).toBe(sentences.length);
    }),
  ));
