import { expect, test } from 'vitest';
import { Inbox } from '../../../workflows/owners/inbox.ts';

const anInbox = (told: string[] = []) =>
  new Inbox<string>((before, ask) => [...before.filter((one) => one !== ask), ask], told);

test('what a plan was given stays until it is on record', () => {
  const inbox = anInbox(['pause']);
  expect(inbox.give()).toEqual(['pause']);
  expect(inbox.answered(false)).toBe(false);
  expect(inbox.give()).toEqual(['pause']);
  expect(inbox.answered(true)).toBe(false);
  expect(inbox.all).toEqual([]);
});

test('what was told while a plan was made is for the next one', () => {
  const inbox = anInbox();
  inbox.add('pause');
  inbox.give();
  inbox.add('abort');
  expect(inbox.all).toEqual(['pause', 'abort']);
  expect(inbox.answered(true)).toBe(true);
  expect(inbox.give()).toEqual(['abort']);
});

test('a plan that was never answered has recorded nothing', () => {
  const inbox = anInbox();
  inbox.add('pause');
  inbox.give();
  expect(inbox.give()).toEqual(['pause']);
});

test('what is told takes the place of what it makes needless, and of nothing that a plan was given', () => {
  const inbox = anInbox();
  inbox.add('pause');
  inbox.add('pause');
  expect(inbox.give()).toEqual(['pause']);
  inbox.add('pause');
  inbox.add('pause');
  inbox.answered(true);
  expect(inbox.all).toEqual(['pause']);
});

test('what is told stays few, however many there are and however many plans fail', () => {
  const inbox = anInbox();
  for (let n = 0; n < 100; n++) {
    inbox.add(`${n % 7}`);
    inbox.give();
  }
  expect(inbox.give().toSorted()).toEqual(['0', '1', '2', '3', '4', '5', '6']);
});
