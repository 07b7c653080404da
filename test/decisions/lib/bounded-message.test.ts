import fc from 'fast-check';
import { expect, test } from 'vitest';
import { inOneMessage } from '../../../decisions/lib/bounded-message.ts';

test('a message lists what fits, and says how much it leaves out', () => {
  expect(inOneMessage([], { length: 20 })).toBe('');
  expect(inOneMessage(['one', 'two'], { length: 20 })).toBe('one; two');
  expect(inOneMessage(['one; and a half', 'two'], { length: 20 })).toBe('one, and a half; two');
  expect(inOneMessage(['one; and a half', 'two'], { length: 19 })).toBe('and 2 more');
  expect(inOneMessage(['one', 'two'], { length: 99, more: 3 })).toBe('one; two; and 3 more');
  expect(inOneMessage(['one', 'two'], { length: 15, more: 3 })).toBe('one; and 4 more');
  expect(inOneMessage(['one', { sentence: 'seven others', of: 7 }], { length: 15 })).toBe('one; and 7 more');
});

test('no sentence is lost, whatever its words', () =>
  fc.assert(
    fc.property(fc.array(fc.string({ minLength: 1 })), fc.nat(80), fc.nat(3), (words, length, more) => {
      const sentences = words.map((word, index) => `web-${index} is sick (${word}; ; ${word}): later`);
      const message = inOneMessage(sentences, { length, more });
      expect(message.length).toBeLessThanOrEqual(Math.max(length, `and ${sentences.length + more} more`.length));
      const told = message.split('; ').filter((sentence) => sentence !== '');
      const left = Number(/(?:^|; )and (\d+) more$/.exec(message)?.[1] ?? 0);
      expect(told.length - (left === 0 ? 0 : 1) + left).toBe(sentences.length + more);
    }),
  ));
