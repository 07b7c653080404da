import { setTimeout as sleep } from 'node:timers/promises';
import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import type { OperationActivityOptions } from '../../../activities/operations/begin-operation.ts';
import { follow } from '../../../activities/operations/follow.ts';
import type { RunControl, RunState } from '../../../activities/operations/run-control.ts';
import { KubeError } from '../../../kubernetes/errors.ts';

/** So long takes the first answer of a run that is busy: the next question would come after twenty times that. */
const SLOW_MS = 500;
/** Half of the time until then. */
const SOON_MS = 5_000;

test('an operation is over as soon as its run is, however seldom the run is polled', { timeout: SOON_MS }, async () => {
  const over = Promise.withResolvers<void>();
  let state: RunState = { is: 'running', progress: null, troubles: [] };
  const runs: RunControl = {
    workflowId: () => 'operation',
    runId: () => 'operation/run',
    state: async () => {
      if (state.is === 'running') await sleep(SLOW_MS);
      return state;
    },
    over: () => over.promise,
    signal: () => Promise.resolve(),
  };
  const deleted = new KubeError(404, 'NotFound', 'there is none');
  const options = {
    client: { get: () => Promise.reject(deleted) },
    cache: { operations: new Map(), subscribe: () => () => {}, lost: new AbortController().signal },
    runs,
    stopping: new AbortController().signal,
  } as unknown as OperationActivityOptions;
  const environment = new MockActivityEnvironment();
  const followed = environment.run(() => follow(options, { namespace: 'shop', name: 'restart', uid: 'uid' }));
  await sleep(2 * SLOW_MS);
  state = { is: 'ended', progress: null, reason: 'RunEnded', message: 'it was terminated' };
  over.resolve();
  await expect(followed).resolves.toBeUndefined();
});
