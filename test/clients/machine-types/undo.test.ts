import { expect, test } from 'vitest';
import { changedAgainBy } from '../../../clients/machine-types/transitions.ts';

const forward = { id: 'b', glob: '*rhel8.*', undoes: null };

test('a transition that runs and matches what an undo gives back would undo it again', () => {
  expect(changedAgainBy([forward], ['q35', 'pc-q35-rhel8.6.0'])).toEqual({ by: forward, type: 'pc-q35-rhel8.6.0' });
});

test('a transition of other types, and another undo, stand in no way', () => {
  expect(changedAgainBy([forward], ['q35', null])).toBeNull();
  expect(changedAgainBy([{ ...forward, undoes: 'a' }], ['pc-q35-rhel8.6.0'])).toBeNull();
});
