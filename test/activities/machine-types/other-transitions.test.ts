import type { Client } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import { OtherTransitions } from '../../../activities/machine-types/other-transitions.ts';

const idOf = (number: number): string => number.toString(16).padStart(8, '0');

/** Looks as an activity of a transition does, at a Temporal in which only these run. */
function onTemporal(running: readonly string[]) {
  const others = new OtherTransitions();
  const asked: string[] = [];
  let now = 0;
  let most = 0;
  const describe = async (workflowId: string): Promise<object> => {
    asked.push(workflowId);
    most = Math.max(most, ++now);
    await new Promise((resolve) => void setImmediate(resolve));
    now--;
    const id = workflowId.split('/').at(-1)!;
    if (running.includes(id)) return { status: { name: 'RUNNING' } };
    throw Object.assign(new Error('not found'), { name: 'WorkflowNotFoundError' });
  };
  const client = {
    workflow: { getHandle: (id: string) => ({ describe: () => describe(id) }) },
    withAbortSignal: (_signal: AbortSignal, act: () => unknown) => act(),
  } as unknown as Client;
  const workflowExecution = { workflowId: 'machine-types/default/ffffffff', runId: 'run' };
  const refresh = (ids: string[], ageMs?: number): Promise<void> =>
    new MockActivityEnvironment({ workflowExecution }, { client }).run(() => others.refresh(ids, ageMs));
  return { others, asked, refresh, most: () => most };
}

test('a transition that runs keeps others away until it has ended; one that has is not asked about again', async () => {
  const { others, asked, refresh } = onTemporal([idOf(1)]);
  await refresh([idOf(1), idOf(2)]);
  expect([1, 2, 3].map((number) => others.runs(idOf(number)))).toEqual([true, false, true]);
  await refresh([idOf(1), idOf(2)]);
  expect(asked).toEqual(['machine-types/default/00000001', 'machine-types/default/00000002']);
  await refresh([idOf(1), idOf(2)], 0);
  expect(asked.slice(2)).toEqual(['machine-types/default/00000001']);
});

test('ids that somebody has made up by thousands hold up no look: some are asked about at once, and the rest later', async () => {
  const { others, asked, refresh, most } = onTemporal([idOf(1)]);
  const ids = Array.from({ length: 600 }, (_, number) => idOf(number));
  await refresh(ids);
  expect(asked).toHaveLength(256);
  expect(most()).toBe(16);
  expect(others.runs(ids.at(-1)!)).toBe(true);
  await refresh(ids);
  await refresh(ids);
  expect(new Set(asked).size).toBe(600);
  expect(ids.filter((id) => others.runs(id))).toEqual([idOf(1)]);
});
