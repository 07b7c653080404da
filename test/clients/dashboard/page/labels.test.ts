import { expect, test } from 'vitest';
import { capitalized } from '../../../../clients/dashboard/page/pure/labels.ts';

test('a sentence begins with a capital, and a name keeps its case', () => {
  expect(capitalized('the rollout of db waits', 'db')).toBe('The rollout of db waits');
  expect(capitalized('db: 1 VM cannot start', 'db')).toBe('db: 1 VM cannot start');
  expect(capitalized('node-1 is drained', '')).toBe('Node-1 is drained');
});
