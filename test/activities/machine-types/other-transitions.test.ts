import { expect, test } from 'vitest';
import type { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import { OtherTransitions } from '../../../activities/machine-types/other-transitions.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import { anOperation } from '../../decisions/operations/operations.ts';

const transition = (uid: string, fields: Partial<StoredOperation> = {}): StoredOperation => ({
  ...anOperation({ action: 'MachineType', machineType: { from: '*' } }, { uid, name: `of-${uid}` }),
  ...fields,
});

/** What a worker's cache knows of the operations that there are: it hears of them when it lists them again. */
function ofOperations(known: StoredOperation[], there: StoredOperation[] = known) {
  let listed = 0;
  const operations = {
    version: '0',
    values: () => (listed > 0 ? there : known).values(),
    relist: () => {
      listed++;
      operations.version = `${listed}`;
      return Promise.resolve();
    },
  };
  const others = new OtherTransitions({ operations } as unknown as Pick<ClusterCache, 'operations'>);
  return { others, listed: () => listed };
}

test('a running operation keeps others away until it has ended, and is known by its name', async () => {
  const ended = transition('ended', { status: { completionTime: '2026-01-01T00:00:00Z' } });
  const restart = anOperation({}, { uid: 'restart' });
  const { others, listed } = ofOperations([transition('goes-on'), ended, restart]);
  await others.refresh(['goes-on', 'ended', 'restart']);
  expect(['goes-on', 'ended', 'restart'].map(others.nameOf)).toEqual(['shop/of-goes-on', undefined, undefined]);
  await others.refresh(['goes-on', 'ended', 'restart']);
  expect(listed()).toBe(1);
});

test('an operation that this worker has not heard of counts as running until all are listed', async () => {
  const { others } = ofOperations([], [transition('new')]);
  expect(['new', 'gone'].map(others.nameOf)).toEqual(['new', 'gone']);
  await others.refresh(['new', 'gone']);
  expect(['new', 'gone'].map(others.nameOf)).toEqual(['shop/of-new', undefined]);
});

test('thousands of forged ids are looked for at once, and a malformed id is not looked for', async () => {
  const { others, listed } = ofOperations([]);
  const ids = Array.from({ length: 20_000 }, (_, number) => `made-up-${number}`);
  const text = 'x'.repeat(1_000);
  expect(others.nameOf(text)).toBeUndefined();
  await others.refresh([...ids, text]);
  expect(listed()).toBe(1);
  expect(ids.filter((id) => others.nameOf(id) !== undefined)).toEqual([]);
});
