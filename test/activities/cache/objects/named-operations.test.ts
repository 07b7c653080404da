import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { NamedOperations } from '../../../../activities/cache/objects/named-operations.ts';
import type { Operation } from '../../../../decisions/views/operation.ts';
import type { KubeClient } from '../../../../kubernetes/client.ts';
import { KubeError } from '../../../../kubernetes/errors.ts';

const SNAPSHOT: Operation = { kind: 'Snapshot', object: 'nightly' };
const DUMP: Operation = { kind: 'MemoryDump', object: null };
const vm = (...operations: Operation[]) => ({ namespace: 'shop', name: 'web-1', operations });

let answer: () => unknown;
const onChange = vi.fn<(holder: string, key: string, operations: readonly Operation[]) => void>();
let operations: NamedOperations;

beforeEach(() => {
  vi.useFakeTimers();
  onChange.mockClear();
  const get = vi.fn<() => Promise<unknown>>(async () => answer());
  operations = new NamedOperations({ client: { get } as unknown as KubeClient, onChange });
});
afterEach(() => {
  operations.stop();
  vi.useRealTimers();
});

const fail = (status: number, reason: string) => (): never => {
  throw new KubeError(status, reason, 'no');
};

test('an operation whose object is gone holds nothing, and holds again if the object returns', async () => {
  answer = fail(404, 'NotFound');
  expect(operations.seen('vm', vm(SNAPSHOT, DUMP)).operations).toMatchObject([SNAPSHOT, DUMP]);
  await vi.advanceTimersByTimeAsync(0);
  expect(onChange).toHaveBeenCalledExactlyOnceWith('vm', 'shop/web-1', [expect.objectContaining(DUMP)]);
  expect(operations.seen('vm', vm(SNAPSHOT, DUMP)).operations).toMatchObject([DUMP]);
  answer = () => ({});
  await vi.advanceTimersByTimeAsync(60_000);
  expect(onChange).toHaveBeenLastCalledWith('vm', 'shop/web-1', [
    expect.objectContaining(SNAPSHOT),
    expect.objectContaining(DUMP),
  ]);
  operations.forget('vm', vm());
  expect(vi.getTimerCount()).toBe(0);
});

test.each([
  ['is there', () => ({})],
  ['is of a kind that is not served', fail(404, '404')],
  ['may not be read', fail(403, 'Forbidden')],
  ['is not answered for', fail(500, 'InternalError')],
])('an operation whose object %s holds', async (_what, given) => {
  answer = given;
  operations.seen('vm', vm(SNAPSHOT));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(onChange).not.toHaveBeenCalled();
  expect(operations.current('vm', vm(SNAPSHOT)).operations).toMatchObject([SNAPSHOT]);
  operations.seen('vm', vm());
  expect(vi.getTimerCount()).toBe(0);
});

test('an operation that takes longer than its kind usually does is told, and since when it was seen', () => {
  vi.setSystemTime(1_000);
  answer = () => ({});
  const plugging: Operation = { kind: 'Hotplug', object: 'data' };
  operations.seen('vmi', vm(plugging));
  vi.advanceTimersByTime(600_000);
  expect(operations.seen('vmi', vm(plugging)).operations).toEqual([{ ...plugging, since: 1_000 }]);
  vi.advanceTimersByTime(299_999);
  expect(onChange).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  const overdue = [{ ...plugging, since: 1_000, isOverdue: true }];
  expect(onChange).toHaveBeenCalledExactlyOnceWith('vmi', 'shop/web-1', overdue);
  expect(operations.current('vmi', vm(plugging)).operations).toEqual(overdue);
  operations.seen('vmi', vm());
  expect(operations.seen('vmi', vm(plugging)).operations).toEqual([{ ...plugging, since: 901_000 }]);
  operations.forget('vmi', vm());
  expect(vi.getTimerCount()).toBe(0);
});
