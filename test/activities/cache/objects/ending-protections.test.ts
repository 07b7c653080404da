import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { EndingProtections } from '../../../../activities/cache/objects/member-caches.ts';

const none = { optedOut: false, optedOutUntil: null, protected: false, protectedUntil: null };
const aVm = { namespace: 'shop', name: 'web-1', ...none };

let ended: string[];
let protections: EndingProtections;

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  ended = [];
  protections = new EndingProtections((key, now) => ended.push(`${key} at ${now}`));
});
afterEach(() => void vi.useRealTimers());

test('the end of a protection is told, also after longer than a timer can wait', () => {
  const until = 3_000_000_000;
  expect(protections.seen({ ...aVm, optedOut: true, optedOutUntil: until })).toMatchObject({ optedOut: true });
  vi.advanceTimersByTime(until - 1);
  expect(ended).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(ended).toEqual([`shop/web-1 at ${until}`]);
});

test('a protection that has ended, or was taken back, is not waited for', () => {
  vi.setSystemTime(2);
  expect(protections.seen({ ...aVm, optedOut: true, optedOutUntil: 1 })).toMatchObject({ ...none });
  protections.seen({ ...aVm, protected: true, protectedUntil: 10 });
  protections.seen(aVm);
  vi.advanceTimersByTime(100);
  expect(ended).toEqual([]);
});
