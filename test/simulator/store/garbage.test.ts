import { describe, expect, test } from 'vitest';
import { VirtualMachines } from '../../../api/resources.ts';
import { collectGarbage } from '../../../simulator/store/garbage.ts';
import { OwnerGraph, type Tracked } from '../../../simulator/store/owner-graph.ts';

const owner = (uid: string, blockOwnerDeletion = false) => ({
  apiVersion: 'v1',
  kind: 'Any',
  name: uid,
  uid,
  blockOwnerDeletion,
});
const tracked = (uid: string, some: Partial<Tracked> = {}): Tracked => ({
  uid,
  resource: VirtualMachines,
  namespace: 'default',
  name: uid,
  resourceVersion: '1',
  deleting: false,
  finalizers: [],
  owners: [],
  ...some,
});

describe('the garbage collector', () => {
  const child = tracked('child', { owners: [owner('a'), owner('b')] });

  test('collects an object that has no owner left', () => {
    expect(collectGarbage(child, [], new Set())).toEqual({ do: 'nothing' });
    expect(collectGarbage(child, [], new Set(['a']))).toEqual({ do: 'disown', keep: [owner('b')] });
  });

  test('keeps an object that has an owner left', () => {
    expect(collectGarbage(child, [], new Set(['a', 'b']))).toEqual({ do: 'delete' });
  });

  test('skips an object that is already being deleted', () => {
    expect(collectGarbage({ ...child, deleting: true }, [], new Set(['a', 'b']))).toEqual({ do: 'nothing' });
  });

  test('an owner that is deleted alone leaves its dependents behind', () => {
    expect(collectGarbage(tracked('a', { deleting: true, finalizers: ['orphan'] }), [child], new Set())).toEqual({
      do: 'orphan',
    });
  });

  test('an owner that is deleted in the foreground goes last, and waits for dependents that block it', () => {
    const parent = tracked('a', { deleting: true, finalizers: ['foregroundDeletion'] });
    const blocking = tracked('blocking', { owners: [owner('a', true)] });
    const leaving = { ...blocking, uid: 'leaving', deleting: true };
    expect(collectGarbage(parent, [child, blocking, leaving], new Set())).toEqual({
      do: 'foreground',
      remove: [child, blocking],
      waitFor: 2,
    });
    expect(collectGarbage(parent, [{ ...child, deleting: true }], new Set())).toEqual({
      do: 'foreground',
      remove: [],
      waitFor: 0,
    });
  });
});

test('the graph knows the dependents of an owner, also of one that it has never seen', () => {
  const graph = new OwnerGraph();
  graph.put(tracked('one', { owners: [owner('gone')] }));
  graph.put(tracked('two', { owners: [owner('gone'), owner('one')] }));
  expect(graph.dependentsOf('gone').map(({ uid }) => uid)).toEqual(['one', 'two']);
  graph.put(tracked('one'));
  expect(graph.dependentsOf('gone').map(({ uid }) => uid)).toEqual(['two']);
  expect(graph.dependentsOf('one').map(({ uid }) => uid)).toEqual(['two']);
  graph.remove('two');
  expect(graph.dependentsOf('gone')).toEqual([]);
  expect(graph.get('two')).toBeUndefined();
});
