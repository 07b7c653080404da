import { expect, test } from 'vitest';
import { eventOf } from '../../kubernetes/event.ts';

const regarding = {
  apiVersion: 'drover.dev/v1alpha1',
  kind: 'VirtualMachinePool',
  namespace: 'n',
  name: 'web',
  uid: 'u',
};
const reporter = { component: 'drover.dev/worker', instance: 'web', id: '1' };
const messageOf = (note: string): string =>
  eventOf(regarding, { type: 'Warning', reason: 'FailedCreate', action: 'Create', note }, reporter).message;

test('a message that fits is left as it is', () => {
  expect(messageOf('политика')).toBe('политика');
  expect(messageOf('x'.repeat(1024))).toBe('x'.repeat(1024));
});

test.each(['x', 'ж', '策', '🐂', '1 策'])(
  'a message of many %s is cut to what the API server accepts, in whole characters',
  (words) => {
    const note = words.repeat(1024);
    const message = messageOf(note);
    expect(note.startsWith(message)).toBe(true);
    const { length } = new TextEncoder().encode(message);
    expect(length).toBeLessThanOrEqual(1024);
    expect(length).toBeGreaterThan(1020);
  },
);
